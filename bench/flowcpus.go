// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/place"
)

// flowCPUs are the CPUs of each of an end's flows under a layout. One flow has those that were
// chosen for it. Several have those that the user named, in turn, which is also how flows are
// asked to share them; else each has its own out of those near the interface, two of them under
// the layout of two. On one machine the TG's are the first ones and the SUT's the last. A flow
// for which there is none has [noCPU].
func (o *Options) flowCPUs(role stream.Role, flows int, l place.Layout, sameMachine bool) []place.CPUs {
	chosen := o.SUTFlows
	if role == stream.TX {
		chosen = o.TGFlows
	}
	if len(chosen) == 0 {
		chosen = []place.CPUs{place.NoCPUs}
	}
	named, may := o.named[index(role)], o.may[index(role)]
	switch {
	case flows == 1:
		return chosen[:1]
	case len(named) == 0:
		return spread(may, o.may[index(stream.TX)], role, flows, l, sameMachine)
	}
	free := slices.DeleteFunc(slices.Clone(may), func(n int) bool { return slices.Contains(named, n) })
	all := make([]place.CPUs, flows)
	for i := range all {
		all[i] = place.CPUs{App: named[i%len(named)], Softirq: chosen[0].Softirq} // of a layout that was named
		switch {
		case l != place.TwoCPU:
			all[i].Softirq = all[i].App
		case o.fixed(role) || all[i].App < 0:
		case i < len(named):
			all[i].Softirq, free = last(free)
		default:
			all[i].Softirq = all[i%len(named)].Softirq
		}
	}
	return all
}

// last takes the last CPU of some.
func last(cpus []int) (cpu int, left []int) {
	if len(cpus) == 0 {
		return lackingCPU, nil
	}
	return cpus[len(cpus)-1], cpus[:len(cpus)-1]
}

// index is where lists of both ends have a role.
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

// fixed tells that the CPUs of the cell's layout were named.
func (o *Options) fixed(role stream.Role) bool {
	return o.layoutNamed[index(role)]
}

// noCPU is of a flow for which there is no CPU.
var noCPU = place.CPUs{App: lackingCPU, Softirq: lackingCPU}

const lackingCPU = -2

// spread gives each flow CPUs of its own.
func spread(near, tgNear []int, role stream.Role, flows int, l place.Layout, sameMachine bool) []place.CPUs {
	all := make([]place.CPUs, flows)
	if role == stream.TX && sameMachine {
		for i := range all {
			if all[i] = noCPU; i < len(near) {
				all[i] = place.CPUs{App: near[i], Softirq: near[i]}
			}
		}
		return all
	}
	left := slices.Clone(near)
	if sameMachine {
		tg := tgNear[:min(flows, len(tgNear))]
		left = slices.DeleteFunc(left, func(n int) bool { return slices.Contains(tg, n) })
	}
	for i := range all {
		all[i].App, left = last(left)
		if all[i].Softirq = all[i].App; l == place.TwoCPU {
			all[i].Softirq, left = last(left)
		}
	}
	return all
}

// tooFewCPUs says that a host has too few CPUs for its flows to have each their own; nil: it has
// enough.
func tooFewCPUs(h *host.Host, flows int, cpus []place.CPUs, layout string) *Missing {
	if !slices.ContainsFunc(cpus, func(c place.CPUs) bool { return c.App == lackingCPU || c.Softirq == lackingCPU }) {
		return nil
	}
	each := "one"
	if layout == string(place.TwoCPU) {
		each = "two"
	}
	return &Missing{fmt.Sprintf("%d flows need %s CPU each, and %s has too few near its interface besides the other end's; %s", flows, each, h.Spec.Name, usable(h.Info)),
		"ask for fewer flows; or name the CPUs that they share: --sut-cpu and --tg-cpu, such as 1 or 0,1, in files sut.cpu and tg.cpu; -1 does not pin them"}
}
