// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/cpuclass"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
)

// PlaceCPUs chooses the CPUs of both ends, on the NUMA nodes of their
// interfaces: see [chooseCPUs].
func (o *Options) PlaceCPUs(ctx context.Context, sut, tg *host.Host) error {
	for i, x := range []struct {
		h    *host.Host
		role stream.Role
	}{{sut, stream.RX}, {tg, stream.TX}} {
		var all []wire.Interface
		if err := x.h.Call(ctx, wire.OpAddrs, nil, &all); err != nil {
			return fmt.Errorf("ask %s for its interfaces: %w", x.h.Spec.Name, err)
		}
		o.lookAround(i, x.h, o.devs(x.role), all)
	}
	same := sut.SameMachine(tg)
	s, t := chooseCPUs(o.lastFirst(0), o.candidates(1, same), same)
	o.SUTFlows, o.TGFlows = []place.CPUs{s}, []place.CPUs{t}
	return nil
}

// lookAround learns which CPUs an end has: near its interface, or each of them in turn, or on the
// NUMA node that was asked for, and elsewhere.
func (o *Options) lookAround(end int, h *host.Host, devs []string, all []wire.Interface) {
	may := h.Info.OnlineCPUs
	if own := online(h.Info.OwnCPUs, may); len(own) > 0 {
		may = own
	}
	near := may
	var each [][]int
	for i, dev := range devs {
		at := slices.IndexFunc(all, func(f wire.Interface) bool { return f.Name == cmp.Or(dev, "lo") })
		if at < 0 {
			continue
		}
		f := all[at]
		if cpus := online(f.NearCPUs, h.Info.OnlineCPUs); len(cpus) > 0 {
			each = append(each, cpus)
		}
		found := port{f.Name, f.Driver, f.Rules, f.Index, f.Peer}
		if i == 0 {
			o.rxQueues[end], o.found[end] = f.RXQueues, found
		}
		for n := range o.lanes {
			if l := &o.lanes[n]; l.devs[end] == dev {
				l.found[end] = found
			}
		}
	}
	if len(each) > 0 {
		near = inTurnOf(each)
	}
	o.near[end] = near
	if node := o.nodes[end]; node != nil && *node >= 0 {
		near = onNode(h.Topology(), *node, may)
	}
	o.may[end], o.other[end] = cpuclass.Prefer(h.Topology().Classes, near)
	o.far[end] = elsewhere(h.Topology(), near, may)
}

// inTurnOf takes of each list one after the other, and nothing twice.
func inTurnOf(lists [][]int) (out []int) {
	for n, more := 0, true; more; n++ {
		more = false
		for _, l := range lists {
			if n < len(l) {
				out, more = append(out, l[n]), true
			}
		}
	}
	return inOrder(out)
}

// candidates lists the CPUs of which the TG takes the first ones on one machine, otherwise the
// last.
func (o *Options) candidates(end int, sameMachine bool) []int {
	if sameMachine {
		return slices.Concat(o.may[end], o.other[end], o.beyond(end))
	}
	return o.lastFirst(end)
}

// lastFirst lists the CPUs that an end takes from the last on.
func (o *Options) lastFirst(end int) []int {
	return slices.Concat(o.beyond(end), o.other[end], o.may[end])
}

// beyond returns the CPUs on other NUMA nodes, if the end may use such.
func (o *Options) beyond(end int) []int {
	if node := o.nodes[end]; node == nil || *node != matrix.AnyNode {
		return nil
	}
	return o.far[end]
}

// online leaves out the CPUs that a host does not have.
func online(cpus, have []int) []int {
	return slices.DeleteFunc(slices.Clone(cpus), func(c int) bool { return !slices.Contains(have, c) })
}

// chooseCPUs chooses out of the CPUs of each end, the SUT's the last ones. On one
// machine the TG gets the first one, so that the ends are as far apart as they
// are numbered, for its softirq too.
func chooseCPUs(sut, tg []int, sameMachine bool) (s, t place.CPUs) {
	if !sameMachine || len(tg) == 0 || len(sut) == 0 {
		return place.Choose(sut, 1)[0], place.Choose(tg, 1)[0]
	}
	app := sut[len(sut)-1]
	other := max(0, slices.IndexFunc(tg, func(n int) bool { return n != app }))
	return place.Choose(sut, 1, tg[other])[0], place.CPUs{App: tg[other], Softirq: tg[other]}
}

// cpus allots the CPUs of each flow of an end, and returns them with its layout in a cell.
func (r *Runner) cpus(role stream.Role, cell plan.Cell) ([]place.CPUs, place.Layout) {
	all := r.Opt.allot([2]need{r.need(stream.RX, cell), r.need(stream.TX, cell)}, r.SUT.SameMachine(r.TG))
	return all[index(role)], r.layout(role, cell)
}

// layout returns the layout of an end in a cell, see [layoutOf].
func (r *Runner) layout(role stream.Role, cell plan.Cell) place.Layout {
	return layoutOf(role, cell, r.SUT.SameMachine(r.TG), r.loopback())
}

