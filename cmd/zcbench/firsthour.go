// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// firstHour is a call of zcbench firsthour.
type firstHour struct {
	sut, tg, dev, tgDev string
	shared              bool
	out                 string
	only                []string
	reps                int
	duration            time.Duration
	dry, json           bool

	devs   map[ends.Role]string
	steps  []step
	proved map[string]bool // receive modes that were
}

// The steps, by their names for --only.
const (
	stepDoctor  = "doctor"
	stepProof   = "proof"
	stepControl = "control"
	stepRestore = "restore"
	stepDecide  = "decide"

	stepShare = "share" // not to be chosen: the file to publish could not be made
)

var stepNames = []string{stepDoctor, stepProof, stepControl, stepRestore, stepDecide}

// step is a thing that was tried, and what came of it.
type step struct {
	Step   string `json:"step"`
	What   string `json:"what"`
	Came   came   `json:"came"`
	Found  string `json:"found"`
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
	Again  string `json:"again,omitempty"` // the command that repeats it
}

// came is how a step ended.
type came string

// What steps come to.
const (
	fine    came = "fine"
	cannot  came = "not here" // these hosts cannot do it, which is no fault of theirs
	failing came = "REPORT"
	unmade  came = "not made"
)

func firstHourCommand() *cobra.Command {
	var f firstHour
	cmd := &cobra.Command{
		Use:   "firsthour --sut HOST --tg HOST",
		Short: "Try all that is safe on new hardware, and make one bundle of what was found",
		Long: `firsthour is for two hosts with a NIC that nobody has tried zcbench on. It takes these
steps, and one that fails does not keep the others from being made:

  doctor   what both hosts can run, and a record of what their drivers answered
  proof    64 MiB by each receive mode: every byte compared with what was sent,
           and how much the kernel copied
  control  the same with the flow steered to a wrong queue: the run must be
           found copied, or the proof could not fail
  restore  a run is killed with kill -9 while it has settings on the hosts;
           after zcbench restore they must be as they were
  decide   which way to receive to use: a short zcbench decide, with one flow

It ends with a table of what was fine and what to report, with the command that repeats
each step that failed, and leaves a folder and the same as .tar.gz. The folder has the
file of zcbench share and public.txt, the table without reasons and commands: these are
without names and addresses and may be published; the rest names your hosts. Nothing is
sent.

It floods the link between the hosts and changes settings of the NIC, which it puts
back: not on a NIC with live traffic. A HOST is written as for zcbench run. --dry-run
shows the steps and how long they take.

Exit status: 0 every step was fine, or is one that these hosts cannot do, 1 something is
to be reported or was not made, 2 wrong usage or input.`,
		Example: "  zcbench firsthour --sut ssh:root@a --tg ssh:root@b --dev eth1 --dry-run\n" +
			"  zcbench firsthour --sut netns:a --tg netns:b --only proof,control",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.sut, "sut", "", "host that receives")
	fs.StringVar(&f.tg, "tg", "", "host that sends")
	fs.StringVar(&f.dev, "dev", "", "interface of the SUT (default: its only one)")
	fs.StringVar(&f.tgDev, "tg-dev", "", "interface of the TG (default: the one by which it reaches the SUT)")
	fs.BoolVar(&f.shared, "shared-with-ssh", false, matrix.LookupKey("shared_with_ssh").Help)
	fs.StringVar(&f.out, "out", "out/firsthour", "folder to make; the archive lies beside it")
	fs.StringSliceVar(&f.only, "only", nil, "make only these steps: "+strings.Join(stepNames, ", "))
	fs.IntVar(&f.reps, "repetitions", 8, "fresh starts of decide")
	fs.DurationVar(&f.duration, "duration", time.Second, "window of decide, of each mode and load")
	fs.BoolVar(&f.dry, "dry-run", false, "print the steps and how long they take, but run nothing")
	fs.BoolVar(&f.json, "json", false, "print the steps as JSON")
	cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(stepNames, cobra.ShellCompDirectiveNoFileComp))
	cmd.MarkFlagRequired("sut")
	cmd.MarkFlagRequired("tg")
	return cmd
}

func (f *firstHour) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.dry {
		return f.preview(cmd)
	}
	// One that cannot be reached, or has no path, is no step: there is nothing to report yet.
	if err := f.findDevs(cmd); err != nil {
		return err
	}
	b, err := makeBundle(f.out)
	if err != nil {
		return err
	}
	defer b.close()
	f.proved = map[string]bool{}
	for _, s := range []struct {
		name string
		make func(*cobra.Command, *bundle) []step
	}{{stepDoctor, f.doctor}, {stepProof, f.proof}, {stepControl, f.control}, {stepRestore, f.restore},
		{stepDecide, f.decide}} {
		if !f.wants(s.name) {
			continue
		}
		if cmd.Context().Err() != nil {
			f.steps = append(f.steps, step{Step: s.name, What: "-", Came: unmade, Found: "interrupted before it",
				Again: f.again(s.name)})
			continue
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "\n== %s: %s\n", s.name, f.about(s.name))
		f.steps = append(f.steps, s.make(cmd, b)...)
	}
	return f.finish(cmd, b)
}

