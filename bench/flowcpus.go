// SPDX-License-Identifier: MIT

package bench

import (
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
)

// need is what the flows of an end need CPUs for.
type need struct {
	flows, threads int
	queues         int // RX queues that the flows are known to come by; 0: as found
	layout         place.Layout
}

// need works out what CPUs an end needs in a cell.
func (r *Runner) need(role stream.Role, cell plan.Cell) need {
	return needOf(role, cell, r.layout(role, cell))
}

func needOf(role stream.Role, cell plan.Cell, l place.Layout) need {
	n := need{flows: cell.NFlows(), threads: cell.NThreads(role), layout: l}
	if role == stream.RX {
		n.queues = cell.NQueues()
	}
	return n
}

// softirqs counts the CPUs that softirqs need for themselves: one for each queue that is known,
// otherwise one for each thread's flow.
func (n need) softirqs() int {
	switch {
	case n.layout != place.TwoCPU:
		return 0
	case n.queues > 0:
		return min(n.queues, n.flows)
	}
	return n.threads
}

// allot gives the flows of both ends, SUT and TG, their CPUs under the ends' layouts. One flow has
// those that were chosen for it. Several have those that the user named, in turn, which is also
// how flows are asked to share them; else each thread has its own out of those near the interface,
// and under the layout of two each softirq. On one machine the TG's are the first ones and the
// SUT's the last. A flow for which there is none has [lackingCPU].
func (o *Options) allot(needs [2]need, sameMachine bool) (all [2][]place.CPUs) {
	if needs[0].flows <= 1 {
		return [2][]place.CPUs{{first(o.SUTFlows)}, {first(o.TGFlows)}}
	}
	free := [2]pool{o.pool(0, sameMachine), o.pool(1, sameMachine)}
	if sameMachine {
		free[0].taken = free[1].taken
	}
	for i := range needs {
		for _, c := range o.asked(i, needs[i]) {
			free[i].taken[c] = true
		}
	}
	for _, i := range []int{1, 0} { // the TG first, so that there are first ones
		all[i] = o.seat(i, needs[i], free[i])
	}
	return all
}

// asked lists the CPUs that the user named for an end.
func (o *Options) asked(end int, n need) []int {
	out := slices.Clone(o.namedFor(end, n))
	if o.layoutNamed[end] {
		c := o.chosen(end)
		out = append(out, c.App, c.Softirq)
	}
	return out
}

// namedFor cuts the named CPUs to the threads that there are: a plan may have cells of more.
func (o *Options) namedFor(end int, n need) []int {
	return o.named[end][:min(len(o.named[end]), n.threads)]
}

// chosen returns the CPUs of an end's only flow.
func (o *Options) chosen(end int) place.CPUs {
	if end == index(stream.TX) {
		return first(o.TGFlows)
	}
	return first(o.SUTFlows)
}

// pool is CPUs that threads and softirqs get one after another.
type pool struct {
	cpus  []int        // in the order in which they are taken
	taken map[int]bool // of the machine
}

// pool gathers an end's CPUs, in the order in which they are taken.
func (o *Options) pool(end int, sameMachine bool) pool {
	cpus := o.candidates(end, sameMachine)
	if end == 0 || !sameMachine {
		cpus = o.lastFirst(end)
		slices.Reverse(cpus)
	}
	return pool{cpus, map[int]bool{}}
}

// take takes the next one that nobody has.
func (p pool) take() int {
	for _, c := range p.cpus {
		if !p.taken[c] {
			p.taken[c] = true
			return c
		}
	}
	return lackingCPU
}

// seat gives the flows of an end their CPUs.
func (o *Options) seat(end int, n need, free pool) []place.CPUs {
	if named := o.named[end]; len(named) > 0 {
		return o.seatNamed(end, n, free)
	}
	if o.layoutNamed[end] && n.threads == 1 && n.softirqs() <= 1 {
		return slices.Repeat([]place.CPUs{o.chosen(end)}, n.flows)
	}
	var apps, soft []int
	for i := range n.threads {
		apps = append(apps, free.take())
		if i < n.softirqs() {
			soft = append(soft, free.take())
		}
	}
	all := make([]place.CPUs, n.flows)
	for i := range all {
		c := place.CPUs{App: apps[i%len(apps)]}
		if c.Softirq = c.App; len(soft) > 0 {
			c.Softirq = soft[i%len(soft)]
		}
		all[i] = c
	}
	return all
}

// seatNamed gives them the CPUs that were named for the threads. Their softirqs get CPUs that
// nobody has, where there are any; they may be those of the other end, of which records tell.
func (o *Options) seatNamed(end int, n need, free pool) []place.CPUs {
	named := o.namedFor(end, n)
	different := inOrder(named)
	want := len(different)
	if n.queues > 0 {
		want = min(want, n.queues)
	}
	var soft []int
	if n.layout == place.TwoCPU && !o.layoutNamed[end] && named[0] >= 0 {
		soft = free.softirqs(min(want, n.softirqs()), named)
	}
	all := make([]place.CPUs, n.flows)
	for i := range all {
		app := named[i%n.threads%len(named)]
		all[i] = place.CPUs{App: app, Softirq: app}
		switch {
		case n.layout != place.TwoCPU:
		case len(soft) == 0:
			all[i].Softirq = o.chosen(end).Softirq // of a layout that was named
		case n.queues > 0:
			all[i].Softirq = soft[i%n.queues%len(soft)]
		default:
			all[i].Softirq = soft[slices.Index(different, app)%len(soft)]
		}
	}
	return all
}

// softirqs takes CPUs for so many of them, if need be those of the other end, but none of own.
func (p pool) softirqs(n int, own []int) (out []int) {
	others := slices.DeleteFunc(slices.Clone(p.cpus), func(c int) bool { return slices.Contains(own, c) })
	for len(out) < n {
		c := p.take()
		if left := slices.DeleteFunc(slices.Clone(others),
			func(c int) bool { return slices.Contains(out, c) }); c == lackingCPU && len(left) > 0 {
			c = left[0]
		}
		out = append(out, c)
	}
	return out
}

// index converts a role to its place in lists of both ends.
func index(role stream.Role) int {
	if role == stream.TX {
		return 1
	}
	return 0
}

// nameCPUs takes the CPUs that the user named for the threads of each end, if any.
func (o *Options) nameCPUs(sut, tg []int) {
	o.named = [2][]int{sut, tg}
	if len(sut) > 0 {
		o.SUTFlows[0].App = sut[0]
	}
	if len(tg) > 0 {
		o.TGFlows[0].App = tg[0]
	}
}

// lackingCPU is of a thread or softirq for which there is no CPU.
const lackingCPU = -2
