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
	chosen, named, near := o.SUTFlows, o.named[0], o.near[0]
	if role == stream.TX {
		chosen, named, near = o.TGFlows, o.named[1], o.near[1]
	}
	if len(chosen) == 0 {
		chosen = []place.CPUs{place.NoCPUs}
	}
	switch {
	case flows == 1:
		return chosen[:1]
	case len(named) == 0 && !o.fixed(role):
		return spread(near, o.near[1], role, flows, l, sameMachine)
	case len(named) == 0:
		named = []int{chosen[0].App}
	}
	all := make([]place.CPUs, flows)
	for i := range all {
		if all[i] = (place.CPUs{App: named[i%len(named)], Softirq: chosen[0].Softirq}); l == place.OneCPU {
			all[i].Softirq = all[i].App
		}
	}
	return all
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
	if role == stream.TX {
		return o.layoutNamed[1]
	}
	return o.layoutNamed[0]
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
	take := func() int {
		if len(left) == 0 {
			return lackingCPU
		}
		n := left[len(left)-1]
		left = left[:len(left)-1]
		return n
	}
	for i := range all {
		all[i].App = take()
		if all[i].Softirq = all[i].App; l == place.TwoCPU {
			all[i].Softirq = take()
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
	return &Missing{fmt.Sprintf("%d flows need %s CPU each of their own, and %s has too few of them near its interface, beside the other end's; %s", flows, each, h.Spec.Name, usable(h.Info)),
		"ask for fewer flows; or say which CPUs they share: --sut-cpu and --tg-cpu, such as 1 or 0,1, in files sut.cpu and tg.cpu; -1 does not pin them"}
}
