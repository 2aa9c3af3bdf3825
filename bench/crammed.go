// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan/matrix"
)

// crammed explains why a cell's layout cannot be had: its flows ask for what does not go together,
// or an end has too few CPUs. The TG of a shared machine keeps its softirq with its thread.
func (r *Runner) crammed(c plan.Cell) *Missing {
	if c.TGCPULayout != "" && r.loopback() {
		return &Missing{Reason: "both ends share one interface, loopback: its softirq runs where the SUT's " +
			"layout puts it, and tg_cpu_layout has nothing to place", Fix: "leave tg_cpu_layout out"}
	}
	if m := r.generators(c); m != nil {
		return m
	}
	if m := r.Opt.tooFewQueues(c); m != nil {
		return m
	}
	if err := matrix.SharedQueues(&c, r.Opt.named[index(stream.RX)]); err != nil {
		return &Missing{Reason: fault.Reason(err), Fix: fault.Fix(err)}
	}
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		if m := cmp.Or(r.oneThreads(role, c), r.tooFewCPUs(role, c), r.unplaced(role, c)); m != nil {
			return m
		}
	}
	return nil
}

// hostOf returns an end's host and the layout that the cell asks of it.
func (r *Runner) hostOf(role stream.Role, c plan.Cell) (*host.Host, string) {
	if role == stream.TX {
		return r.TG, c.TGLayout()
	}
	return r.SUT, c.CPULayout
}

// oneThreads refuses a layout whose CPUs were named, one for a thread and one for a softirq, for
// more threads than one, or softirqs, unless the threads' were named, too.
func (r *Runner) oneThreads(role stream.Role, c plan.Cell) *Missing {
	n := r.need(role, c)
	if !r.Opt.layoutNamed[index(role)] || n.threads == 1 || len(r.Opt.named[index(role)]) > 0 {
		return nil
	}
	h, l := r.hostOf(role, c)
	f := flagsOf[index(role)]
	return &Missing{Reason: fmt.Sprintf(
		"the CPUs that were named for the layout %s are those of one thread, but %s has %d, of %d flows", l,
		h.Spec.Name, n.threads, n.flows),
		Fix: fmt.Sprintf("leave them out (%s; in files %s.layouts): then each thread gets its own; or name those "+
			"of the threads instead (%s %s %s 2,3; in files %s.cpu: [2, 3])", f.cpus, f.end, f.layout, l, f.cpu, f.end)}
}

// flagsOf are what the user says of the CPUs of the SUT and the TG.
var flagsOf = [2]struct{ name, end, cpu, cpus, layout, node string }{
	{"SUT", "sut", "--sut-cpu", "--cpus", "--layout", "--node"},
	{"TG", "tg", "--tg-cpu", "--tg-cpus", "--tg-layout", "--tg-node"},
}

// unplaced explains why a layout with a CPU for each flow would not be what it is called.
func (r *Runner) unplaced(role stream.Role, c plan.Cell) *Missing {
	h, l := r.hostOf(role, c)
	if l == "" {
		return nil
	}
	cpus, own := r.cpus(role, c)
	for _, f := range cpus {
		n := f.SoftirqOf(own)
		switch {
		case f.App < 0:
			return &Missing{Reason: fmt.Sprintf("the layout %s needs pinned threads, but that of %s is not", l,
				h.Spec.Name), Fix: "drop the CPU -1, or name the CPUs of the layout"}
		case own == place.TwoCPU && n == f.App, own != place.AsFound && n < 0:
			fixes := []string{"name two: --cpus or --tg-cpus APP,SOFTIRQ, in files sut.layouts or tg.layouts"}
			if i := index(role); len(r.Opt.far[i]) > len(r.Opt.beyond(i)) {
				fixes = append(fixes, anyNode(i))
			}
			return &Missing{Reason: fmt.Sprintf(
				"the layout %s needs two CPUs, but %s has no second one near its interface; %s", l, h.Spec.Name,
				usable(h.Info)), Fix: strings.Join(fixes, "; or ")}
		}
	}
	return nil
}

