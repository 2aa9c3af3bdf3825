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
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results/stat"
)

// Sample is what one run of small messages, or of round trips, came to.
type Sample struct {
	PerSecond float64  `json:"per_second"`       // transactions; or datagrams that were received
	P50Us     *float64 `json:"p50_us,omitempty"` // of round trips
	CPUUs     float64  `json:"cpu_us"`           // of both ends for each, with the softirqs outside of both processes
	Foreign   float64  `json:"foreign_cores"`
}

// smallWay is one way to move them: a [Contender] whose outcome is a [Sample].
type smallWay struct {
	Contender
	read func(receiver, sender []byte) (n, perSecond float64, p50 *float64, err error)
}

// smallPair is two ways, and what is asked of ours / theirs.
type smallPair struct {
	Name         string
	Ours, Theirs smallWay
	Rate, P50    stat.Target
	CPU          stat.Target
	trips        bool // ping stands beside them
}

// smallOutcome is a pair with its runs, as --json prints it.
type smallOutcome struct {
	Comparison string   `json:"comparison"`
	Ours       string   `json:"ours"`
	Theirs     string   `json:"theirs"`
	OursRuns   []Sample `json:"ours_runs"`
	TheirsRuns []Sample `json:"theirs_runs"`
	Rate       figure   `json:"per_second"`
	P50        figure   `json:"p50_us"`
	CPU        figure   `json:"cpu_us"`
	PingRuns   []Echoes `json:"ping_runs,omitempty"` // a reference: the kernel's echo
	Ping       *Echoes  `json:"ping,omitempty"`      // medians of these
	pair       smallPair
}

// smallCommand compares round trips and datagrams of 64 bytes, which are asked for by themselves.
func smallCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "small [flags]",
		Short: "Compare round trips and small datagrams with netperf and iperf3 over a veth pair",
		Long: `small runs zcrecv/zcsend and netperf, and of datagrams iperf3, in turn, ABBA, over
a veth pair of its own, as it is found (the layout apart), with equal buffers and
CPUs, and prints the ratios. Round trips: TCP_RR of 1 byte, UDP_RR of 18 bytes; with
a connection for each TCP_CRR, and --tcp-crr neper's.
Datagrams: of 64 bytes, as fast as they can be sent; what was received counts. The
sender's kernel splits what udp-gso hands over (tx-udp-segmentation is off), so that
each datagram crosses the link as a packet: the interface's counter is held against
what was received. Of zcbench's own datagrams each that was sent must be received or
in a counter of lost ones: else the run is invalid, and the comparison ends. With
--against the other side is that build of zcbench.

With --turns round trips alone are compared, both sides under way at once and one of
them stopped (SIGSTOP): the machine is the same for both, and starting a tool is in no
figure but the p50, which is what the tools say.

Beside round trips stands ping, in turn with them: the far end's kernel answers its
echoes, without a process, so it is a reference and no rival. --ping '' leaves it out.`,
		Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseFlags(cmd, "small", notOfSmall); err != nil {
				return err
			}
			if o.against != "" {
				if err := refuseFlags(cmd, "small --against", []string{"iperf3", "netperf"}); err != nil {
					return err
				}
			}
			return o.small(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().DurationVar(&o.turns, "turns", 0, "of round trips alone: both sides are under way at once, one "+
		"stopped, each for so long in turn, such as 60ms; 0: one run after the other")
	cmd.Flags().StringVar(&o.programs.ping, "ping", "ping", "ping of iputils, by name or path; '' leaves it out")
	cmd.Flags().StringVar(&o.programs.neperCRR, "tcp-crr", "", "neper's tcp_crr, by name or path; '' leaves it out")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	return cmd
}