// brokenOff is a step that an error has ended: where that was an interrupt, it was not made, and
// nothing of it is to be reported.
func brokenOff(ctx context.Context, s step) step {
	if ctx.Err() != nil {
		s.Came, s.Reason, s.Fix, s.Found = unmade, "", "", "interrupted: "+s.Found
	}
	return s
}

func (f *firstHour) check() error {
	for _, x := range []struct{ flag, spec string }{{"sut", f.sut}, {"tg", f.tg}} {
		if _, err := host.ParseSpec(x.spec); err != nil {
			return cli.Usagef("--%s: %w", x.flag, err)
		}
	}
	for _, name := range f.only {
		if !slices.Contains(stepNames, name) {
			return cli.Usagef("--only %s: no such step; choose from %s", name, strings.Join(stepNames, ", "))
		}
	}
	if f.reps < 1 || f.duration < 100*time.Millisecond {
		return cli.Usagef("--repetitions %d, --duration %v: want at least 1, and 100ms", f.reps, f.duration)
	}
	f.out = filepath.Clean(f.out) // the archive lies beside x, not in x/
	if _, err := os.Lstat(f.out); err == nil {
		return cli.Usagef("--out %s is there already: choose another folder", f.out)
	}
	if _, err := os.Lstat(f.out + archiveEnd); err == nil {
		return cli.Usagef("--out: %s is there already: choose another folder", f.out+archiveEnd)
	}
	return nil
}

func (f *firstHour) wants(name string) bool { return len(f.only) == 0 || slices.Contains(f.only, name) }

// look reaches both hosts, which nothing is set on.
func (f *firstHour) look(ctx context.Context, cmd *cobra.Command) (*bench.LookedAt, error) {
	p, err := bench.LookAt(ctx, f.sut, f.tg, f.dev, f.tgDev, host.Options{ToolVersion: version.Tool(),
		Notices: cmd.ErrOrStderr(), SharedWithSSH: f.shared})
	if err != nil {
		return nil, err
	}
	if p.Dev(ends.SUT) == "" {
		return nil, errors.Join(cli.Usagef("%s and %s are one host: this is for two with a NIC each, or two namespaces",
			f.sut, f.tg), p.Close())
	}
	return p, nil
}

// findDevs finds the interfaces of the flow.
func (f *firstHour) findDevs(cmd *cobra.Command) error {
	p, err := f.look(cmd.Context(), cmd)
	if err != nil {
		return err
	}
	f.devs = map[ends.Role]string{ends.SUT: p.Dev(ends.SUT), ends.TG: p.Dev(ends.TG)}
	return p.Close()
}

// host is the host that has a role.
func (f *firstHour) host(role ends.Role) string {
	if role == ends.TG {
		return f.tg
	}
	return f.sut
}

// about says of a step what it does and how long it takes.
func (f *firstHour) about(name string) string {
	cases := bench.ModeProofs()
	controls := 0
	for _, c := range cases {
		if c.Cell.Control != "" {
			controls++
		}
	}
	const each = "2 s each, at most 90 s"
	switch name {
	case stepDoctor:
		return "what both hosts can run, and their records (10 s)"
	case stepProof:
		return fmt.Sprintf("%d receive modes, %d MiB each, verified (%s)", len(cases)-controls, bench.ProofBytes>>20,
			each)
	case stepControl:
		return fmt.Sprintf("%d runs steered to a wrong queue, which must be found copied (%s)", controls, each)
	case stepRestore:
		return "a run is killed with kill -9, and what it had set is restored (20 s; 2 minutes at most)"
	}
	return fmt.Sprintf("which way to receive to use (%d starts, %v each; some minutes)", f.reps, f.duration)
}

// preview prints the steps.
func (f *firstHour) preview(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "between %s, which receives, and %s, into %s and %s:\n\n", f.sut, f.tg, f.out, f.out+archiveEnd)
	for _, name := range stepNames {
		if f.wants(name) {
			fmt.Fprint(w, cli.Indented(fmt.Sprintf("  %-8s ", name), strings.Repeat(" ", 11), f.about(name)))
			fmt.Fprintf(w, "%11s$ %s\n", "", f.again(name))
		}
	}
	if !f.wants(stepDecide) {
		return nil
	}
	fmt.Fprintln(w, "\ndecide:")
	return f.decideCommand(cmd, w, f.out+"/decide", "--dry-run")
}

// again is the command that repeats a step.
func (f *firstHour) again(name string, more ...string) string {
	only, at := name, f.out+"-again-"+name
	if name == stepRestore && slices.ContainsFunc(queueModes, func(m string) bool { return f.proved[m] }) {
		only = stepProof + "," + name // whose run is by a mode that was proved
	}
	words := append([]string{"zcbench", "firsthour"}, f.hosts()...)
	words = append(words, "--only", only, "--out", at)
	return quoted(append(words, more...)...)
}

