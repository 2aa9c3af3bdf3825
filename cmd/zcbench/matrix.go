// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/cmd/internal/specflag"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

func matrixCommand() *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:   "matrix FILE.yaml",
		Short: "Run an experiment file: many combinations, interleaved and repeated",
		Long: `matrix runs every cell (combination of factors) of an experiment file, described in
docs/matrix.md. Cells that can be open together take turns, unless file or flags say
order: blocks; a line says which order it is, and why. Blocks contain each cell, or
each group that takes turns, once, every other block in reverse order, so that slow
drift affects all cells alike. Each run is in DIR/journal.jsonl before the next one
starts.

Flags override the keys of the file; --power '' measures no power. A file from
somebody else is not trusted blindly: hosts in it that are commands (exec:), power
sources that run a program, contact an address or open a path, and sysctls that
measuring does not need (docs/trust.md) need --trust-file. --dry-run prints them and
everything that matrix would set, and runs nothing. If the file has a short version,
matrix runs that, unless you say --whole.

Ctrl-C stops after the current run; --resume continues later, even after kill -9.

Exit status: 0 the plan was completed, 1 it ended early, or a run failed or is
invalid (warm-ups do not count, nor cells that cannot run, unless none can),
2 wrong usage or input. After --resume all runs of the journal count.`,
		Example: "  zcbench matrix --dry-run experiments/battle-of-the-zcs.yaml\n  zcbench matrix " +
			"experiments/quick.yaml --out out/quick\n  zcbench matrix experiments/quick.yaml --out out/quick --resume",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.power.AddFlags(cmd, 10*time.Second, power.LeastGuard)
	fs := cmd.Flags()
	fs.StringVar(&f.out, "out", "", "folder for the results (default: out/NAME, NAME from the file)")
	fs.BoolVar(&f.dry, "dry-run", false,
		"print the plan, what cannot run and why, and how long it takes, but run nothing")
	fs.BoolVar(&f.resume, "resume", false, "continue where the journal in --out ends")
	fs.BoolVar(&f.force, "resume-changed", false, "resume even if the plan, zcbench or a host has changed since")
	fs.BoolVar(&f.verdict, "require-verdict", false,
		"refuse a plan whose comparisons cannot reach a verdict with any data (unless the file says purpose: check)")
	fs.BoolVar(&f.whole, "whole", false, "run all of the file, not its short version (the key short of docs/matrix.md)")
	fs.BoolVar(&f.json, "json", false, "print the summary as JSON")
	fs.StringVar(&f.sut, "sut", "", "host that receives, instead of the file's")
	fs.StringVar(&f.tg, "tg", "", "host that sends, instead of the file's")
	fs.StringVar(&f.dev, "dev", "", "interface of the SUT, instead of the file's")
	fs.BoolVar(&f.shared, "shared-with-ssh", false, matrix.LookupKey("shared_with_ssh").Help)
	fs.BoolVar(&f.trust, "trust-file", false, "allow hosts and power sources of the file that run a program, "+
		"contact an address or open a path, all its sysctls, and its folders for payload: read the file first")
	cli.AddOptions(cmd, &f.chosen, func(o *plan.Option) bool { return o.Name == "probe" })
	f.probe = fs.Lookup("probe")
	f.order.Add(cmd)
	fs.Lookup("order").Usage = strings.Replace(fs.Lookup("order").Usage, "as the plan says",
		"as the file says, else turns, where the cells can", 1)
	cli.First(cmd, "dry-run", "resume", "out", "sut", "tg", "dev", "power", "probe", "trust-file", "json")
	return cmd
}

type matrixFlags struct {
	out, sut, tg, dev        string
	dry, resume, force, json bool
	trust, shared, verdict   bool
	whole                    bool
	chosen                   plan.Cell // the probes
	probe                    *pflag.Flag
	power                    powerflag.Flags
	order                    specflag.Order
}

