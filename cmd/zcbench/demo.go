// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/cmd/internal/progress"
	"github.com/zcbench/zcbench/cmd/internal/specflag"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// decideFlags are the flags of `zcbench decide`, and of `zcbench demo`, which is the same between
// two namespaces of one machine.
type decideFlags struct {
	specflag.Flags
	out   string
	json  bool
	dry   bool
	flows []int
	power powerflag.Flags
}

func demoCommand() *cobra.Command {
	var f decideFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Find out which way of receiving TCP to use, on this machine alone (100 s, root)",
		Long: `demo connects two network namespaces of this machine by a veth link, and finds out
which way of receiving TCP data to use, and which of sending. It compares receive modes
with a sender that copies nothing, at full speed and at half of what the slowest of
them can hold; the application reads what it receives, from a buffer that it reuses
(--touch, --rx-buffer). It compares send modes with a receiver that drops everything,
tcp-trunc, which is no way to receive, but a bound for the others.

All flows are open together and take turns of 20 ms (--turn), so that whatever the
machine does meanwhile, it does to all of them. --repetitions counts fresh starts of
all of them. What cannot take turns, such as flows that poll, runs one after another.

--rx names the receive modes to compare with tcp, --tx the send modes; with both, demo
runs each pair of these, at full speed. The results go to --out. It needs root
(CAP_SYS_ADMIN and CAP_NET_ADMIN, for the namespaces) and leaves nothing else behind.

Each end's softirq runs on the CPU of its thread, by RPS on that link (--layout 1cpu,
unless you name another): otherwise the sender's CPU would do the receiver's work, too.

veth has no hardware. It copies payload that was sent without a copy when it delivers
it. demo runs modes that promise zero copy and cannot keep it here only once, and
reports them as copied; with --max-copied 100 it runs them like all others.

With --sut and --tg it is zcbench decide.

Exit status: 0 the plan was completed, 1 it ended early, or a run failed or is
invalid, 2 wrong usage or input. Runs that veth copies do not count as invalid here.
If other runs are ok, neither do those that other work disturbed each time, nor those
at a share of a rate that could not be measured. Runs beyond a limit that --gate names
do (docs/output.md).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.define(cmd, 0, ownStarts, "out/demo")
	fs := cmd.Flags()
	fs.Lookup("duration").DefValue = ""
	fs.Lookup("turn").DefValue = ""
	fs.Lookup("turn").Usage += " (default: 20ms; 60ms between hosts)"
	fs.Lookup("layout").Usage = "1cpu: softirq and application share a CPU; 2cpu: one CPU each (default: 1cpu " +
		"in namespaces, where an end's softirq would be on the other one's CPU; as found between hosts)"
	fs.Lookup("duration").Usage =
		"length of the measured window (default: so that the demo takes at most 100 s; 2s between hosts)"
	fs.StringVar(&f.Spec.SUT.Host, "sut", "", "receive on this host instead of in a namespace (with --tg)")
	fs.StringVar(&f.Spec.TG.Host, "tg", "", "send from this host instead of from a namespace (with --sut)")
	cli.First(cmd, "rx", "tx", "duration", "repetitions", "flows", "sut", "tg", "probe", "out", "json")
	return cmd
}

func decideCommand() *cobra.Command {
	f := decideFlags{Flags: specflag.Flags{Without: []string{"flows"}}}
	cmd := &cobra.Command{
		Use:   "decide --sut HOST --tg HOST",
		Short: "Find out which way of receiving TCP to use between two hosts",
		Long: `decide compares all ways of receiving TCP data that both hosts can do, and answers which
one to use, and what it saves: at full speed, and at 25, 50 and 75 % of what the
slowest can hold, with one flow and with several (--flows). It needs no file. The
application reads what it receives, from a buffer that it reuses (--touch,
--rx-buffer). decide also compares send modes, with a receiver that drops everything.

All flows of a group are open together and take turns, so that whatever the hosts do
meanwhile, they do to all of them. --repetitions counts fresh starts. --dry-run shows
the groups, and how long it takes.

The receivers are compared once more, at full speed with one flow, at turns of 240 ms
and 1 s, and one after another for 30 s each: what short turns hide, such as caches
that are cold, shows there. The answer says where they disagree. This takes about two
minutes for each receive mode; --turn 60ms leaves it out.

If a mode needs header split, and hardware GRO for it, all receivers have them, and
decide also measures tcp with the NIC as it is set today. It restores at the end what
it set (docs/settings.md).

A HOST is written as for zcbench run. --rx names the receive modes to compare with
tcp, --tx the send modes; with both, decide runs each pair of these, at full speed,
with each number of flows.

Exit status: 0 done, even if some runs do not count, 1 it ended early, a run failed or
broke a check or a limit of --gate, or nothing was learnt, 2 wrong usage or input.`,
		Example: "  zcbench decide --sut ssh:root@hosta --tg ssh:root@hostb --dev eth1 --dry-run\n" +
			"  zcbench decide --sut netns:a --tg netns:b --rx uring --flows 1",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.define(cmd, hostWindow, hostStarts, "out/decide")
	fs := cmd.Flags()
	fs.IntSliceVar(&f.flows, "flows", usualFlows, "numbers of flows to compare all with, each on a CPU of its own")
	fs.BoolVar(&f.dry, "dry-run", false,
		"print the plan, what cannot run and why, and how long it takes, but run nothing")
	fs.StringVar(&f.Spec.SUT.Host, "sut", "", "host that receives")
	fs.StringVar(&f.Spec.TG.Host, "tg", "", "host that sends")
	cli.First(cmd, "sut", "tg", "dev", "rx", "flows", "duration", "repetitions", "dry-run", "out", "json")
	cmd.MarkFlagRequired("sut")
	cmd.MarkFlagRequired("tg")
	return cmd
}

// What is compared between hosts, and for how long; a link of ours has one flow, and half of its
// rate besides capacity.
const hostWindow = 2 * time.Second

// How many fresh starts there are: as many as decide what is asked, by pairs within a start
// (docs/statistics.md). Between hosts more is asked, of more modes.
const ownStarts, hostStarts = 10, 12

var usualFlows, usualPaces = []int{1, 4}, []int{25, 50, 75}

// ownTurn is short beside how long a virtual machine is fast or slow: docs/statistics.md.
const ownTurn = 20 * time.Millisecond

// ownBuffer is a receive buffer (SO_RCVBUF, bytes) as auto-tuning makes it on a link of ours in a
// flow that does not pause. In turns it makes 1 MB or 100, by chance, and what it costs to receive
// goes with that.
const ownBuffer = 2 << 20

// define adds the flags that both commands have.
func (f *decideFlags) define(cmd *cobra.Command, window time.Duration, starts int, out string) {
	spec := matrix.New()
	spec.Repetitions, spec.Duration = starts, window
	f.Add(cmd, spec, true, "port", "ipv6", "shared_with_ssh", "duration", "repetitions", "seed", "order",
		"turn", "rest", "sample_interval", "stall")
	f.Cell.Congestion = "cubic" // whatever the hosts' default is
	f.power.AddFlags(cmd, 2*time.Second, time.Second)
	fs := cmd.Flags()
	fs.Lookup("congestion").Usage = "congestion control of the flow (default: cubic)"
	fs.StringVar(&f.out, "out", out, "folder for the results; must not contain any yet")
	fs.BoolVar(&f.json, "json", false, "print the summary as JSON")
}

// own reports whether the hosts are two namespaces of this machine.
func (f *decideFlags) own() bool { return f.Spec.SUT.Host == "" }

// question is what the plan asks, where the user does not name pairs.
func (f *decideFlags) question(cmd *cobra.Command) (*matrix.Question, error) {
	switch {
	case f.own():
		return &matrix.Question{Paces: []int{50}, Flows: []int{1}}, nil
	case f.flows == nil && cmd.Flags().Changed("flows"): // one number
		return &matrix.Question{Paces: usualPaces, Flows: []int{1}}, nil
	case f.flows == nil:
		return &matrix.Question{Paces: usualPaces, Flows: usualFlows}, nil
	}
	for i, n := range f.flows {
		if n < 1 || n > stream.MaxFlows || slices.Contains(f.flows[:i], n) {
			return nil, cli.Usagef("--flows %d: want different numbers in 1..%d", n, stream.MaxFlows)
		}
	}
	f.Numbers = f.flows // where pairs are named
	return &matrix.Question{Paces: usualPaces, Flows: f.flows}, nil
}

// plan makes the plan, and returns lines on what it is.
func (f *decideFlags) plan(cmd *cobra.Command, power bool) (spec *matrix.Spec, lines []string, err error) {
	if f.Asks, err = f.question(cmd); err != nil {
		return nil, nil, err
	}
	turn := time.Duration(0)
	switch {
	case f.own():
		if turn = ownTurn; f.Spec.TurnLength() > 0 && !cmd.Flags().Changed("turn") {
			f.Spec.Turn = turn
		}
		if fs := cmd.Flags(); !fs.Changed("rx") && !fs.Changed("tx") && !fs.Changed("rcvbuf") {
			f.Cell.RcvBuf = ownBuffer
		}
	case !cmd.Flags().Changed("duration"):
		f.Spec.Duration = hostWindow
	}
	if spec, err = f.Finish(cmd.Name()); err != nil {
		return nil, nil, err
	}
	asked := spec.Base != nil
	if !asked { // pairs were named
		isBase := func(c plan.Cell) bool { return c.RX == "tcp" && c.TX == "tcp" }
		if i := slices.IndexFunc(spec.Cells, isBase); i >= 0 {
			spec.PrimaryModes(spec.Cells[i])
		}
		if len(f.Numbers) > 1 { // of one number each
			spec.About = []string{"rx", "tx"}
			spec.Primary = slices.DeleteFunc(spec.Primary,
				func(id string) bool { return strings.HasPrefix(id, "tcp/tcp ") })
		}
	}
	if line := f.ChooseOrder(turn, power); line != "" {
		lines = append(lines, line)
	}
	if turn := spec.TurnLength(); turn > 0 {
		spec.RampUp = 4 * turn
	}
	if asked && !f.own() && !spec.Said("turn") {
		spec.AskLengths()
	}
	return spec, lines, nil
}

func (f *decideFlags) run(cmd *cobra.Command) error {
	if (f.Spec.SUT.Host == "") != (f.Spec.TG.Host == "") || f.Spec.SUT.Dev != "" && f.own() {
		return cli.Usagef("--sut and --tg must be given together, and --dev only with them")
	}
	watts, err := f.power.Options()
	if err != nil {
		return err
	}
	said := f.Spec.SaysOrder()
	spec, lines, err := f.plan(cmd, watts.On())
	if err != nil {
		return err
	}
	if f.own() {
		if how := mayMakeNamespaces("sudo zcbench demo"); how != "" {
			return cli.Usagef(
				"demo makes network namespaces, %s; without root, over loopback: zcbench run --sut local --tg local",
				how)
		}
	}
	if line := f.apart(cmd, spec); line != "" {
		lines = append(lines, line)
	}
	course := progress.Cells(cmd.ErrOrStderr())
	beside := progress.Beside(course, cmd.ErrOrStderr())
	e := &bench.Experiment{Spec: spec, Dir: f.out, ToolVersion: version.Tool(), Progress: course, Notices: beside,
		Power: watts, StartPower: func(r *bench.Runner) (*bench.PowerMeter, error) { return f.power.Start(cmd, r) },
		Policy: f.policy(cmd), Note: cli.NoteTo(beside), OrderChosen: !said}
	if f.dry {
		return planned{Experiment: e}.preview(cmd)
	}
	if cmd.Flags().Changed("rx") || cmd.Flags().Changed("tx") { // they named their modes
		e.LeftOut = func(line string) { e.Note("%s", line) }
	}
	f.begin(cmd, lines)
	recs, err := e.Run(cmd.Context())
	err = finish(cmd, e, recs, err, f.json, true)
	if len(recs) > 0 && f.own() {
		f.sayNext(cmd, comparable(recs), cardOf(doctor.Look().Cards))
	}
	return err
}

// policy shows each mode once where it can show no more. A demo has little time, but between hosts,
// where turns are as long as decide's.
func (f *decideFlags) policy(cmd *cobra.Command) bench.Policy {
	own := f.own()
	fit := own || cmd.Name() == "demo" && f.Spec.TurnLength() == 0
	return bench.Policy{Shape: matrix.Shape{Fit: fit, Fold: true, FoldCopied: true, NoteMTU: true, SplitHeaders: !own}}
}

// begin announces what comes, before anything that takes long.
func (f *decideFlags) begin(cmd *cobra.Command, lines []string) {
	where := "between " + f.Spec.SUT.Host + " and " + f.Spec.TG.Host
	if f.own() {
		where = "between two network namespaces of this machine"
	}
	how := "one after another"
	if f.Spec.TurnLength() > 0 {
		how = "which take turns"
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "TCP flows %s, %s.\n", where, how)
	for _, line := range lines {
		fmt.Fprint(cmd.ErrOrStderr(), cli.Indented("", "", line))
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "Checking what this kernel can run ...")
}

// comparable reports whether runs of more than one cell count.
func comparable(recs []results.Record) bool {
	ok := map[string]bool{}
	for i := range recs {
		if recs[i].Verdict == results.OK && !recs[i].Warmup {
			ok[recs[i].Cell.ID] = true
		}
	}
	return len(ok) > 1
}

// sayNext prints what to do with the results, and with this host's NIC, where it has one.
func (f *decideFlags) sayNext(cmd *cobra.Command, compare bool, dev string) {
	w, called := cmd.ErrOrStderr(), cmd.Root().Name()
	if strings.Contains(os.Args[0], "/") {
		called = os.Args[0] // is not in the path, or need not be
	}
	fmt.Fprintln(w, "\nnext:")
	var steps [][2]string
	if compare {
		steps = append(steps, [2]string{called + " compare " + f.out, "which differences are real"})
	}
	steps = append(steps, [2]string{called + " lab demo", "zero-copy receive, proved in a VM"})
	if dev != "" {
		steps = append(steps, [2]string{called + " doctor --dev " + dev, "what the NIC " + dev + " can run"})
	} else {
		steps = append(steps, [2]string{called + " doctor", "what this host can run"})
	}
	width := 0
	for _, x := range steps {
		width = max(width, len(x[0]))
	}
	for _, x := range steps {
		screen.Line(w, fmt.Sprintf("  %-*s  ", width, x[0]), "      ", x[1])
	}
}
