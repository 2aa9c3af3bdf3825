// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
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
		return &host.Host{Info: wire.HelloResult{NetNS: netns, Env: results.Env{BootID: boot}}}
	}
	for _, x := range []struct {
		name      string
		tg, tgNet string
		sutSoft   int
		layout    place.Layout
		rx, tx    int // -1: as found
		rxMeasure []int
		crowded   bool
	}{
		{"as found", "a", "m", 2, place.AsFound, -1, -1, []int{3}, false},
		{"one CPU", "a", "m", 2, place.OneCPU, 3, 0, []int{3}, false},
		{"two CPUs", "a", "m", 2, place.TwoCPU, 2, 0, []int{3, 2}, false},
		{"crowded", "a", "m", 0, place.TwoCPU, 0, 0, []int{3}, true},
		{"loopback", "a", "n", 2, place.TwoCPU, 2, -1, []int{3, 2}, false},
		{"two machines", "b", "n", 2, place.TwoCPU, 2, 1, nil, false},
		{"two machines, one CPU", "b", "n", 2, place.OneCPU, 3, 0, nil, false},
	} {
		r := &Runner{SUT: on("a", "n"), TG: on(x.tg, x.tgNet), Opt: Options{SUTFlows: []place.CPUs{{App: 3, Softirq: x.sutSoft}}, TGFlows: []place.CPUs{{App: 0, Softirq: 1}}}}
		get := func(p *int) int {
			if p == nil {
				return -1
			}
			return *p
		}
		rx, tx := wire.EndSpec{Role: stream.RX, Flows: wire.OneFlow(3)}, wire.EndSpec{Role: stream.TX, Flows: wire.OneFlow(0)}
		r.placeEnd(&rx, x.layout)
		r.placeEnd(&tx, x.layout)
		if get(rx.Flows[0].SoftirqCPU) != x.rx || get(tx.Flows[0].SoftirqCPU) != x.tx || !slices.Equal(rx.MeasureCPUs, x.rxMeasure) || r.crowded(x.layout) != x.crowded {
			t.Errorf("%s: RX %d, TX %d, measured %v, crowded %v", x.name, get(rx.Flows[0].SoftirqCPU), get(tx.Flows[0].SoftirqCPU), rx.MeasureCPUs, r.crowded(x.layout))
		}
	}
}
