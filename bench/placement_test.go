// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
)

func TestChooseCPUs(t *testing.T) {
	cpus := func(app, softirq int) place.CPUs { return place.CPUs{App: app, Softirq: softirq} }
	for _, x := range []struct {
		name         string
		sut, tg      []int
		same         bool
		wantS, wantT place.CPUs
	}{
		{"one machine", []int{0, 1, 2, 3}, []int{0, 1, 2, 3}, true, cpus(3, 2), cpus(0, 0)},
		{"one machine, holes", []int{2, 5, 9}, []int{2, 5, 9}, true, cpus(9, 5), cpus(2, 2)},
		{"two CPUs", []int{0, 1}, []int{0, 1}, true, cpus(1, 0), cpus(0, 0)},
		{"one CPU", []int{0}, []int{0}, true, cpus(0, -1), cpus(0, 0)},
		{"two machines", []int{0, 1}, []int{8, 9, 10, 11}, false, cpus(1, 0), cpus(11, 10)},
	} {
		if s, g := chooseCPUs(x.sut, x.tg, x.same); s != x.wantS || g != x.wantT {
			t.Errorf("%s: %v and %v, want %v and %v", x.name, s, g, x.wantS, x.wantT)
		}
	}
}

func TestPlaceEnd(t *testing.T) {
	on := func(boot, netns string) *host.Host {
		return &host.Host{Info: wire.HelloResult{NetNS: netns, Env: measure.Env{BootID: boot}}}
	}
	for _, x := range []struct {
		name      string
		tg, tgNet string
		sutSoft   int
		layout    place.Layout
		own       place.Layout // the TG's
		rx, tx    int          // -1: as found
		rxMeasure []int
		crowded   bool
	}{
		{"as found", "a", "m", 2, place.AsFound, "", -1, -1, []int{3}, false},
		{"one CPU", "a", "m", 2, place.OneCPU, "", 3, 0, []int{3}, false},
		{"two CPUs", "a", "m", 2, place.TwoCPU, "", 2, 0, []int{3, 2}, false},
		{"crowded", "a", "m", 0, place.TwoCPU, "", 0, 0, []int{3}, true},
		{"loopback", "a", "n", 2, place.TwoCPU, "", 2, -1, []int{3, 2}, false},
		{"two machines", "b", "n", 2, place.TwoCPU, "", 2, 1, nil, false},
		{"two machines, one CPU", "b", "n", 2, place.OneCPU, "", 3, 0, nil, false},
		{"the TG's own", "b", "n", 2, place.OneCPU, place.TwoCPU, 3, 1, nil, false},
		{"the TG's alone", "b", "n", 2, place.AsFound, place.OneCPU, -1, 0, nil, false},
		{"the TG's own on one machine", "a", "m", 2, place.OneCPU, place.TwoCPU, 3, 1, []int{3}, false},
	} {
		r := &Runner{SUT: on("a", "n"), TG: on(x.tg, x.tgNet),
			Opt: Options{SUTFlows: []place.CPUs{{App: 3, Softirq: x.sutSoft}},
				TGFlows: []place.CPUs{{App: 0, Softirq: 1}}}}
		get := func(p *int) int {
			if p == nil {
				return -1
			}
			return *p
		}
		cell := plan.Cell{CPULayout: string(x.layout), TGCPULayout: string(x.own)}
		rx, tx := wire.EndSpec{Role: stream.RX, Cell: cell, Flows: wire.OneFlow(3)},
			wire.EndSpec{Role: stream.TX, Cell: cell, Flows: wire.OneFlow(0)}
		r.placeEnd(&rx)
		r.placeEnd(&tx)
		if get(rx.Flows[0].SoftirqCPU) != x.rx || get(tx.Flows[0].SoftirqCPU) != x.tx ||
			!slices.Equal(rx.MeasureCPUs, x.rxMeasure) || r.sharedSoftirq(stream.RX, cell) != nil != x.crowded {
			t.Errorf("%s: RX %d, TX %d, measured %v, shared softirq %v", x.name, get(rx.Flows[0].SoftirqCPU),
				get(tx.Flows[0].SoftirqCPU), rx.MeasureCPUs, r.sharedSoftirq(stream.RX, cell))
		}
	}
}

// The CPUs of a layout are one flow's: several are not put there in silence.
func TestLayoutOfSeveralFlows(t *testing.T) {
	r := &Runner{SUT: &host.Host{}, TG: &host.Host{}, Opt: Options{SUTFlows: []place.CPUs{{App: 3, Softirq: 2}},
		layoutNamed: [2]bool{true, false}}}
	r.SUT.Info.Env.BootID, r.TG.Info.Env.BootID = "a", "b"
	m := r.crammed(plan.Cell{CPULayout: "2cpu", Flows: 2})
	if m == nil || !strings.Contains(m.Reason, "are those of one thread, but  has 2, of 2 flows") ||
		!strings.Contains(m.Fix, "--sut-cpu") {
		t.Errorf("%+v", m)
	}
}

// A layout of the TG's own needs CPUs of the TG alone, and an interface of its own.
func TestCrammedTG(t *testing.T) {
	at := func(boot, netns string) *host.Host {
		return &host.Host{Info: wire.HelloResult{NetNS: netns, Env: measure.Env{BootID: boot}}}
	}
	for name, x := range map[string]struct {
		tg, tgNet string
		flow      place.CPUs
		cell      plan.Cell
		want      string
	}{
		"fits": {"b", "n", place.CPUs{App: 0, Softirq: 1},
			plan.Cell{CPULayout: "1cpu", TGCPULayout: "2cpu"}, ""},
		"one machine": {"a", "m", place.CPUs{App: 0, Softirq: 0}, plan.Cell{CPULayout: "2cpu"}, ""},
		"one machine, 2": {"a", "m", place.CPUs{App: 0, Softirq: 0}, plan.Cell{TGCPULayout: "2cpu"},
			"the layout 2cpu needs two CPUs"},
		"too few": {"b", "n", place.CPUs{App: 0, Softirq: -1},
			plan.Cell{CPULayout: "1cpu", TGCPULayout: "2cpu"}, "the layout 2cpu needs two CPUs"},
		"not pinned": {"b", "n", place.NoCPUs, plan.Cell{TGCPULayout: "1cpu"},
			"the layout 1cpu needs pinned threads"},
		"loopback": {"a", "n", place.CPUs{App: 0, Softirq: 1}, plan.Cell{TGCPULayout: "1cpu"},
			"both ends share one interface"},
		"the SUT's alone": {"b", "n", place.CPUs{App: 0, Softirq: -1},
			plan.Cell{CPULayout: "2cpu", TGCPULayout: "1cpu"}, ""},
	} {
		r := &Runner{SUT: at("a", "n"), TG: at(x.tg, x.tgNet),
			Opt: Options{SUTFlows: []place.CPUs{{App: 3, Softirq: 2}}, TGFlows: []place.CPUs{x.flow}}}
		m := r.crammed(x.cell)
		if (m == nil) != (x.want == "") || m != nil && (!strings.Contains(m.Reason, x.want) || m.Fix == "") {
			t.Errorf("%s: %+v, want %q", name, m, x.want)
		}
	}
}
