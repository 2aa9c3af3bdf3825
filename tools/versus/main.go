// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/internal/interrupt"
	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/machine/veth"
)

func main() {
	ctx, stop := interrupt.Context(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := command()
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(status(err))
	}
}

// usageError is wrong usage: exit status 2.
type usageError struct{ error }

func status(err error) int {
	if u := (usageError{}); errors.As(err, &u) {
		return 2
	}
	return 1
}

// options are the flags.
type options struct {
	tools     Tools
	programs  rivalPrograms
	bin       string
	against   string
	other     Tools // of the folder against
	mtu, reps int
	duration  time.Duration
	turns     time.Duration // of flows that are all under way; 0: one run after the other
	bufMax    units.Bytes
	only      string
	json      bool
	gate      bool

	layouts, rivals []string
	flows           []int
	field           Field // what these three say

	maxForeign float64
	retries    int
	nice       int
}

// rivalPrograms are the rivals' programs, by name or path.
type rivalPrograms struct{ iperf3, neper, neperCRR, netperf, ping string }

func command() *cobra.Command {
	o := options{tools: Tools{Congestion: "cubic", SenderCPUs: cpulist.Flag{0}, ReceiverCPUs: cpulist.Flag{1}}}
	cmd := &cobra.Command{
		Use:   "versus [flags]",
		Short: "Compare zcrecv and zcsend with iperf3, neper and netperf over a veth pair",
		Long: `versus runs zcrecv/zcsend and another tool in turn over its own veth pairs and
prints the ratios of throughput and CPU time with their spread.

In the layout apart the receiver's softirqs run on the sender's CPU, as veth does
by itself; in the layout together each end's run on its own CPU, by RPS, and the
receiver is the limit.

With --turns all flows of a round are under way at once, and all but one are
stopped (SIGSTOP): what the machine does meanwhile is the same for all.

It needs root. Exit status: 0 done, 1 a run failed, or with --gate a target is
not met, 2 wrong usage.`,
		Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	o.addFlags(cmd.PersistentFlags())
	cmd.Flags().DurationVar(&o.turns, "turns", 0, "all flows of a round are under way at once, all but one "+
		"stopped, each for so long in turn, such as 60ms; 0: one run after the other")
	cmd.AddCommand(smallCommand(&o), xdpCommand(&o))
	return cmd
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.layouts, "layouts", []string{string(Apart), string(Together)},
		"where the receive softirqs run: apart, together")
	f.IntSliceVar(&o.flows, "flows", []int{1}, "numbers of flows, each with a thread, such as 1,2,4")
	f.StringSliceVar(&o.rivals, "rivals", []string{string(Iperf3)},
		"what to compare with: iperf3, neper, netperf (one flow only)")
	f.StringVar(&o.programs.iperf3, "iperf3", "iperf3", "iperf3, by name or path; several flows take 3.16 or later")
	f.StringVar(&o.programs.neper, "neper", "tcp_stream", "neper's tcp_stream, by name or path")
	f.StringVar(&o.programs.netperf, "netperf", "netperf",
		"netperf, by name or path; netserver is looked for beside it")
	f.StringVar(&o.bin, "bin", "bin", "folder of zcrecv and zcsend")
	f.StringVar(&o.against, "against", "",
		"compare with the zcrecv and zcsend of this folder, such as those of a release, and not with other tools")
	f.IntVar(&o.mtu, "mtu", 1500, "MTU of the veth pair")
	f.IntVar(&o.reps, "reps", 8, "pairs of runs per comparison, after one warm-up; 6 or more give intervals")
	f.DurationVar(&o.duration, "duration", 2*time.Second, "length of one run, whole seconds (iperf3 has no others)")
	f.Var(&o.tools.SenderCPUs, "sender-cpu", "CPU of the sender's threads, or several")
	f.Var(&o.tools.ReceiverCPUs, "receiver-cpu", "CPU of the receiver's threads, or several")
	f.StringVar(&o.tools.Congestion, "congestion", o.tools.Congestion, "congestion control of both")
	f.Var(&o.bufMax, "tcp-buf-max", "upper end of the kernel's socket buffer auto-tuning; 0: as this host has it")
	f.Float64Var(&o.maxForeign, "max-foreign", 0.3,
		"repeat a turn if other processes kept more than this many cores busy during a run")
	f.IntVar(&o.retries, "retries", 3, "repeat a turn at most this often")
	f.IntVar(&o.nice, "nice", -20,
		"nice value of both tools' processes, so that other work disturbs them less; 0 changes nothing")
	f.StringVar(&o.only, "only", "",
		"run only the comparisons whose name matches this regular expression, such as '^tcp '")
	f.BoolVar(&o.json, "json", false, "print the result as one JSON object")
	f.BoolVar(&o.gate, "gate", false, "exit with 1 when a target is not met")
}

// refuseFlags refuses flags that were given and of which a command makes nothing.
func refuseFlags(cmd *cobra.Command, with string, names []string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return usageError{fmt.Errorf("--%s: has no effect with %s: leave it out", name, with)}
		}
	}
	return nil
}

// What can be asked for.
const (
	maxCPU   = 1023 // that a CPU set has room for (unix.CPUSet)
	maxFlows = 64
)

