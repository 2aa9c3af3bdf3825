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
	"github.com/zcbench/zcbench/results"
)

// On one machine each CPU that a layout uses is in the figures of one end, and of one alone: else
// their sum, and the return on it, would have it twice or not at all.
func TestEachCPUIsOneEnds(t *testing.T) {
	for _, x := range []struct {
		name          string
		sut, tg       []place.CPUs
		layout, tgOwn place.Layout
		rx, tx        []int // measured
		warns         []string
	}{
		{"apart", []place.CPUs{{App: 3, Softirq: 2}}, []place.CPUs{{App: 0, Softirq: 1}}, place.TwoCPU, place.TwoCPU,
			[]int{3, 2}, []int{0, 1}, nil},
		{"softirq on the TG's thread", []place.CPUs{{App: 3, Softirq: 0}}, []place.CPUs{{App: 0, Softirq: 0}},
			place.TwoCPU, "", []int{3}, []int{0},
			[]string{"the SUT's softirq shares CPU 0 with the TG, and is counted in the TG's CPU figures: 2cpu"}},
		{"one CPU for both softirqs", []place.CPUs{{App: 3, Softirq: 2}}, []place.CPUs{{App: 0, Softirq: 2}},
			place.TwoCPU, place.TwoCPU, []int{3}, []int{0, 2},
			[]string{"the SUT's softirq shares CPU 2 with the TG"}},
		{"the TG's softirq on the SUT's thread", []place.CPUs{{App: 3, Softirq: 3}}, []place.CPUs{{App: 0, Softirq: 3}},
			place.OneCPU, place.TwoCPU, []int{3}, []int{0},
			[]string{"the TG's softirq shares CPU 3 with the SUT, and is counted in the SUT's CPU figures: 2cpu"}},
		{"crosswise", []place.CPUs{{App: 3, Softirq: 0}}, []place.CPUs{{App: 0, Softirq: 3}}, place.TwoCPU,
			place.TwoCPU, []int{3}, []int{0},
			[]string{"the SUT's softirq shares CPU 0", "the TG's softirq shares CPU 3"}},
	} {
		on := func(netns string) *host.Host {
			return &host.Host{Info: wire.HelloResult{NetNS: netns, Env: measure.Env{BootID: "a"}}}
		}
		r := &Runner{SUT: on("n"), TG: on("m"), Opt: Options{SUTFlows: x.sut, TGFlows: x.tg}}
		cell := plan.Cell{CPULayout: string(x.layout), TGCPULayout: string(x.tgOwn)}
		rx, tx := wire.EndSpec{Role: stream.RX, Cell: cell}, wire.EndSpec{Role: stream.TX, Cell: cell}
		r.placeEnd(&rx)
		r.placeEnd(&tx)
		if !slices.Equal(rx.MeasureCPUs, x.rx) || !slices.Equal(tx.MeasureCPUs, x.tx) {
			t.Errorf("%s: measured are %v of the SUT and %v of the TG, want %v and %v", x.name, rx.MeasureCPUs,
				tx.MeasureCPUs, x.rx, x.tx)
		}
		rec := results.Record{Cell: cell}
		r.markPlacement(&rec)
		if len(rec.Warnings) != len(x.warns) || slices.Contains(rec.Flags, results.FlagCrowded) != (x.warns != nil) ||
			len(rec.Flags) > 1 {
			t.Errorf("%s: flags %q, warnings %q", x.name, rec.Flags, rec.Warnings)
			continue
		}
		for i, w := range x.warns {
			if !strings.HasPrefix(rec.Warnings[i], w) {
				t.Errorf("%s: %q, want %q", x.name, rec.Warnings[i], w)
			}
		}
	}
}

// Of several flows only the CPU that is shared is the other end's: the softirqs of the others are
// still this end's.
func TestBorrowedOfSeveralFlows(t *testing.T) {
	at := func(netns string) *host.Host {
		return &host.Host{Info: wire.HelloResult{NetNS: netns, Env: measure.Env{BootID: "a"}}}
	}
	r := &Runner{SUT: at("n"), TG: at("m"), Opt: Options{SUTFlows: []place.CPUs{{App: 6, Softirq: 6}},
		TGFlows: []place.CPUs{{App: 1, Softirq: 1}},
		named:   [2][]int{{6, 7}, {1, 2}}, may: [2][]int{{0, 1, 6, 7}, {0, 1, 2}}}}
	cell := plan.Cell{CPULayout: string(place.TwoCPU), Flows: 2}
	rx := wire.EndSpec{Role: stream.RX, Cell: cell}
	r.placeEnd(&rx)
	if got := r.sharedSoftirq(stream.RX, cell); !slices.Equal(got, []int{1}) ||
		!slices.Equal(slices.Sorted(slices.Values(rx.MeasureCPUs)), []int{0, 6, 7}) {
		t.Errorf("softirq goes to %v; shared is %v, measured %v", rx.Flows, got, rx.MeasureCPUs)
	}
}