// tooFewCPUs refuses a cell where a host has too few CPUs to give each thread and softirq of
// several flows its own; nil: it has enough.
func (r *Runner) tooFewCPUs(role stream.Role, c plan.Cell) *Missing {
	if !r.lacks(role, c) {
		return nil
	}
	h, _ := r.hostOf(role, c)
	n, near := r.need(role, c), r.Opt.may[index(role)]
	near = slices.Sorted(slices.Values(slices.Concat(near, r.Opt.other[index(role)], r.Opt.beyond(index(role)))))
	besides := ""
	if r.SUT.SameMachine(r.TG) {
		other := stream.TX
		if role == stream.TX {
			other = stream.RX
		}
		o := r.need(other, c)
		theirs := o.threads + o.softirqs()
		besides = fmt.Sprintf(", and the other end %d more of the same machine, %d in all", theirs,
			theirs+n.threads+n.softirqs())
	}
	where := "near its interface"
	if node := r.Opt.nodes[index(role)]; node != nil && *node >= 0 {
		where = fmt.Sprintf("on NUMA node %d", *node)
	} else if node != nil {
		where = "for them"
	}
	return &Missing{Reason: fmt.Sprintf("%v%s, but %s has %d %s (%s); %s", n, besides, h.Spec.Name, len(near), where,
		counter.FormatCPUList(near), usable(h.Info)), Fix: r.roomier(role, c)}
}

// String formats the need for people.
func (n need) String() string {
	s := fmt.Sprintf("%d flows need %d CPUs for threads", n.flows, n.threads)
	if n.threads == 1 {
		s = fmt.Sprintf("%d flows need 1 CPU for their thread", n.flows)
	}
	const perQueue = " (one for each RX queue)"
	switch {
	case n.threads > n.queues && n.queues > 0 && n.threads < n.flows:
		s += " (one for each ring of an RX queue)"
	case n.threads > 1 && n.threads < n.flows:
		s += perQueue
	}
	switch k := n.softirqs(); {
	case k > 1:
		s += fmt.Sprintf(" and %d for softirqs", k)
	case k == 1:
		s += " and 1 for their softirq"
	}
	if n.softirqs() > 1 && n.softirqs() < n.flows {
		s += perQueue
	}
	return s
}

// lacks reports whether an end has too few CPUs for a cell.
func (r *Runner) lacks(role stream.Role, c plan.Cell) bool {
	cpus, _ := r.cpus(role, c)
	return slices.ContainsFunc(cpus, func(c place.CPUs) bool { return c.App == lackingCPU || c.Softirq == lackingCPU })
}

// fits reports whether both ends have the CPUs of a cell, as its layout wants them.
func (r *Runner) fits(c plan.Cell) bool {
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		if r.lacks(role, c) || r.oneThreads(role, c) != nil || r.unplaced(role, c) != nil {
			return false
		}
	}
	return matrix.SharedQueues(&c, r.Opt.named[index(stream.RX)]) == nil
}

// roomier suggests with what changes the cell would have enough CPUs.
func (r *Runner) roomier(role stream.Role, c plan.Cell) string {
	var fixes []string
	if most := mostThatFit(c.NFlows()-1, func(n int) bool {
		d := c
		d.Flows, d.Queues = n, min(d.Queues, n)
		return r.fits(d)
	}); most > 0 {
		fixes = append(fixes, "ask for fewer flows: "+atMost(most, "fits", "fit"))
	}
	if r.need(stream.RX, c).queues > 1 {
		if most := mostThatFit(c.NQueues()-1, func(n int) bool {
			d := c
			d.Queues = n
			return r.fits(d)
		}); most > 0 {
			fixes = append(fixes, fmt.Sprintf("let the flows share RX queues: --queues %d", most))
		}
	}
	for i := range flagsOf {
		wider := *r
		wider.Opt.nodes[i] = new(matrix.AnyNode)
		if len(r.Opt.far[i]) > len(r.Opt.beyond(i)) && !wider.lacks(role, c) {
			fixes = append(fixes, anyNode(i))
		}
	}
	name := "name the CPUs that they share: --sut-cpu and --tg-cpu, such as 1 or 0,1, in files sut.cpu and tg.cpu"
	if _, l := r.hostOf(role, c); l == "" {
		name += "; -1 does not pin them"
	}
	return strings.Join(append(fixes, name), "; or ")
}

// anyNode explains how to allow an end CPUs of all NUMA nodes.
func anyNode(end int) string {
	return fmt.Sprintf("allow CPUs of other NUMA nodes: %s any (in files %s.node: any)", flagsOf[end].node,
		flagsOf[end].end)
}

func atMost(n int, one, several string) string {
	if n == 1 {
		return "only 1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// mostThatFit finds the largest number up to most that fits, 0 if none does. All numbers below one
// that fits must fit.
func mostThatFit(most int, fits func(int) bool) int {
	return sort.Search(max(most, 0), func(i int) bool { return !fits(i + 1) })
}
