// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/cmd/internal/progress"
	"github.com/zcbench/zcbench/cmd/internal/specflag"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/results"
)

// demoFlags are the flags of `zcbench demo`.
type demoFlags struct {
	specflag.Flags
	out   string
	json  bool
	power powerflag.Flags
}

func demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Make two hosts out of network namespaces and run every mode this kernel can run",
		Long: `demo makes two network namespaces joined by a veth link, runs every receive mode
against every send mode that this kernel can run, interleaved, with a discarded
warm-up of each, prints a table and writes the results to --out. It needs root
and leaves nothing behind but the results.

With --sut and --tg it runs on two hosts that have a link already, such as
ssh:root@hosta and ssh:root@hostb. What --gro and the like set there is restored
at the end (docs/settings.md).

What veth cannot show: it has no hardware, and it copies payload that was sent
with zero copy when it delivers it. The table says so; such runs are invalid.

Exit status: 0 the plan was played, 1 it ended early, or a run failed or is
invalid, 2 wrong usage or input. Runs that are invalid because veth copies what
their mode sends do not make it 1, nor those that other work on the measured CPUs
spoilt each time that they were made; --gate changes what counts (docs/matrix.md).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	spec := matrix.New()
	spec.Repetitions, spec.Duration = 8, 0
	f.Add(cmd, spec, true, "port", "ipv6", "shared_with_ssh", "duration", "repetitions", "seed", "rest", "sample_interval", "stall")
	f.Cell.Congestion = "cubic" // whatever the hosts' default is
	f.power.AddFlags(cmd, 2*time.Second, time.Second)
	fs := cmd.Flags()
	fs.Lookup("duration").DefValue = ""
	fs.Lookup("congestion").Usage = "congestion control of the flow's socket (default: cubic)"
	fs.Lookup("duration").Usage = "steady window of each run (default: at most 800ms, less where the demo would take longer than 3 minutes)"
	fs.StringVar(&f.Spec.SUT.Host, "sut", "", "run on this receiver host instead of a namespace of our own (with --tg)")
	fs.StringVar(&f.Spec.TG.Host, "tg", "", "run on this sender host instead of a namespace of our own (with --sut)")
	fs.StringVar(&f.out, "out", "out/demo", "folder for the results; must not have any yet")
	fs.BoolVar(&f.json, "json", false, "print the summary as JSON")
	return cmd
}

func (f *demoFlags) run(cmd *cobra.Command) error {
	spec, err := f.Finish("demo")
	if err != nil {
		return err
	}
	if (spec.SUT.Host == "") != (spec.TG.Host == "") || spec.SUT.Dev != "" && spec.SUT.Host == "" {
		return cli.Usagef("--sut and --tg go together, and --dev with them")
	}
	if spec.SUT.Host == "" && os.Geteuid() != 0 {
		return cli.Usagef("demo makes network namespaces and must run as root: sudo zcbench demo")
	}
	watts, err := f.power.Options()
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(spec.Cells, func(c results.Cell) bool { return c.RX == "tcp" && c.TX == "tcp" }); i >= 0 {
		spec.PrimaryModes(spec.Cells[i])
	}
	e := &bench.Experiment{Spec: spec, Dir: f.out, ToolVersion: version.Tool(), Progress: progress.New(cmd.ErrOrStderr()), Notices: cmd.ErrOrStderr(),
		Power: watts, StartPower: func(r *bench.Runner) (*bench.PowerMeter, error) { return f.power.Start(cmd, r) },
		Fit: true, Fold: true, NoteMTU: true,
		Note: func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: "+format+"\n", args...) }}
	recs, err := e.Run(cmd.Context())
	return finish(cmd, f.out, recs, err, f.json, true)
}
