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
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
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
		Short: "Compare the TCP modes that this kernel can run, on this machine alone (100 s, root)",
		Long: `demo connects two network namespaces of this machine with a veth link and runs each
receive mode of TCP with each send mode of TCP that this kernel supports; --rx and
--tx name others, such as packet modes. Runs are interleaved, each pair is warmed
up first, and the results go to --out. It needs root (CAP_SYS_ADMIN and
CAP_NET_ADMIN, for the namespaces) and leaves nothing else behind.

Each end's softirq runs on the CPU of its thread, by RPS on that link (--layout 1cpu,
unless another one is named): else the sender's CPU has the receiver's, too.

veth has no hardware, and it copies payload that was sent without a copy when it
delivers it. Modes that promise zero copy and cannot keep it here are run once, and
reported as copied; with --max-copied 100 they are run like all others.

With --sut and --tg it runs between two hosts that are connected already, such as
ssh:root@hosta and ssh:root@hostb. Settings that flags change there are restored at
the end (docs/settings.md).

Exit status: 0 the plan was completed, 1 it ended early, or a run failed or is
invalid, 2 wrong usage or input. Runs that veth copies do not count as invalid here,
nor do those that other work on the measured CPUs disturbed every time; --gate
changes the limits (docs/matrix.md).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	spec := matrix.New()
	spec.Repetitions, spec.Duration = 8, 0
	f.Add(cmd, spec, true, "port", "ipv6", "shared_with_ssh", "duration", "repetitions", "seed", "order",
		"turn", "rest", "sample_interval", "stall")
	f.Cell.Congestion = "cubic" // whatever the hosts' default is
	f.power.AddFlags(cmd, 2*time.Second, time.Second)
	fs := cmd.Flags()
	fs.Lookup("duration").DefValue = ""
	fs.Lookup("layout").Usage = "1cpu: softirq and application share a CPU; 2cpu: one CPU each (default: 1cpu " +
		"in namespaces, where an end's softirq would be on the other one's CPU; as found between hosts)"
	fs.Lookup("congestion").Usage = "congestion control of the flow (default: cubic)"
	fs.Lookup("duration").Usage =
		"length of the measured window (default: at most 800ms, less so that the demo takes at most 100 s)"
	fs.StringVar(&f.Spec.SUT.Host, "sut", "", "receive on this host instead of in a namespace (with --tg)")
	fs.StringVar(&f.Spec.TG.Host, "tg", "", "send from this host instead of from a namespace (with --sut)")
	fs.StringVar(&f.out, "out", "out/demo", "folder for the results; must not contain any yet")
	fs.BoolVar(&f.json, "json", false, "print the summary as JSON")
	cli.First(cmd, "rx", "tx", "duration", "repetitions", "flows", "sut", "tg", "probe", "out", "json")
	return cmd
}

func (f *demoFlags) run(cmd *cobra.Command) error {
	spec, err := f.Finish("demo")
	if err != nil {
		return err
	}
	if (spec.SUT.Host == "") != (spec.TG.Host == "") || spec.SUT.Dev != "" && spec.SUT.Host == "" {
		return cli.Usagef("--sut and --tg must be given together, and --dev only with them")
	}
	if spec.SUT.Host == "" {
		if how := mayMakeNamespaces("sudo zcbench demo"); how != "" {
			return cli.Usagef(
				"demo makes network namespaces, %s; without root, over loopback: zcbench run --sut local --tg local",
				how)
		}
	}
	watts, err := f.power.Options()
	if err != nil {
		return err
	}
	layout := f.apart(cmd, spec)
	if i := slices.IndexFunc(spec.Cells, func(c plan.Cell) bool { return c.RX == "tcp" && c.TX == "tcp" }); i >= 0 {
		spec.PrimaryModes(spec.Cells[i])
	}
	course := progress.Cells(cmd.ErrOrStderr())
	beside := progress.Beside(course, cmd.ErrOrStderr())
	e := &bench.Experiment{Spec: spec, Dir: f.out, ToolVersion: version.Tool(), Progress: course, Notices: beside,
		Power: watts, StartPower: func(r *bench.Runner) (*bench.PowerMeter, error) { return f.power.Start(cmd, r) },
		Policy: demoPolicy(), Note: cli.NoteTo(beside)}
	if cmd.Flags().Changed("rx") || cmd.Flags().Changed("tx") { // they named their modes
		e.LeftOut = func(line string) { e.Note("%s", line) }
	}
	f.begin(cmd, layout)
	recs, err := e.Run(cmd.Context())
	err = finish(cmd, e, recs, err, f.json, true)
	if len(recs) > 0 && f.Spec.SUT.Host == "" {
		f.sayNext(cmd, comparable(recs), cardOf(doctor.Look().Cards))
	}
	return err
}

// demoPolicy shows each mode once where it can show no more, in little time.
func demoPolicy() bench.Policy {
	return bench.Policy{Shape: matrix.Shape{Fit: true, Fold: true, FoldCopied: true, NoteMTU: true}}
}

// begin announces what comes, before anything that takes long.
func (f *demoFlags) begin(cmd *cobra.Command, layout string) {
	where := "between " + f.Spec.SUT.Host + " and " + f.Spec.TG.Host
	if f.Spec.SUT.Host == "" {
		where = "between two network namespaces of this machine"
	}
	if layout != "" {
		layout = cli.Indented("", "", layout)
	}
	how := "one after another"
	if f.Spec.TurnLength() > 0 {
		how = "which take turns"
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "TCP flows %s, %s.\n%sChecking what this kernel can run ...\n", where, how, layout)
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
func (f *demoFlags) sayNext(cmd *cobra.Command, compare bool, dev string) {
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
		fmt.Fprintf(w, "  %-*s  %s\n", width, x[0], x[1])
	}
}