// policy plays a file's plan as it is, or goes on with it.
func (f *matrixFlags) policy() bench.Policy {
	p := bench.Policy{Shape: matrix.Shape{HWGRO: true}, TrustFile: f.trust, RequireVerdict: f.verdict,
		StartsAnew: true}
	switch {
	case f.force:
		p.Begin = bench.ResumeChanged
	case f.resume:
		p.Begin = bench.Resume
	}
	return p
}

func (f *matrixFlags) run(cmd *cobra.Command, path string) error {
	spec, err := f.spec(path)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = "out/" + spec.Name
	}
	e, err := makePlanned(cmd, spec, path, f.out, &f.power)
	if err != nil {
		return err
	}
	e.Policy = f.policy()
	if err := f.chooseOrder(e.Experiment); err != nil {
		return err
	}
	if f.dry {
		return e.preview(cmd)
	}
	if err := e.mayPlay(cmd); err != nil {
		return err
	}
	e.Note("%s", e.OrderLine)
	recs, err := e.play(cmd)
	if err != nil && len(recs) == 0 {
		return f.refused(err, spec.Short || f.whole)
	}
	err = finish(cmd, e.Experiment, recs, err, f.json, false)
	if cmd.Context().Err() != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "to continue: %s\n", f.again(path)) // to be copied: in one line
	}
	return err
}

// chooseOrder chooses how runs follow one another. What a journal was begun with goes on as it was.
func (f *matrixFlags) chooseOrder(e *bench.Experiment) error {
	begun, err := results.Header{}, error(os.ErrNotExist)
	if (f.resume || f.force) && !e.Spec.SaysOrder() {
		begun, err = results.ReadHeader(filepath.Join(f.out, results.JournalFile))
	}
	var c matrix.Choice
	switch {
	case errors.Is(err, os.ErrNotExist): // a new one, or one that is refused
		c = specflag.ChooseOrder(e.Spec, e.Power.On())
	case err != nil:
		return cli.UsageError(err)
	default:
		c = e.Spec.OrderAs(begun.Plan)
		if err := e.Spec.TurnsFit(); err != nil {
			return cli.UsageError(err)
		}
	}
	e.OrderLine, e.OrderChosen = e.Spec.Line(c), c.Chosen()
	return nil
}

// again is the command that goes on.
func (f *matrixFlags) again(path string) string {
	whole := ""
	if f.whole {
		whole = " --whole"
	}
	return "zcbench matrix " + path + whole + " --out " + f.out + " --resume"
}

func (f *matrixFlags) spec(path string) (*matrix.Spec, error) {
	read := matrix.ReadFile
	if f.whole {
		read = matrix.ReadWhole
	}
	spec, err := read(path)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	for _, x := range []struct {
		flag string
		to   *matrix.End
	}{{f.sut, &spec.SUT}, {f.tg, &spec.TG}} {
		if x.flag != "" {
			x.to.NameHost(x.flag)
		}
	}
	spec.SUT.Dev = cmp.Or(f.dev, spec.SUT.Dev)
	spec.SharedWithSSH = spec.SharedWithSSH || f.shared
	if f.probe.Changed {
		if err := spec.SetProbe(f.chosen.Probe); err != nil {
			return nil, cli.Usagef("--probe: %w", err)
		}
	}
	if err := f.order.Over(spec); err != nil {
		return nil, err
	}
	if err := checkHosts(spec, path+": ", "the file"); err != nil {
		return nil, err
	}
	return spec, nil
}

// refused adds what to do about an experiment that did not begin. short: its file has a short
// version.
func (f *matrixFlags) refused(err error, short bool) error {
	switch {
	case errors.Is(err, bench.ErrChanged):
		again := ""
		if short {
			again = "; --whole must be given as it was when it began, or not"
		}
		return cli.Usagef("%w: start over in another --out, or continue anyway with --resume-changed%s", err, again)
	case f.resume && errors.Is(err, os.ErrNotExist):
		return cli.Usagef("--resume: %s has no journal: %w", f.out, err)
	case errors.As(err, new(*host.SpecError)):
		return cli.UsageError(err)
	}
	return folderError(err)
}
