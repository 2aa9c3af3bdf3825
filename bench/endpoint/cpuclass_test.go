// SPDX-License-Identifier: MIT

package endpoint

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// Of the cores that the flow's CPUs are threads of, the other threads are looked at.
func TestSiblings(t *testing.T) {
	topology := place.Topology{Cores: [][]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}}}
	for _, x := range []struct{ cpus, want []int }{{[]int{1}, []int{5}}, {[]int{7, 2}, []int{3, 6}}, {[]int{0, 4}, nil},
		{[]int{9}, nil}, {nil, nil}} {
		if got := siblingsOf(topology, x.cpus); !slices.Equal(got, x.want) {
			t.Errorf("of %v: %v, want %v", x.cpus, got, x.want)
		}
	}
	busy := .42
	u := counter.CPUUsage{PerCPU: []counter.OneCPUUsage{{CPU: 5, CPUFigures: counter.CPUFigures{BusyCores: &busy,
		UncertaintyCores: .01}}, {CPU: 6}}}
	h := results.Host{Metrics: busySiblings(u)}
	rows := h.Rows()
	if len(rows) != 2 || rows[0].Name != "sibling_cpu5_busy_cores" || rows[0].Value != .42 || rows[1].Value != .01 {
		t.Errorf("%+v", rows)
	}
	for _, m := range rows {
		if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
	}
}
