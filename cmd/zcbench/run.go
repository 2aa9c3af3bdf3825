// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/cmd/internal/progress"
	"github.com/zcbench/zcbench/cmd/internal/specflag"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/gate"
	"github.com/zcbench/zcbench/results/report"
)

// runFlags are the flags of `zcbench run`.
type runFlags struct {
	specflag.Flags
	out           string
	json, verbose bool
	power         powerflag.Flags
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run --sut HOST --tg HOST --rx MODE --tx MODE",
		Short: "Measure one pair of modes between two hosts",
		Long: `run measures one flow from the TG (sender) to the SUT (receiver), or several at the
same time (--flows).

HOST is local, netns:NAME for a network namespace of this machine (as made by ip
netns add; a NAME with a slash is a path such as /proc/PID/ns/net), or
ssh:[USER@]HOST for another machine, reached by the system's ssh with its
configuration, keys and agent; ssh+sudo:USER@HOST runs as root by sudo -n there.
This program is copied to ~/.cache/zcbench/agent there. See docs/hosts.md.

What flags say that set something on the hosts is restored when the run ends,
however it ends (docs/settings.md).

A run that something else on the hosts spoilt (load on a measured CPU, a window read late)
is invalid, and made again, at most twice; --gate changes what counts (docs/matrix.md).

Only the steady part of the flow is measured: --ramp-up before and --ramp-down
after the --duration are cut. Ctrl-C calls the run off.

Exit status: 0 done, 1 a run failed, is invalid or unsupported, 2 wrong usage.`,
		Example: "  zcbench run --sut netns:a --tg netns:b --rx uring --tx sendfile --duration 10s --out out/first\n  zcbench run --sut local --tg local --rx tcp --tx tcp --json\n  zcbench run --sut ssh:root@hosta --tg ssh:root@hostb --dev eth1 --rx tcp --tx tcp --out out/hosts",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.define(cmd)
	return cmd
}

func (f *runFlags) define(cmd *cobra.Command) {
	spec := matrix.New()
	spec.Repetitions, spec.Warmup = 1, false
	f.Add(cmd, spec, false, "port", "ipv6", "shared_with_ssh", "duration", "warmup_duration", "ramp_up", "ramp_down", "repetitions", "warmup", "rest", "sample_interval", "stall")
	f.power.AddFlags(cmd, 10*time.Second, power.LeastGuard)
	fs := cmd.Flags()
	fs.StringVar(&f.Spec.SUT.Host, "sut", "", "host of the receiver")
	fs.StringVar(&f.Spec.TG.Host, "tg", "", "host of the sender")
	fs.StringVar(&f.out, "out", "", "folder for the results; must not have any yet (default: only print)")
	fs.BoolVar(&f.json, "json", false, "print the records as JSON, one a line")
	fs.BoolVar(&f.verbose, "verbose", false, cli.VerboseUsage)
	cmd.MarkFlagRequired("sut")
	cmd.MarkFlagRequired("tg")
}

func (f *runFlags) run(cmd *cobra.Command) error {
	spec, err := f.Finish("run")
	if err != nil {
		return err
	}
	if err := bench.Check(spec.Cells[0]); err != nil {
		return cli.OptionError(err)
	}
	watts, err := f.power.Options()
	if err != nil {
		return err
	}
	e := &bench.Experiment{Spec: spec, Dir: f.out, ToolVersion: version.Tool(), Progress: progress.New(cmd.ErrOrStderr()), Notices: cmd.ErrOrStderr(),
		Power: watts, StartPower: func(r *bench.Runner) (*bench.PowerMeter, error) { return f.power.Start(cmd, r) },
		AbortOnCancel: true, NoteMTU: true,
		Note: func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: "+format+"\n", args...) }}
	recs, err := e.Run(cmd.Context())
	if err != nil && len(recs) == 0 {
		return folderError(err)
	}
	return f.finish(cmd, recs, err)
}

func (f *runFlags) finish(cmd *cobra.Command, recs []results.Record, runErr error) error {
	j := results.Journal{Records: recs, Header: results.Header{Plan: &results.Plan{Gates: f.Spec.Gates}}}
	gate.Apply(&j)
	j.Header.Plan = nil // nothing else of it is known
	summary := report.Summarize(j)
	var err error
	if f.out != "" {
		j, summary, err = derive(f.out, recs)
	}
	printed := f.print(cmd, j.Records, summary)
	if err = noRoomOr(runErr, err, printed, f.out); err != nil {
		return err
	}
	if !bench.OutcomeOf(j).Good() {
		return cli.Quiet(cli.Failed)
	}
	return nil
}

func (f *runFlags) print(cmd *cobra.Command, recs []results.Record, s *report.Summary) error {
	if f.json {
		enc := json.NewEncoder(cmd.OutOrStdout())
		for _, r := range recs {
			if err := enc.Encode(r); err != nil {
				return fmt.Errorf("write the records: %w", err)
			}
		}
		return nil
	}
	if len(recs) == 0 {
		return nil
	}
	if err := report.Table(cmd.OutOrStdout(), s); err != nil {
		return err
	}
	if !f.verbose {
		return nil
	}
	for _, r := range recs {
		fmt.Fprintf(cmd.OutOrStdout(), "\nrun %s, figures of the data paths\n", r.RunID)
		cli.DataPath(cmd.OutOrStdout(), "SUT", r.SUT.Rows())
		cli.DataPath(cmd.OutOrStdout(), "TG", r.TG.Rows())
	}
	return nil
}
