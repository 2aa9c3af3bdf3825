// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// PlaceCPUs chooses the CPUs of both ends, on the NUMA nodes of their
// interfaces: see [chooseCPUs].
func (o *Options) PlaceCPUs(ctx context.Context, sut, tg *host.Host) error {
	var near [2][]int
	for i, x := range []struct {
		h   *host.Host
		dev string
	}{{sut, o.SUTDev}, {tg, o.TGDev}} {
		near[i] = x.h.Info.OnlineCPUs
		if own := online(x.h.Info.OwnCPUs, x.h.Info.OnlineCPUs); len(own) > 0 {
			near[i] = own
		}
		var all []wire.Interface
		if err := x.h.Call(ctx, wire.OpAddrs, nil, &all); err != nil {
			return fmt.Errorf("ask %s for its interfaces: %w", x.h.Spec.Name, err)
		}
		for _, f := range all {
			if cpus := online(f.NearCPUs, x.h.Info.OnlineCPUs); f.Name == cmp.Or(x.dev, "lo") && len(cpus) > 0 {
				near[i] = cpus
			}
		}
		o.near[i] = near[i]
		if node := o.nodes[i]; node != nil && *node >= 0 {
			may := x.h.Info.OnlineCPUs
			if own := online(x.h.Info.OwnCPUs, may); len(own) > 0 {
				may = own
			}
			near[i] = onNode(x.h.Topology(), *node, may)
		}
	}
	o.may = near
	s, t := chooseCPUs(near[0], near[1], sut.SameMachine(tg))
	o.SUTFlows, o.TGFlows = []place.CPUs{s}, []place.CPUs{t}
	return nil
}

// online leaves out the CPUs that a host does not have.
func online(cpus, have []int) []int {
	return slices.DeleteFunc(slices.Clone(cpus), func(c int) bool { return !slices.Contains(have, c) })
}

// chooseCPUs chooses out of the CPUs near to each end's interface. On one
// machine the TG gets the first one, so that the ends are as far apart as they
// are numbered, for its softirq too.
func chooseCPUs(sutNear, tgNear []int, sameMachine bool) (sut, tg place.CPUs) {
	if !sameMachine || len(tgNear) == 0 {
		return place.Choose(sutNear, 1)[0], place.Choose(tgNear, 1)[0]
	}
	return place.Choose(sutNear, 1, tgNear[0])[0], place.CPUs{App: tgNear[0], Softirq: tgNear[0]}
}

// cpus are the CPUs of each flow of an end, and its layout in a cell: the TG of a shared machine
// keeps to one CPU a flow, out of the SUT's way, unless it was given a layout of its own. Where
// both ends have one interface, loopback, it is the SUT that says where its softirq goes.
func (r *Runner) cpus(role stream.Role, cell results.Cell) ([]place.CPUs, place.Layout) {
	l := place.Layout(cell.CPULayout)
	if role == stream.TX {
		l = place.Layout(cell.TGLayout())
		switch {
		case r.loopback():
			l = place.AsFound
		case r.SUT.SameMachine(r.TG) && l != place.AsFound && cell.TGCPULayout == "":
			l = place.OneCPU
		}
	}
	threads := r.Opt.flowCPUs(role, threadsOf(role, cell), l, r.SUT.SameMachine(r.TG))
	all := make([]place.CPUs, cell.NFlows())
	for n := range all {
		all[n] = threads[n%len(threads)]
		if q := cell.Queues; q > 0 && role == stream.RX && l == place.TwoCPU {
			all[n].Softirq = all[n%q].Softirq // a queue's softirq has one CPU
		}
	}
	return all, l
}

// threadsOf is how many threads move the flows of an end: one each, but where the receive mode
// takes queues over one for all flows of a queue.
func threadsOf(role stream.Role, cell results.Cell) int {
	m, err := stream.LookupMode(role, cell.Mode(role))
	if err == nil && role == stream.RX && m.NICQueue && m.NeedsDev && cell.Queues > 0 {
		return min(cell.Queues, cell.NFlows())
	}
	return cell.NFlows()
}

// loopback tells that both ends have one interface.
func (r *Runner) loopback() bool {
	return r.SUT.SameMachine(r.TG) && r.SUT.Info.NetNS == r.TG.Info.NetNS
}

