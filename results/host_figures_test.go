// SPDX-License-Identifier: MIT

package results

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
)

// What did not move is 0, what nobody read is not there, and CPUs are added up.
func TestHostFigures(t *testing.T) {
	h := Host{Metrics: []measure.Metric{
		{Name: "flow_calls", Value: 7}, {Name: "softirq_cpu0_net_rx", Value: 3},
		{Name: "softirq_cpu12_net_rx", Value: 4}, {Name: "softirq_cpu1_net_rx_late", Value: 100},
		{Name: "cpuidle_cpuN_STATE_cores", Of: []string{"3", "c6"}, Value: .25},
		{Name: "cpuidle_STATE_cores", Of: []string{"c6"}, Value: .5},
	}, Idle: []string{"flow_waits", "softnet_cpu[0-3,7]_time_squeeze", "page_pool_rx1_alloc_slow"}}
	f := h.Figures()
	for name, want := range map[string]float64{"flow_calls": 7, "flow_waits": 0, "cpuidle_cpu3_c6_cores": .25,
		"cpuidle_c6_cores": .5, "softnet_cpu7_time_squeeze": 0, "page_pool_rx1_alloc_slow": 0} {
		if m := f.Get(name); m == nil || m.Value != want {
			t.Errorf("%s: %+v, want %v", name, m, want)
		}
	}
	for _, name := range []string{"flow", "softnet_cpu4_time_squeeze", "softnet_cpu_time_squeeze",
		"page_pool_rx2_alloc_slow", "", "softnet_cpu[0-3,7]_dropped"} {
		if m := f.Get(name); m != nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if v := f.Sum("softirq_cpu", "_net_rx"); v == nil || *v != 7 {
		t.Errorf("sum of the CPUs: %v", v)
	}
	for _, idle := range [][2]string{{"softnet_cpu", "_time_squeeze"}, {"page_pool_rx", "_alloc_slow"}} {
		if v := f.Sum(idle[0], idle[1]); v == nil || *v != 0 {
			t.Errorf("%q, which did not move: %v", idle, v)
		}
	}
	if v := f.Sum("softnet_cpu", "_dropped"); v != nil {
		t.Errorf("nobody read them: %v", *v)
	}
	if w := f.Words("cpuidle_", "_cores"); !slices.Contains(w, "c6") {
		t.Errorf("%q", w)
	}
	if f := (&Host{}).Figures(); f.Get("flow_calls") != nil || f.Sum("softirq_cpu", "_net_rx") != nil {
		t.Error("a host without metrics has some")
	}
}