// layoutOf chooses the layout of an end in a cell: the TG of a shared machine keeps to one CPU a
// flow, out of the SUT's way, unless it was given a layout of its own. Where both ends have one
// interface, loopback, the SUT decides where its softirq goes.
func layoutOf(role stream.Role, cell plan.Cell, oneMachine, loopback bool) place.Layout {
	if role == stream.RX {
		return place.Layout(cell.CPULayout)
	}
	l := place.Layout(cell.TGLayout())
	switch {
	case loopback:
		return place.AsFound
	case oneMachine && l != place.AsFound && cell.TGCPULayout == "":
		return place.OneCPU
	}
	return l
}

// loopback reports whether both ends have one interface.
func (r *Runner) loopback() bool {
	return r.SUT.SameMachine(r.TG) && r.SUT.Info.NetNS == r.TG.Info.NetNS
}

// placeEnd sets where the flows of an end, and their softirq, go, and which CPUs count as the
// end's.
func (r *Runner) placeEnd(s *wire.EndSpec) {
	cpus, own := r.cpus(s.Role, s.Cell)
	theirs := r.sharedSoftirq(s.Role, s.Cell)
	s.Flows = nil
	var measured []int
	for _, c := range cpus {
		f := wire.FlowSpec{CPU: c.App}
		if n := c.SoftirqOf(own); n >= 0 {
			f.SoftirqCPU = &n
		}
		s.Flows = append(s.Flows, f)
		measured = append(measured, f.CPU)
		if n := f.SoftirqCPU; n != nil && !slices.Contains(theirs, *n) {
			measured = append(measured, *n)
		}
	}
	measured = append(measured, generating(s.Role, s.Cell)...)
	at := index(s.Role)
	s.Pair = r.pairOf(s.Role, r.Opt.found[at], r.Opt.found[1-at])
	for n, l := range r.Opt.lanes {
		s.More[n].Pair = r.pairOf(s.Role, l.found[at], l.found[1-at])
	}
	if !r.SUT.SameMachine(r.TG) || slices.Contains(measured, -1) {
		return
	}
	s.MeasureCPUs = inOrder(measured) // the rest of the machine is not this end's alone
}

// pairOf returns the other end's interface, where that end is on the same machine: its polls are
// the flow's too, and nobody else's.
func (r *Runner) pairOf(role stream.Role, own, other port) *wire.Pair {
	there := r.TG
	if role == stream.TX {
		there = r.SUT
	}
	if !r.SUT.SameMachine(r.TG) || other.index == 0 {
		return nil
	}
	_, inode, _ := strings.Cut(there.Info.NetNS, ":")
	n, err := strconv.ParseUint(inode, 10, 32)
	if err != nil {
		return nil
	}
	return &wire.Pair{Linked: own.peer != 0 && own.peer == other.index && other.peer == own.index,
		Index: other.index, Netns: int(n)}
}

// generating lists the CPUs that make an end's frames beside those of its thread.
func generating(role stream.Role, c plan.Cell) []int {
	if role != stream.TX {
		return nil
	}
	list, _ := cpulist.Parse(c.GenCPUs) // it was read when it was set
	return list
}

// generators explains why a cell's generator cannot have its CPUs: the host has no such ones, or on
// one machine the receiver has them.
func (r *Runner) generators(c plan.Cell) *Missing {
	list := generating(stream.TX, c)
	sut, layout := r.cpus(stream.RX, c)
	for _, n := range list {
		if !slices.Contains(r.TG.Info.OnlineCPUs, n) {
			return &Missing{Reason: fmt.Sprintf("frames are to be generated on CPU %d, and %s has no such CPU; %s", n,
				r.TG.Spec.Name, usable(r.TG.Info)), Fix: "name other ones (generator_cpus)"}
		}
		if pin := r.TG.Info.PinCPUs; len(pin) > 0 && !byKernel(c) && !slices.Contains(pin, n) {
			return &Missing{Reason: fmt.Sprintf(
				"frames are to be generated on CPU %d, and no thread can be bound to it on %s: "+
					"the cpuset of its cgroup allows CPUs %s", n, r.TG.Spec.Name, counter.FormatCPUList(pin)),
				Fix: "name one of these (generator_cpus), or run outside of it", Blocked: true}
		}
		if r.SUT.SameMachine(r.TG) && slices.ContainsFunc(sut, func(s place.CPUs) bool {
			return s.App == n ||
				s.SoftirqOf(layout) == n
		}) {
			return &Missing{Reason: fmt.Sprintf(
				"frames are to be generated on CPU %d, and the receiver on this machine has it", n),
				Fix: "name other ones (generator_cpus), or other ones of the receiver (--sut-cpu)"}
		}
	}
	return nil
}

// byKernel reports whether threads of the kernel make a cell's frames: a cpuset does not bind them.
func byKernel(c plan.Cell) bool {
	m, err := modes.Find(stream.TX, c.TX)
	return err == nil && slices.Contains(m.Needs, stream.NeedPktgen)
}

// inOrder leaves out what comes a second time.
func inOrder(cpus []int) (out []int) {
	for _, n := range cpus {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// usable describes which CPUs a host has, and which of them may be used.
func usable(h wire.HelloResult) string {
	s := "online are " + counter.FormatCPUList(h.OnlineCPUs)
	if own := online(h.OnlineCPUs, h.OwnCPUs); len(own) < len(h.OnlineCPUs) && len(own) > 0 {
		s += ", and this process may use " + counter.FormatCPUList(own) + " of them (taskset, cpuset)"
	}
	return s
}