func (o *options) check() error {
	d := o.duration
	switch {
	case d < time.Second || d%time.Second != 0 || d > time.Hour:
		return usageError{fmt.Errorf("--duration %v: must be whole seconds, 1s to 1h", d)}
	case o.reps < 1 || o.reps > 1000:
		return usageError{fmt.Errorf("--reps %d: must be 1 to 1000", o.reps)}
	case o.turns != 0 && (o.turns < 20*time.Millisecond || o.turns > time.Second):
		return usageError{fmt.Errorf("--turns %v: must be 0, or 20ms to 1s", o.turns)}
	case o.mtu < 1280 || o.mtu > 65535:
		return usageError{fmt.Errorf("--mtu %d: must be 1280 to 65535", o.mtu)}
	case o.nice < -20 || o.nice > 19:
		return usageError{fmt.Errorf("--nice %d: must be -20 to 19", o.nice)}
	case o.retries < 0 || o.retries > 100:
		return usageError{fmt.Errorf("--retries %d: must be 0 to 100", o.retries)}
	case slices.Min(o.tools.SenderCPUs) < 0 || slices.Min(o.tools.ReceiverCPUs) < 0 ||
		slices.Max(o.tools.SenderCPUs) > maxCPU || slices.Max(o.tools.ReceiverCPUs) > maxCPU:
		return usageError{fmt.Errorf("--sender-cpu and --receiver-cpu are numbers of CPUs, 0 to %d", maxCPU)}
	case len(o.flows) == 0 || slices.Min(o.flows) < 1 || slices.Max(o.flows) > maxFlows:
		return usageError{fmt.Errorf("--flows %v: must be numbers from 1 to %d", o.flows, maxFlows)}
	}
	var err error
	if o.field.Layouts, err = parseLayouts(o.layouts); err != nil {
		return usageError{fmt.Errorf("--layouts: %w", err)}
	}
	if o.field.Rivals, err = parseRivals(o.rivals); err != nil {
		return usageError{fmt.Errorf("--rivals: %w", err)}
	}
	o.field.Flows = o.flows
	o.last(d)
	if _, err := regexp.Compile(o.only); err != nil {
		return usageError{fmt.Errorf("--only: %w", err)}
	}
	return nil
}

func (o *options) run(ctx context.Context, out, progress io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := o.find(); err != nil {
		return err
	}
	groups, outcomes := o.planned()
	if len(outcomes) == 0 {
		return usageError{fmt.Errorf("--only %q: matches no comparison of these rivals and flows", o.only)}
	}
	pairs, err := o.pairs(groups)
	if err != nil {
		return err
	}
	defer pairs.Close()
	rep := newReport(o)
	runErr := (&performer{pairs: pairs, opts: o, progress: newProgress(progress)}).perform(ctx, groups)
	rep.finish(outcomes)
	if err := o.print(out, rep); err != nil {
		return errors.Join(runErr, fmt.Errorf("write the result: %w", err))
	}
	if runErr != nil {
		return runErr
	}
	if o.gate && rep.missed() {
		return errors.New("a target is not met")
	}
	return nil
}

// pairs are the veth pairs of each layout: one, or in turns one for each way, so that what comes
// late is in nobody else's count.
type pairs map[Layout][]*veth.Pair

func (o *options) pairs(groups []*group) (ps pairs, err error) {
	ps = pairs{}
	defer func() {
		if err != nil {
			ps.Close()
		}
	}()
	for _, g := range groups {
		for n := len(ps[g.layout]); n == 0 || o.turns > 0 && n < len(g.ways); n++ {
			p, err := veth.New(veth.Options{MTU: o.mtu, TCPBufMax: int(o.bufMax)})
			if err != nil {
				return ps, err
			}
			ps[g.layout] = append(ps[g.layout], p)
			if o.bufMax == 0 {
				if err := hostAutotuning(p); err != nil {
					return ps, err
				}
			}
			if o.turns > 0 {
				if err := noSlowStart(p); err != nil {
					return ps, err
				}
			}
			if err := g.layout.arrange(p, o.tools.SenderCPUs, o.tools.ReceiverCPUs); err != nil {
				return ps, err
			}
		}
	}
	return ps, nil
}

// Close lets go of the pairs.
func (ps pairs) Close() {
	for _, of := range ps {
		for _, p := range of {
			p.Close()
		}
	}
}

// find finds the programs.
func (o *options) find() error {
	if err := o.tools.findZcbench(o.bin); err != nil {
		return err
	}
	if o.against != "" {
		o.other = o.tools
		return o.other.findZcbench(o.against)
	}
	for _, r := range o.field.Rivals {
		if err := o.tools.findRival(r, o.programs); err != nil {
			return err
		}
		if r == Iperf3 && slices.Max(o.flows) > 1 {
			if err := o.tools.threaded(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *options) chosen() []Comparison {
	re := regexp.MustCompile(o.only) // checked
	all := comparisons(o.tools, o.field)
	if o.against != "" {
		all = builds(o.tools, o.other, o.field)
	}
	return slices.DeleteFunc(all, func(c Comparison) bool { return !re.MatchString(c.Name) })
}

// planned lists what is to be compared. In turns, it tells the tools to last until all had theirs.
func (o *options) planned() ([]*group, []*Outcome) {
	groups, outcomes := grouped(o.chosen())
	if o.turns == 0 || len(groups) == 0 {
		return groups, outcomes
	}
	most := slices.MaxFunc(groups, func(a, b *group) int { return len(a.ways) - len(b.ways) })
	o.last(stretch(len(most.ways), o.duration, o.turns))
	return grouped(o.chosen())
}

// takes estimates how long turns take.
func (o *options) takes(turns []turn) (all time.Duration) {
	for _, t := range turns {
		runs := len(t.runs)
		if o.turns > 0 {
			runs = 1 // all at once
		}
		all += time.Duration(runs) * (o.tools.Duration + startCost)
	}
	return all
}

// last sets how long the tools are told to run.
func (o *options) last(d time.Duration) { o.tools.Duration, o.other.Duration = d, d }

func (o *options) print(out io.Writer, rep *report) error {
	if o.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(rep)
	}
	return rep.print(out)
}
