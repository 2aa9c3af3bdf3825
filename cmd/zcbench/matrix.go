// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

func matrixCommand() *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:   "matrix FILE.yaml",
		Short: "Run an experiment file: its cells, interleaved, each several times",
		Long: `matrix runs every cell of an experiment file (docs/matrix.md), in blocks that hold
each cell once, every second block backwards, so that slow drift hits all cells
alike. Every run is in DIR/journal.jsonl before the next one starts.

A file can say how power is measured; flags that are given count in place of its
keys, --power '' measures none. A file from somebody else is not obeyed blindly:
power sources of it that run a program, or lead to an address or a path, need
--trust-file. --dry-run prints them, and all that is set; it starts none.

Ctrl-C ends after the run under way; --resume goes on later, also after kill -9.

Exit status: 0 the plan was played, 1 it ended early, or a run failed or is
invalid (warm-ups do not count, nor cells that cannot run, unless none can),
2 wrong usage or input. After --resume all runs of the journal count.`,
		Example: "  zcbench matrix --dry-run experiments/battle-of-the-zcs.yaml\n  zcbench matrix experiments/quick.yaml --out out/quick\n  zcbench matrix experiments/quick.yaml --out out/quick --resume",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.power.AddFlags(cmd, 10*time.Second, power.LeastGuard)
	fs := cmd.Flags()
	fs.StringVar(&f.out, "out", "", "folder for the results (default: out/NAME, NAME from the file)")
	fs.BoolVar(&f.dry, "dry-run", false, "print the plan, what cannot run and why, and how long it takes; run nothing")
	fs.BoolVar(&f.resume, "resume", false, "go on where the journal in --out ends")
	fs.BoolVar(&f.force, "resume-changed", false, "resume also where the plan, zcbench or a host has changed since")
	fs.BoolVar(&f.verdict, "require-verdict", false, "refuse a plan whose comparisons no data could give a verdict (a file with purpose: check is exempt)")
	fs.BoolVar(&f.json, "json", false, "print the summary as JSON")
	fs.StringVar(&f.sut, "sut", "", "host of the receiver, instead of the file's")
	fs.StringVar(&f.tg, "tg", "", "host of the sender, instead of the file's")
	fs.StringVar(&f.dev, "dev", "", "the SUT's interface, instead of the file's")
	fs.BoolVar(&f.shared, "shared-with-ssh", false, matrix.LookupKey("shared_with_ssh").Help)
	fs.BoolVar(&f.trust, "trust-file", false, "allow power sources of the file that run a program, or lead to an address or a path: read it first")
	cli.AddOptions(cmd, &f.chosen, func(o *results.Option) bool { return o.Name == "probe" })
	f.probe = fs.Lookup("probe")
	return cmd
}

type matrixFlags struct {
	out, sut, tg, dev        string
	dry, resume, force, json bool
	trust, shared, verdict   bool
	chosen                   results.Cell // the probes
	probe                    *pflag.Flag
	power                    powerflag.Flags
}

func (f *matrixFlags) run(cmd *cobra.Command, path string) error {
	spec, err := f.spec(path)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = "out/" + spec.Name
	}
	e, err := plan(cmd, spec, path, f.out, &f.power)
	if err != nil {
		return err
	}
	e.Resume, e.Force, e.TrustFile, e.RequireVerdict = f.resume || f.force, f.force, f.trust, f.verdict
	if f.dry {
		return e.preview(cmd)
	}
	if err := e.mayPlay(cmd); err != nil {
		return err
	}
	recs, err := e.play(cmd)
	if err != nil && len(recs) == 0 {
		return f.refused(err)
	}
	err = finish(cmd, f.out, recs, err, f.json, false)
	if cmd.Context().Err() != nil {
		e.Note("to go on: zcbench matrix %s --out %s --resume", path, f.out)
	}
	return err
}

func (f *matrixFlags) spec(path string) (*matrix.Spec, error) {
	spec, err := matrix.ReadFile(path)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	for _, x := range []struct {
		flag string
		to   *string
	}{{f.sut, &spec.SUT.Host}, {f.tg, &spec.TG.Host}, {f.dev, &spec.SUT.Dev}} {
		if x.flag != "" {
			*x.to = x.flag
		}
	}
	spec.SharedWithSSH = spec.SharedWithSSH || f.shared
	if f.probe.Changed {
		if err := spec.SetProbe(f.chosen.Probe); err != nil {
			return nil, cli.Usagef("--probe: %w", err)
		}
	}
	if err := checkHosts(spec, path+": ", "the file"); err != nil {
		return nil, err
	}
	return spec, nil
}

// refused says what to do about an experiment that did not begin.
func (f *matrixFlags) refused(err error) error {
	switch {
	case errors.Is(err, bench.ErrChanged):
		return cli.Usagef("%w: begin anew in another --out, or go on all the same with --resume-changed", err)
	case f.resume && errors.Is(err, os.ErrNotExist):
		return cli.Usagef("--resume: %s has no journal: %w", f.out, err)
	case errors.As(err, new(*host.SpecError)):
		return cli.UsageError(err)
	}
	return folderError(err)
}
