// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/packet/xdp"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// xdpOutcome is a case with its runs, as --json prints it.
type xdpOutcome struct {
	Comparison string      `json:"comparison"`
	OursRuns   []xdpSample `json:"ours_runs"`
	TheirsRuns []xdpSample `json:"theirs_runs"`
	Repeated   int         `json:"pairs_repeated"`
	Disturbed  int         `json:"pairs_disturbed"`
	Rate       figure      `json:"per_second"`
	Ns         figure      `json:"ns_each"`
	what       xdpCase
}

// xdpOptions are the flags of xdp alone.
type xdpOptions struct {
	bench xdpBench
	touch string
	tries int
	turns time.Duration // within one flood; 0: a flood each
	pace  xdpPace
}

// xdpCommand compares programs on frames, which is asked for by itself.
func xdpCommand(o *options) *cobra.Command {
	x := &xdpOptions{}
	cmd := &cobra.Command{
		Use:   "xdp [flags]",
		Short: "Compare the XDP modes with xdp-bench over a veth pair",
		Long: `xdp has the generator of pktgen-xdp send frames of 60 bytes over a veth pair of its
own, whose receiving end is polled by a NAPI thread on the receiver's CPU, to the
program of the modes xdp-drop, xdp-tx and xdp-pass and to that of xdp-bench (xdp-tools),
in turns, ABBA, within one flood: what the machine does meanwhile is the same for both.
What the receiver's interface counted decides, for both. What the two counted must add
up to that, to the last frame; with --turns 0 what each counted.

With --tries there is no other tool: the time of a frame is measured ten times, and
said how much it varies, so many times, beside a loop that only computes and one that
hands a line of the cache to and fro between the two CPUs. Its target: of the tries on
a quiet machine, 8 of 10 vary by a CV of at most 3 %.`,
		Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if x.bench.dispatcher && !cmd.Flags().Changed("turns") {
				x.turns = 0
			}
			if err := x.refuse(cmd); err != nil {
				return err
			}
			return o.xdp(cmd.Context(), x, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&x.bench.path, "xdp-bench", "xdp-bench", "xdp-bench, by name or path")
	f.StringVar(&x.bench.operation, "operation", operations[0],
		"what xdp-bench does with a frame that it drops or passes: "+strings.Join(operations, ", "))
	f.BoolVar(&x.bench.dispatcher, "dispatcher", false, "leave libxdp's program there, which calls xdp-bench's: "+
		"slower, and what xdp-bench does unless told otherwise")
	f.StringVar(&x.touch, "touch", "none", "what ours does with one: none, read, parse, as xdp_touch")
	f.DurationVar(&x.turns, "turns", 20*time.Millisecond, "how long each program has the interface, in turns "+
		"within one flood; 0: a flood each, and xdp-bench's own attachment")
	f.IntVar(&x.tries, "tries", 0, "measure how well ns per frame repeats, so many times")
	f.Float64Var(&x.pace.rate, "rate", 0, "frames per second of the generator; 0: as many as it can")
	f.BoolVar(&x.pace.lined, "at-line", false,
		"frames begin at a line of the cache, as those do that a NIC writes; the generator is slower then")
	f.IntVar(&x.pace.burst, "burst", 64, "frames that leave together at a rate")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	return cmd
}

// Flags of versus that say nothing of frames, and those of xdp that say nothing where there is no
// other tool.
var (
	notOfXDP = []string{"layouts", "rivals", "flows", "iperf3", "neper", "netperf", "bin", "tcp-buf-max",
		"congestion", "nice"}
	notOfTries = []string{"reps", "max-foreign", "retries", "xdp-bench", "operation", "dispatcher", "turns"}
)

// refuse refuses flags that would be ignored.
func (x *xdpOptions) refuse(cmd *cobra.Command) error {
	if err := refuseFlags(cmd, "xdp", notOfXDP); err != nil || x.tries == 0 {
		return err
	}
	return refuseFlags(cmd, "xdp --tries", notOfTries)
}

// cases lists what is compared.
func (x *xdpOptions) cases() (all []*xdpOutcome, err error) {
	touch, err := xdp.ParseTouch(x.touch)
	if err != nil || touch == xdp.TouchWrite || touch == xdp.TouchSwapMACs {
		return nil, usageError{fmt.Errorf("--touch %q: choose none, read or parse", x.touch)}
	}
	for _, c := range []struct {
		name string
		what xdpCase
	}{
		{"drop native", xdpCase{xdp.Drop, xdp.Native, touch}},
		{"drop generic", xdpCase{xdp.Drop, xdp.Generic, touch}},
		{"tx native", xdpCase{xdp.TX, xdp.Native, xdp.TouchSwapMACs}},
		{"pass native", xdpCase{xdp.Pass, xdp.Native, touch}},
	} {
		all = append(all, &xdpOutcome{Comparison: c.name, what: c.what})
	}
	return all, nil
}

func (o *options) xdp(ctx context.Context, x *xdpOptions, out, progress io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	all, err := x.cases()
	if err != nil {
		return err
	}
	re := regexp.MustCompile(o.only) // checked
	all = slices.DeleteFunc(all, func(c *xdpOutcome) bool { return !re.MatchString(c.Comparison) })
	switch {
	case len(all) == 0:
		return usageError{fmt.Errorf("--only %q: matches no comparison", o.only)}
	case o.against != "":
		return usageError{fmt.Errorf("--against %s: xdp compares with xdp-bench alone: leave it out", o.against)}
	case !slices.Contains(operations, x.bench.operation):
		return usageError{fmt.Errorf("--operation %q: choose from %s", x.bench.operation,
			strings.Join(operations, ", "))}
	case !(x.pace.rate >= 0 && x.pace.rate <= 1e9):
		return usageError{fmt.Errorf("--rate %g: must be 0 to 1e9", x.pace.rate)}
	case x.pace.burst < 1 || x.pace.burst > 256:
		return usageError{fmt.Errorf("--burst %d: must be 1 to 256, which is what a veth's queue holds", x.pace.burst)}
	case x.turns != 0 && (x.turns < 2*time.Millisecond || x.turns > time.Second):
		return usageError{fmt.Errorf("--turns %v: must be 0, or 2ms to 1s", x.turns)}
	case x.turns != 0 && x.bench.dispatcher && x.tries == 0:
		return usageError{fmt.Errorf("--turns %v: xdp-bench's dispatcher is of one interface: with --dispatcher "+
			"both have a flood each (--turns 0)", x.turns)}
	case x.tries < 0 || x.tries > 1000:
		return usageError{fmt.Errorf("--tries %d: must be 0 to 1000", x.tries)}
	case x.tries > 0 && len(all) > 1 && o.only != "":
		return usageError{fmt.Errorf("--only %q: --tries measures one case, and that matches %d of them", o.only,
			len(all))}
	case len(o.tools.ReceiverCPUs) != 1:
		return usageError{fmt.Errorf("--receiver-cpu %v: a veth has one queue, which one thread polls: name one CPU",
			o.tools.ReceiverCPUs)}
	}
	if x.tries == 0 {
		if err := find(&x.bench.path, x.bench.path, "xdp-bench",
			"install xdp-tools, or build it and name it with --xdp-bench"); err != nil {
			return err
		}
	}
	l, err := newXDPLink(o.tools, o.mtu, x.pace)
	if err != nil {
		return err
	}
	defer l.close()
	if x.tries > 0 {
		return o.repeatXDP(ctx, l, x.tries, all[0].what, out, progress)
	}
	load := loadavg()
	runErr := o.playXDP(ctx, l, x, all, progress)
	for _, c := range all {
		c.judge()
	}
	if err := printXDP(out, all, o.json, load); err != nil || runErr != nil {
		return errors.Join(runErr, err)
	}
	if o.gate && slices.ContainsFunc(all, func(c *xdpOutcome) bool { return c.Rate.Verdict == stat.NotMet }) {
		return errors.New("a target is not met")
	}
	return nil
}

// playXDP runs all pairs, one round after another; a pair's first two runs warm up.
func (o *options) playXDP(ctx context.Context, l *xdpLink, x *xdpOptions, all []*xdpOutcome, progress io.Writer) error {
	p := patience{limit: o.maxForeign, each: o.retries, left: len(all) * o.reps}
	for _, round := range rounds(o.reps) {
		for _, c := range all {
			var got [2]xdpSample
			turn := func() (foreign float64, err error) {
				got, err = x.pair(ctx, l, c, round, o.tools.Duration)
				return max(got[0].Others, got[1].Others), err
			}
			again, calm, err := p.settle(ctx, turn)
			if ctx.Err() != nil {
				return errInterrupted
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(progress, "%-14s #%d ours %.0f/s %.1f ns, theirs %.0f/s %.1f ns, others %.2f cores\n",
				c.Comparison, round[0].Block, got[0].PerSecond, got[0].NsEach, got[1].PerSecond, got[1].NsEach,
				max(got[0].Others, got[1].Others))
			if !round[0].Warmup {
				c.add(got, again, calm)
			}
		}
	}
	return nil
}

// pair makes a run of ours and one of theirs, in turns or one after the other.
func (x *xdpOptions) pair(ctx context.Context, l *xdpLink, c *xdpOutcome, round []matrix.Place,
	d time.Duration) (got [2]xdpSample, err error) {
	if x.turns > 0 {
		if got, err = l.swapped(ctx, c.what, x.bench, d, x.turns); err != nil {
			err = fmt.Errorf("%s: %w", c.Comparison, err)
		}
		return got, err
	}
	for _, at := range round {
		start := []func(context.Context, *xdpLink, xdpCase) (xdpReceiver, error){startOurs, x.bench.start}[at.At]
		if got[at.At], err = l.run(ctx, c.what, start, d); err != nil {
			return got, fmt.Errorf("%s, %s: %w", c.Comparison, []string{"zcbench", "xdp-bench"}[at.At], err)
		}
	}
	return got, nil
}

// rounds orders the two runs of each pair, ABBA, after one that warms up.
func rounds(reps int) [][]matrix.Place {
	return slices.Collect(slices.Chunk(matrix.Order(2, reps, true), 2))
}

func (c *xdpOutcome) add(got [2]xdpSample, again int, calm bool) {
	c.OursRuns, c.TheirsRuns = append(c.OursRuns, got[0]), append(c.TheirsRuns, got[1])
	c.Repeated += again
	if !calm {
		c.Disturbed++
	}
}

// judge makes the figures.
func (c *xdpOutcome) judge() {
	of := func(target stat.Target, get func(xdpSample) float64) figure {
		out := figure{Target: target}
		var a, b []float64
		for i := range c.OursRuns {
			a, b = append(a, get(c.OursRuns[i])), append(b, get(c.TheirsRuns[i]))
		}
		if len(a) > 0 {
			out.Ours, out.Theirs, out.Ratio = stat.Median(a), stat.Median(b), stat.Pairs(a, b)
		}
		out.Verdict = target.Judge(out.Ratio)
		return out
	}
	c.Rate = of(stat.AtLeast(.97, .97), func(s xdpSample) float64 { return s.PerSecond })
	c.Ns = of(stat.Target{}, func(s xdpSample) float64 { return s.NsEach })
	cores := of(stat.Target{}, func(s xdpSample) float64 { return s.Cores })
	// Below that the generator was the limit, or others had the CPU, too: the rate says nothing.
	if min(cores.Ours, cores.Theirs) < results.Saturated {
		c.Rate.Verdict = stat.CannotTell
	}
}

func printXDP(out io.Writer, all []*xdpOutcome, asJSON bool, before string) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	fmt.Fprintf(out, "kernel %s, load average before %s, after %s\n\n", kernel(), before, loadavg())
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "COMPARISON\tFIGURE\tOURS\tTHEIRS\tRATIO\tTARGET\tVERDICT")
	for _, c := range all {
		fmt.Fprintf(w, "%s\t%d pairs\t%d repeated\t%d disturbed\t\t\t\n", c.Comparison, len(c.OursRuns), c.Repeated,
			c.Disturbed)
		if len(c.OursRuns) == 0 {
			continue
		}
		fmt.Fprintf(w, "\tper second\t%.0f\t%.0f\t%s\t%s\t%s\n", c.Rate.Ours, c.Rate.Theirs, c.Rate.Ratio,
			c.Rate.Target, c.Rate.Verdict)
		fmt.Fprintf(w, "\tns each\t%.1f\t%.1f\t%s\t%s\t%s\n", c.Ns.Ours, c.Ns.Theirs, c.Ns.Ratio, c.Ns.Target,
			c.Ns.Verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out,
		"\nRates are of frames that the receiver's interface counted; ns are those of the NAPI thread.\n"+
			"The tools counted as many frames as the interface, and the generator as many as came or were dropped.\n")
	return err
}