// placeEnd says where the flows of an end, and their softirq, go, and which CPUs are the end's.
func (r *Runner) placeEnd(s *wire.EndSpec) {
	cpus, own := r.cpus(s.Role, s.Cell)
	theirs := r.borrowed(s.Role, s.Cell)
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
	if !r.SUT.SameMachine(r.TG) || slices.Contains(measured, -1) {
		return
	}
	s.MeasureCPUs = inOrder(measured) // the rest of the machine is not this end's alone
}

// generating are the CPUs that make an end's frames beside those of its thread.
func generating(role stream.Role, c results.Cell) []int {
	if role != stream.TX {
		return nil
	}
	list, _ := cpulist.Parse(c.GenCPUs) // it was read when it was set
	return list
}

// generators says why a cell's generator cannot have its CPUs: the host has no such ones, or on
// one machine the receiver has them.
func (r *Runner) generators(c results.Cell) *Missing {
	list := generating(stream.TX, c)
	sut, layout := r.cpus(stream.RX, c)
	for _, n := range list {
		if !slices.Contains(r.TG.Info.OnlineCPUs, n) {
			return &Missing{fmt.Sprintf("frames are to be generated on CPU %d, and %s has no such CPU; %s", n, r.TG.Spec.Name, usable(r.TG.Info)), "name other ones (generator_cpus)"}
		}
		if r.SUT.SameMachine(r.TG) && slices.ContainsFunc(sut, func(s place.CPUs) bool { return s.App == n || s.SoftirqOf(layout) == n }) {
			return &Missing{fmt.Sprintf("frames are to be generated on CPU %d, and the receiver on this machine has it", n), "name other ones (generator_cpus), or other ones of the receiver (--sut-cpu)"}
		}
	}
	return nil
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

// usable says which CPUs a host has, and which of them may be used.
func usable(h wire.HelloResult) string {
	s := "online are " + counter.FormatCPUList(h.OnlineCPUs)
	if own := online(h.OnlineCPUs, h.OwnCPUs); len(own) < len(h.OnlineCPUs) && len(own) > 0 {
		s += ", and this process may use " + counter.FormatCPUList(own) + " of them (taskset, cpuset)"
	}
	return s
}

// crammed says why a cell's layout cannot be had: an end has too few CPUs. The TG of a shared
// machine keeps its softirq with its thread.
func (r *Runner) crammed(c results.Cell) *Missing {
	if c.TGCPULayout != "" && r.loopback() {
		return &Missing{"both ends share one interface, loopback: its softirq runs where the SUT's layout puts it, and tg_cpu_layout has nothing to place", "leave tg_cpu_layout out"}
	}
	if m := r.generators(c); m != nil {
		return m
	}
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		h, l := r.SUT, c.CPULayout
		if role == stream.TX {
			h, l = r.TG, c.TGLayout()
		}
		if r.Opt.fixed(role) && c.NFlows() > 1 && len(r.Opt.named[index(role)]) == 0 {
			return &Missing{fmt.Sprintf("the layout %s names the CPUs of one flow, but there are %d", l, c.NFlows()),
				"name those of the threads, such as --sut-cpu 2,3 (--tg-cpu; in files sut.cpu and tg.cpu: [2, 3]), or leave out the layout's: then each flow gets its own"}
		}
		cpus, own := r.cpus(role, c)
		if m := tooFewCPUs(h, c.NFlows(), cpus, l); m != nil {
			return m
		}
		if l == "" {
			continue
		}
		for _, f := range cpus {
			n := f.SoftirqOf(own)
			switch {
			case f.App < 0:
				return &Missing{fmt.Sprintf("the layout %s needs pinned threads, but that of %s is not", l, h.Spec.Name), "drop the CPU -1, or name the CPUs of the layout"}
			case own == place.TwoCPU && n == f.App, own != place.AsFound && n < 0:
				return &Missing{fmt.Sprintf("the layout %s needs two CPUs, but %s has no second one near its interface; %s", l, h.Spec.Name, usable(h.Info)),
					"name two: --cpus or --tg-cpus APP,SOFTIRQ, in files sut.layouts or tg.layouts"}
			}
		}
	}
	return nil
}
