// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/cmd/internal/progress"
	"github.com/zcbench/zcbench/cmd/internal/specflag"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
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
		Short: "Measure pairs of modes between two hosts",
		Long: `run measures pairs of modes between two hosts: the TG (traffic generator) sends,
the SUT (system under test) receives, with one flow or several (--flows).

A HOST is one of

  local              this machine; needs no root for TCP modes
  netns:NAME         a network namespace of this machine (ip netns add NAME),
                     or a path such as netns:/proc/PID/ns/net
  ssh:[USER@]HOST    another machine
  ssh+sudo:USER@HOST the same, as root by sudo -n there
  exec:COMMAND       any command that runs the words after it there, such as
                     exec:'srun -w n1 -N1 -n1 --overlap -u',
                     exec:'podman exec -i C', exec:'kubectl exec -i POD --'
                     (docs/exec.md)

For ssh, zcbench uses your ssh with its configuration, keys and agent. For ssh and for
commands, it copies itself once to ~/.cache/zcbench/agent on the host, unless the same
build is in PATH there, verifies the copy, and exits when the connection closes
(docs/hosts-reference.md).

run restores the settings that flags change on the hosts when it ends, also after an
error; zcbench restore undoes what a kill -9 left (docs/settings.md). Settings need
root (CAP_NET_ADMIN).

Several modes (--rx tcp,uring) take turns where all of them can: their flows are open
together, so that whatever the hosts do meanwhile, they do to all. Their records lack
some figures of a whole host or interface, such as page pools; with power, turns must
be of a second and more (--turn 1s; docs/turns.md).
Turns need root (CAP_NET_ADMIN): without it, modes on this machine run one after
another, as with --order blocks.

A run that something else disturbed (load on a measured CPU, a window read late) is
invalid and repeated, at most twice; --gate changes the limits (docs/gates.md).
Only --duration is measured, not --ramp-up before it nor --ramp-down after it.
Ctrl-C cancels the run.

Exit status: 0 done, 1 a run failed, is invalid or unsupported, 2 wrong usage.`,
		Example: "  zcbench run --sut local --tg local --rx tcp --tx tcp --json\n  zcbench run --sut netns:a " +
			"--tg netns:b --rx uring --out out/first\n  zcbench run --sut ssh:root@hosta --tg ssh:root@hostb " +
			"--dev eth1 --rx zcrx \\\n      --repetitions 6 --out out/hosts",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.define(cmd)
	return cmd
}

func (f *runFlags) define(cmd *cobra.Command) {
	spec := matrix.New()
	spec.Repetitions, spec.Warmup = 1, false
	f.Usual = "tcp"
	f.Add(cmd, spec, true, "port", "ipv6", "shared_with_ssh", "duration", "warmup_duration", "ramp_up", "ramp_down",
		"repetitions", "warmup", "order", "turn", "rest", "sample_interval", "stall")
	f.power.AddFlags(cmd, 10*time.Second, power.LeastGuard)
	fs := cmd.Flags()
	fs.StringVar(&f.Spec.SUT.Host, "sut", "", "host that receives")
	fs.StringVar(&f.Spec.TG.Host, "tg", "", "host that sends")
	fs.StringVar(&f.out, "out", "", "folder for the results; must not contain any yet (default: only print)")
	fs.BoolVar(&f.json, "json", false, "print the records as JSON, one per line")
	fs.BoolVar(&f.verbose, "verbose", false, cli.VerboseUsage)
	cli.First(cmd, "sut", "tg", "rx", "tx", "dev", "duration", "flows", "repetitions", "out", "json")
	cmd.MarkFlagRequired("sut")
	cmd.MarkFlagRequired("tg")
}

func (f *runFlags) run(cmd *cobra.Command) error {
	spec, err := f.Finish("run")
	if err != nil {
		return err
	}
	for _, c := range spec.Cells {
		if err := bench.Check(c); err != nil {
			return cli.OptionError(err)
		}
	}
	watts, err := f.power.Options()
	if err != nil {
		return err
	}
	said := spec.SaysOrder()
	line := f.ChooseOrder(0, watts.On())
	if !said && spec.TurnLength() > 0 {
		line = "cells take turns (--order blocks: one after another)"
	}
	if line != "" {
		cli.NoteTo(cmd.ErrOrStderr())("%s", line)
	}
	e := &bench.Experiment{Spec: spec, Dir: f.out, ToolVersion: version.Tool(),
		Progress: progress.New(cmd.ErrOrStderr()), Notices: cmd.ErrOrStderr(),
		Power: watts, StartPower: func(r *bench.Runner) (*bench.PowerMeter, error) { return f.power.Start(cmd, r) },
		Policy: runPolicy(), Note: cli.NoteTo(cmd.ErrOrStderr()), OrderChosen: !said}
	recs, err := e.Run(cmd.Context())
	if err != nil && len(recs) == 0 {
		return folderError(err)
	}
	return f.finish(cmd, e.Kept, recs, err)
}

// runPolicy is how single cells are played: until their user wants no more.
func runPolicy() bench.Policy {
	return bench.Policy{Shape: matrix.Shape{HWGRO: true, NoteMTU: true}, AbortOnCancel: true}
}

func (f *runFlags) finish(cmd *cobra.Command, in *results.Folder, recs []results.Record, runErr error) error {
	j := results.Journal{Records: recs, Header: results.Header{Plan: &plan.Origin{Gates: f.Spec.Gates}}}
	judge.Apply(&j)
	j.Header.Plan = nil // nothing else of it is known
	summary := report.Summarize(j)
	var err error
	if in != nil {
		j, summary, err = derive(in, recs)
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
	table := report.Table
	if f.out != "" { // the rest is there
		table = func(w io.Writer, s *report.Summary) error { return report.Short(w, s, false) }
	}
	if err := table(cmd.OutOrStdout(), s); err != nil {
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
