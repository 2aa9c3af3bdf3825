// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/tune"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/cmd/internal/progress"
	"github.com/zcbench/zcbench/cmd/internal/specflag"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// tuneFlags are the flags of `zcbench tune`.
type tuneFlags struct {
	goal, out, sut, tg, dev          string
	rx, tx                           []string
	time                             time.Duration
	resume, dry, json, trust, shared bool
	power                            powerflag.Flags
}

func tuneCommand() *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune --for GOAL (FILE.yaml | --sut HOST --tg HOST)",
		Short: "Find the settings with which each mode is at its best, and compare modes at their best",
		Long: `tune looks for the settings with which each mode is at its best, for the baseline
tcp as long as for the others, and then compares each mode at its defaults and at its
best in fresh starts. GOAL is what is to be good (docs/tune.md):

` + goalLines() + `
With --sut and --tg it tries what each mode has and the hosts can set: rings, GRO,
BIG TCP, coalescing, CPU layout, busy polling, sizes of messages and reads, batches,
memory and receive buffers. With FILE it tries the factors of that experiment, and
keeps all else as the file says. If the file has no factors but modes, it tries the
usual ones that the file does not set. --dry-run shows what.

Each level is first tried once, so that you learn what a host or mode refuses, and
why. Then settings race, each mode for the same time: those that can be open together
take turns, and after each block of starts the worse half leaves. The winners are
written to DIR/best.yaml before they are confirmed; its first lines say how zcbench
matrix repeats that. Only the confirmation's runs give verdicts; they are in DIR,
those of the search in DIR/search. docs/tune.md says what may be believed.

Ctrl-C stops after the current start; --resume continues later, even after kill -9.
What is set on the hosts is restored (docs/settings.md).

Exit status: 0 done, 1 it ended early, or no mode could run, 2 wrong usage or input.`,
		Example: "  zcbench tune --for throughput --sut netns:a --tg netns:b --dry-run\n" +
			"  zcbench tune --for roi_cpu --sut ssh:root@hosta --tg ssh:root@hostb \\\n" +
			"      --dev eth1 --for-time 1h\n" +
			"  zcbench tune --for cpu sizes.yaml --out out/sizes",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.power.AddFlags(cmd, 2*time.Second, time.Second)
	fs := cmd.Flags()
	fs.StringVar(&f.goal, "for", "", "what settings are to be good for: "+strings.Join(tune.GoalNames(), ", "))
	fs.DurationVar(&f.time, "for-time", 30*time.Minute, "about how long all may take")
	fs.StringVar(&f.out, "out", "", "folder for the results (default: out/tune; with FILE out/NAME-tune)")
	fs.StringVar(&f.sut, "sut", "", "host that receives")
	fs.StringVar(&f.tg, "tg", "", "host that sends")
	fs.StringVar(&f.dev, "dev", "", "interface of the SUT (default: its only one)")
	fs.StringSliceVar(&f.rx, "rx", nil, "receive modes (default: all of TCP whose application gets the payload)")
	fs.StringSliceVar(&f.tx, "tx", nil, "send modes (default: sendfile)")
	fs.BoolVar(&f.resume, "resume", false, "continue where the journals in --out end")
	fs.BoolVar(&f.dry, "dry-run", false, "print what would be tried, what cannot be and why, and how long it takes")
	fs.BoolVar(&f.json, "json", false, "print the result as JSON")
	fs.BoolVar(&f.shared, "shared-with-ssh", false, matrix.LookupKey("shared_with_ssh").Help)
	fs.BoolVar(&f.trust, "trust-file", false, "allow hosts and power sources of the file that run a program, "+
		"contact an address or open a path, all its sysctls, and its folders for payload: read the file first")
	for name, words := range map[string][]string{"for": tune.GoalNames(), "rx": modes.Names(stream.RX),
		"tx": modes.Names(stream.TX)} {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	cli.First(cmd, "for", "sut", "tg", "dev", "rx", "for-time", "dry-run", "resume", "out", "json")
	return cmd
}

func goalLines() string {
	var b strings.Builder
	for _, g := range tune.Goals {
		fmt.Fprintf(&b, "  %-10s  %s\n", g.Name, g.Help)
	}
	return b.String()
}