// hosts are the flags that name hosts and interfaces.
func (f *firstHour) hosts() []string {
	words := []string{"--sut", f.sut, "--tg", f.tg}
	if f.dev != "" {
		words = append(words, "--dev", f.dev)
	}
	if f.tgDev != "" {
		words = append(words, "--tg-dev", f.tgDev)
	}
	if f.shared {
		words = append(words, "--shared-with-ssh")
	}
	return words
}

// quoted is a command as a shell takes it.
func quoted(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"+
			"-_./:=,@+%") != "" {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// failed makes of an error a step that is to be reported.
func failed(name, what, found string, err error, again string) step {
	s := step{Step: name, What: what, Came: failing, Found: found, Again: again}
	if err != nil {
		s.Reason, s.Fix = fault.Reason(err), fault.Fix(err)
	}
	return s
}

// finish writes what was found, and says it.
func (f *firstHour) finish(cmd *cobra.Command, b *bundle) error {
	shown := f.share(b)
	text, err := json.MarshalIndent(struct {
		Tool  string `json:"tool_version"`
		Steps []step `json:"steps"`
	}{version.Tool(), f.steps}, "", "  ")
	if err != nil {
		return fmt.Errorf("the steps: %w", err)
	}
	table := f.table(shown)
	err = errors.Join(b.write("firsthour.json", append(text, '\n')), b.write("summary.txt", []byte(table)),
		b.write("public.txt", []byte(f.public())))
	if err == nil {
		err = b.pack(f.out + archiveEnd)
	}
	if f.json {
		_, perr := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
		err = errors.Join(err, perr)
	} else {
		_, perr := io.WriteString(cmd.OutOrStdout(), "\n"+table)
		err = errors.Join(err, perr)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(f.steps, func(s step) bool { return s.Came == failing || s.Came == unmade }) {
		return cli.Quiet(cli.Failed)
	}
	return nil
}

// share puts the file of zcbench share into the bundle, of the last results that it has, and
// returns its name.
func (f *firstHour) share(b *bundle) string {
	for _, dir := range []string{"decide", "proof", "control"} {
		if !b.has(dir + "/" + results.JournalFile) {
			continue
		}
		s, err := sharedOf(b.path(dir))
		if err == nil {
			err = b.write(s.Name(), s.Encode())
		}
		if err == nil {
			return s.Name()
		}
		f.steps = append(f.steps, failed(stepShare, "the file to publish, of "+dir, "it could not be made", err,
			quoted("zcbench", "share", b.path(dir))))
	}
	return ""
}

// public is the table without what may name hosts, users, interfaces and paths: of each step its
// name, how it came, and of runs the mode.
func (f *firstHour) public() string {
	var b strings.Builder
	fmt.Fprintf(&b, "zcbench %s\n\n", version.Tool())
	for _, s := range f.steps {
		what := s.What
		if s.Step == stepDoctor || s.Step == stepShare {
			what, _, _ = strings.Cut(what, ",") // the interface
		}
		fmt.Fprintf(&b, "%-9s %-8s %s\n", s.Came, s.Step, what)
	}
	return b.String()
}

// table is what was fine, and what to report.
func (f *firstHour) table(shared string) string {
	var b strings.Builder
	count := map[came]int{}
	for _, s := range f.steps {
		count[s.Came]++
	}
	fmt.Fprintf(&b, "%d of %d steps were fine", count[fine], len(f.steps))
	for _, x := range []struct {
		c    came
		text string
	}{{cannot, "%d cannot be done on these hosts"}, {failing, "%d to report"}, {unmade, "%d not made"}} {
		if count[x.c] > 0 {
			fmt.Fprintf(&b, ", "+x.text, count[x.c])
		}
	}
	b.WriteString(".\n\n")
	row := func(a, c, d, e string) {
		b.WriteString(cli.Indented(fmt.Sprintf("%-9s %-8s %-20s ", a, c, d), strings.Repeat(" ", 12), e))
	}
	row("", "step", "what", "found")
	for _, s := range f.steps {
		row(string(s.Came), s.Step, s.What, s.Found)
		if s.Came == fine {
			continue
		}
		for _, x := range [][2]string{{"reason", s.Reason}, {"fix", s.Fix}} {
			if x[1] != "" {
				b.WriteString(cli.Indented(strings.Repeat(" ", 12)+x[0]+": ", strings.Repeat(" ", 14), x[1]))
			}
		}
		if s.Came != cannot && s.Again != "" {
			fmt.Fprintf(&b, "%12sagain: %s\n", "", s.Again) // to be copied: in one line
		}
	}
	fmt.Fprintf(&b, "\nbundle:  %s and %s (they name your hosts)\n", f.out, f.out+archiveEnd)
	if shared != "" {
		fmt.Fprintf(&b, "publish: %s/%s (no names, no addresses: read it, then docs/hardware.md)\n", f.out, shared)
	}
	return b.String()
}