func (o *options) small(ctx context.Context, out, progress io.Writer) error {
	o.layouts, o.rivals = []string{string(Apart)}, []string{string(Netperf), string(Iperf3)}
	if err := o.check(); err != nil {
		return err
	}
	if err := o.find(); err != nil {
		return err
	}
	re := regexp.MustCompile(o.only) // checked
	if o.turns > 0 {
		o.last(stretch(2, o.duration, o.turns))
	}
	if o.programs.neperCRR != "" && o.against == "" {
		if err := find(&o.tools.NeperCRR, o.programs.neperCRR, "neper's tcp_crr",
			"build it, or leave --tcp-crr out"); err != nil {
			return err
		}
	}
	all := o.tools.smallPairs()
	if o.against != "" {
		all = smallBuilds(o.tools, o.other)
	}
	if o.turns > 0 {
		all = tripsAlone(all)
	}
	all = slices.DeleteFunc(all, func(p smallPair) bool { return !re.MatchString(p.Name) })
	if len(all) == 0 {
		return usageError{fmt.Errorf(
			"--only %q: matches no comparison (with --turns there are those of round trips alone)", o.only)}
	}
	if o.programs.ping != "" && slices.ContainsFunc(all, func(p smallPair) bool { return p.trips }) {
		if err := find(&o.tools.Ping, o.programs.ping, "ping",
			"install it: apt-get install iputils-ping; --ping '' leaves it out"); err != nil {
			return err
		}
	}
	links, err := o.smallLinks()
	if err != nil {
		return err
	}
	defer closeLinks(links)
	load := loadavg()
	var outcomes []*smallOutcome
	for _, p := range all {
		outcomes = append(outcomes, &smallOutcome{Comparison: p.Name, Ours: p.Ours.Name, Theirs: p.Theirs.Name,
			pair: p})
	}
	runErr := o.playSmall(ctx, links, outcomes, progress)
	for _, x := range outcomes {
		x.judge()
	}
	if err := printSmall(out, outcomes, o.json, load); err != nil || runErr != nil {
		return errors.Join(runErr, err)
	}
	if o.gate && slices.ContainsFunc(outcomes, (*smallOutcome).missed) {
		return errors.New("a target is not met")
	}
	return nil
}

// notOfSmall are the flags of versus that say nothing of small messages.
var notOfSmall = []string{"layouts", "rivals", "flows", "neper", "tcp-buf-max", "congestion", "max-foreign", "retries"}

// missed reports whether a target is not met.
func (x *smallOutcome) missed() bool {
	return slices.ContainsFunc([]figure{x.Rate, x.P50, x.CPU}, func(f figure) bool { return f.Verdict == stat.NotMet })
}

// playSmall runs all pairs, one round after another; a pair's first two runs warm up.
func (o *options) playSmall(ctx context.Context, links []*veth.Pair, all []*smallOutcome, progress io.Writer) error {
	runs := 0
	for round := range o.reps + 1 {
		for _, x := range all {
			got, err := o.pairOfSmall(ctx, links, x, round%2,
				[2]int{firstPort + runs%ports, firstPort + (runs+1)%ports})
			if err != nil {
				return fmt.Errorf("%s: %w", x.Comparison, err)
			}
			runs += 2
			fmt.Fprintf(progress, "%-22s #%d ours %.0f/s %.2f us CPU, theirs %.0f/s %.2f us CPU\n", x.Comparison, round,
				got[0].PerSecond, got[0].CPUUs, got[1].PerSecond, got[1].CPUUs)
			echoes, err := o.echoes(ctx, links[0], x)
			if err != nil {
				return fmt.Errorf("%s: %w", x.Comparison, err)
			}
			if round > 0 {
				x.PingRuns = append(x.PingRuns, echoes...)
				x.OursRuns, x.TheirsRuns = append(x.OursRuns, got[0]), append(x.TheirsRuns, got[1])
			}
		}
	}
	return nil
}

// pairOfSmall makes a run of each side, first of the one named.
func (o *options) pairOfSmall(ctx context.Context, links []*veth.Pair, x *smallOutcome, first int,
	ports [2]int) (got [2]Sample, err error) {
	if o.turns > 0 {
		return o.smallInTurns(ctx, [2]*veth.Pair(links), x, first, ports)
	}
	for _, side := range []int{first, 1 - first} {
		way := []smallWay{x.pair.Ours, x.pair.Theirs}[side]
		if got[side], err = o.oneSmall(ctx, links[0], way, ports[side]); err != nil {
			return got, err
		}
	}
	return got, nil
}