// spec reads the file, or makes what stands for one of the flags.
func (f *tuneFlags) spec(args []string) (*matrix.Spec, error) {
	flags := f.sut != "" || f.tg != "" || f.dev != "" || f.rx != nil || f.tx != nil
	switch {
	case len(args) > 0 && flags:
		return nil, cli.Usagef("%s says hosts and modes: leave out --sut, --tg, --dev, --rx and --tx, or the file",
			args[0])
	case len(args) > 0:
		return f.file(args[0])
	case f.sut == "" || f.tg == "":
		return nil, cli.Usagef("say between which hosts, --sut HOST --tg HOST, or give an experiment file")
	}
	for _, x := range []struct {
		flag  string
		names *[]string
		usual []string
	}{{"rx", &f.rx, receivers()}, {"tx", &f.tx, []string{"sendfile"}}} {
		if *x.names == nil {
			*x.names = x.usual
		}
		for _, n := range *x.names {
			if _, err := modes.Find(stream.Role(x.flag), n); err != nil {
				return nil, cli.Usagef("--%s: %w", x.flag, err)
			}
		}
	}
	for _, h := range []string{f.sut, f.tg} {
		if _, err := host.ParseSpec(h); err != nil {
			return nil, cli.UsageError(err)
		}
	}
	dev := ""
	if f.dev != "" {
		dev = ", dev: " + matrix.Scalar(f.dev)
	}
	text := fmt.Sprintf("name: tune\nsut: {host: %s%s}\ntg: {host: %s}\ntouch: read\nrx_buffer: hot\n"+
		"congestion: cubic\nfactors:\n  rx: [%s]\n  tx: [%s]\n", matrix.Scalar(f.sut), dev, matrix.Scalar(f.tg),
		strings.Join(f.rx, ", "), strings.Join(f.tx, ", "))
	if !hasBuffered(f.rx) {
		text = strings.Replace(text, "rx_buffer: hot\n", "", 1)
	}
	s, err := matrix.Parse("the flags", []byte(text))
	if err != nil {
		return nil, cli.UsageError(err)
	}
	s.SUT.NameHost(f.sut)
	s.TG.NameHost(f.tg)
	return s, nil
}

// receivers are the modes that are tuned where none is named.
func receivers() (names []string) {
	for _, n := range specflag.TCPModes(stream.RX) {
		if m, err := modes.Find(stream.RX, n); err == nil && !m.Has(stream.NoPayload) {
			names = append(names, n)
		}
	}
	return names
}

// hasBuffered reports whether one of the modes has a buffer of the application.
func hasBuffered(names []string) bool {
	for _, n := range names {
		if m, err := modes.Find(stream.RX, n); err == nil && m.Has(stream.Buffered) {
			return true
		}
	}
	return false
}

func (f *tuneFlags) file(path string) (*matrix.Spec, error) {
	s, err := matrix.ReadFile(path)
	if err == nil && s.Short {
		s, err = matrix.ReadWhole(path)
	}
	if err != nil {
		return nil, cli.UsageError(err)
	}
	return s, checkHosts(s, path+": ", "the file")
}

// order lets cells take turns, unless the plan or this user says otherwise.
func (f *tuneFlags) order(s *matrix.Spec, goal tune.Goal) (chosen bool) {
	if s.SaysOrder() {
		return false
	}
	if (s.SUT.Host == "local" || s.TG.Host == "local") && !bench.MayTakeTurns() {
		return false
	}
	s.TakeTurns()
	switch {
	case goal.Power:
		s.Turn = time.Second // of shorter ones no meter can tell
	case s.SUT.Host == "":
		s.Turn = ownTurn
	}
	return true
}