// echoes makes a run of ping beside round trips; none beside others, or without ping.
func (o *options) echoes(ctx context.Context, pair *veth.Pair, x *smallOutcome) ([]Echoes, error) {
	if !x.pair.trips || o.tools.Ping == "" {
		return nil, nil
	}
	e, err := o.ping(ctx, pair)
	return []Echoes{e}, err
}

func (o *options) oneSmall(ctx context.Context, pair *veth.Pair, way smallWay, port int) (s Sample, err error) {
	t := trial{pair, way.Contender, port, o.nice, o.tools.Duration}
	linkBefore, err := readLink(pair.SUT)
	if err != nil {
		return s, err
	}
	before := readMachine()
	rx, tx, err := t.run(ctx)
	after := readMachine()
	linkAfter, lerr := readLink(pair.SUT)
	if err == nil {
		err = errors.Join(before.err, after.err, lerr)
	}
	if err != nil {
		return s, t.failure(ctx, err, rx, tx)
	}
	n, rate, p50, err := way.read(rx.stdout.Bytes(), tx.stdout.Bytes())
	if err != nil {
		return s, t.failure(ctx, err, rx, tx)
	}
	if err := eachAPacket(n, linkAfter.RxPackets-linkBefore.RxPackets); err != nil {
		return s, t.failure(ctx, err, rx, tx)
	}
	l := loadOf(before, after, rx.cpu()+tx.cpu())
	return Sample{PerSecond: rate, P50Us: p50, CPUUs: float64(l.total) / float64(time.Microsecond) / n,
		Foreign: l.foreign}, nil
}

// judge makes the figures.
func (x *smallOutcome) judge() {
	of := func(target stat.Target, f func(Sample) *float64) figure {
		var a, b []float64
		for i := range x.OursRuns {
			if u, v := f(x.OursRuns[i]), f(x.TheirsRuns[i]); u != nil && v != nil {
				a, b = append(a, *u), append(b, *v)
			}
		}
		out := figure{Target: target}
		if len(a) > 0 {
			out.Ours, out.Theirs, out.Ratio = stat.Median(a), stat.Median(b), stat.Pairs(a, b)
		}
		out.Verdict = target.Judge(out.Ratio)
		return out
	}
	x.Rate = of(x.pair.Rate, func(s Sample) *float64 { return &s.PerSecond })
	x.P50 = of(x.pair.P50, func(s Sample) *float64 { return s.P50Us })
	x.CPU = of(x.pair.CPU, func(s Sample) *float64 { return &s.CPUUs })
	if len(x.PingRuns) > 0 {
		x.Ping = new(medianEchoes(x.PingRuns))
	}
}

func printSmall(out io.Writer, all []*smallOutcome, asJSON bool, before string) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	fmt.Fprintf(out, "kernel %s, load average before %s, after %s\n\n", kernel(), before, loadavg())
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "COMPARISON\tFIGURE\tOURS\tTHEIRS\tRATIO\tTARGET\tVERDICT")
	for _, x := range all {
		fmt.Fprintf(w, "%s\t%d pairs\t%s\t%s\t\t\t\n", x.Comparison, len(x.OursRuns), x.Ours, x.Theirs)
		for _, f := range []struct {
			name string
			of   figure
		}{{"per second", x.Rate}, {"p50 us", x.P50}, {"CPU us each", x.CPU}} {
			if f.of.Ours > 0 {
				fmt.Fprintf(w, "\t%s\t%.2f\t%.2f\t%s\t%s\t%s\n", f.name, f.of.Ours, f.of.Theirs, f.of.Ratio,
					f.of.Target, f.of.Verdict)
			}
		}
		if e := x.Ping; e != nil {
			fmt.Fprintf(w, "\tping us\tmin %.1f\tavg %.1f\tp50 %.1f\t\t\n", e.MinUs, e.AvgUs, e.P50Us)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(x *smallOutcome) bool { return x.Ping != nil }) {
		pingNote(out)
	}
	return nil
}