func (f *tuneFlags) run(cmd *cobra.Command, args []string) error {
	goal, err := tune.GoalOf(f.goal)
	if err != nil {
		return cli.Usagef("--for: %w", err)
	}
	if f.time < time.Second || f.time > 7*24*time.Hour {
		return cli.Usagef("--for-time %v: must be 1s to 168h", f.time)
	}
	if f.dry && (f.json || f.resume) {
		return cli.Usagef("--dry-run prints what would be tried: leave out --json and --resume")
	}
	spec, err := f.spec(args)
	if err != nil {
		return err
	}
	spec.SharedWithSSH = spec.SharedWithSSH || f.shared
	f.power.Under(&spec.Power)
	watts, err := f.power.Options()
	if err != nil {
		return err
	}
	if goal.Power && (!watts.On() || watts.Later) {
		return cli.UsageError(&fault.Error{Op: "--for " + goal.Name +
			" needs a power source that is read beside the runs",
			How: "name one with --power (zcbench power --source list shows what this host has), or use --for roi_cpu"})
	}
	t := f.tuning(cmd, spec, goal, watts)
	if f.out == "" {
		f.out = "out/" + strings.TrimSuffix(spec.Name, "-tune")
		if spec.Name != "tune" {
			f.out += "-tune"
		}
	}
	t.Dir = f.out
	t.How, t.Flags = "zcbench "+cmd.Name()+" --for "+goal.Name, f.repeats()
	if err := (planned{Experiment: &bench.Experiment{Spec: spec}, source: strings.Join(args, " ")}).mayPlay(
		cmd); err != nil {
		return err
	}
	if f.dry {
		return tuneError(t.DryRun(cmd.Context(), cmd.OutOrStdout()))
	}
	if t.Resume {
		if _, err := os.Stat(filepath.Join(f.out, tune.SearchDir, results.JournalFile)); err != nil {
			return cli.Usagef("--resume: %s has no search that could go on: %w", f.out, err)
		}
	}
	stop := context.AfterFunc(cmd.Context(),
		func() { t.Note("stopping after the current start; interrupt again to stop at once") })
	defer stop()
	r, err := t.Run(cmd.Context())
	if err != nil {
		if cmd.Context().Err() != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "to continue: %s\n", f.again(cmd, args))
		}
		return tuneError(err)
	}
	if f.json {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		err = enc.Encode(r)
	} else {
		err = r.Write(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "\nresults: %s (%s, %s, %s; the search: %s)\nreport:  %s\n", f.out, tune.BestFile,
		tune.ReportFile, results.RunsFile, filepath.Join(f.out, tune.SearchDir, results.JournalFile),
		filepath.Join(f.out, results.ReportFile))
	return nil
}

// tuning makes the search with its confirmation.
func (f *tuneFlags) tuning(cmd *cobra.Command, spec *matrix.Spec, goal tune.Goal,
	watts bench.PowerOptions) *tune.Tuning {
	chosen, note := f.order(spec, goal), cli.NoteTo(cmd.ErrOrStderr())
	return &tune.Tuning{Goal: goal, Spec: spec, Time: f.time, Resume: f.resume, Note: note,
		Begin: bench.Policy{TrustFile: f.trust || len(f.sut) > 0},
		New: func(s *matrix.Spec, dir string, search bool) *bench.Experiment {
			e := &bench.Experiment{Spec: s, Dir: dir, ToolVersion: version.Tool(), Notices: cmd.ErrOrStderr(),
				Note:  note,
				Power: watts, OrderChosen: chosen,
				StartPower: func(r *bench.Runner) (*bench.PowerMeter, error) { return f.power.Start(cmd, r) }}
			if !search {
				e.Progress = progress.Cells(cmd.ErrOrStderr())
				beside := progress.Beside(e.Progress, cmd.ErrOrStderr())
				e.Notices, e.Note = beside, cli.NoteTo(beside)
			}
			return e
		}}
}

// repeats are the flags with which matrix repeats the confirmation, beside the file.
func (f *tuneFlags) repeats() string {
	var words []string
	if f.shared {
		words = append(words, "--shared-with-ssh")
	}
	if f.trust || strings.HasPrefix(f.sut, "exec:") || strings.HasPrefix(f.tg, "exec:") {
		words = append(words, "--trust-file") // which then names the hosts
	}
	words = append(words, f.power.Words()...)
	for i, w := range words {
		words[i] = host.Shell(w)
	}
	return strings.Join(words, " ")
}

// again is the command that goes on.
func (f *tuneFlags) again(cmd *cobra.Command, args []string) string {
	words := []string{cmd.CommandPath(), "--resume"}
	for _, w := range os.Args[min(2, len(os.Args)):] {
		if w != "--resume" {
			words = append(words, host.Shell(w))
		}
	}
	if !cmd.Flags().Changed("out") {
		words = append(words, "--out", f.out)
	}
	return strings.Join(words, " ")
}

// tuneError adds what to do about a search that did not begin.
func tuneError(err error) error {
	switch {
	case errors.Is(err, bench.ErrChanged):
		return cli.Usagef("%w: start over in another --out", err)
	case errors.As(err, new(*tune.InputError)), errors.Is(err, bench.ErrOneMachine):
		return cli.UsageError(err)
	}
	return folderError(err)
}
