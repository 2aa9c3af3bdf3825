// SPDX-License-Identifier: MIT

package results

import "testing"

// Every row that a profile makes is a metric that docs/metrics.md has.
func TestProfiledRows(t *testing.T) {
	part := func(name string) ProfiledPart {
		return ProfiledPart{Name: name, Where: "softirq", SelfPerKB: ptr(1.0), SelfPerPacket: ptr(2.0), TotalPerKB: ptr(3.0), TotalPerPacket: ptr(4.0)}
	}
	p := &Profiled{Event: "cpu-clock", Samples: ptr(5.0), Lost: ptr(0.0), SampledBusyCores: ptr(.5), Busy: part(""), Classes: []ProfiledPart{part("page-pool"), part("copy")},
		Functions: []ProfiledPart{part("tcp_v4_rcv"), part("runtime.(*M).Go·1"), part("Tcp_v4_rcv")}}
	h := Host{Probes: &Probes{Profile: p}}
	seen := map[string]float64{}
	for _, m := range h.Rows() {
		if err := CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
		if _, ok := seen[m.Name]; ok {
			t.Errorf("%s stands twice", m.Name)
		}
		seen[m.Name] = m.Value
	}
	for name, want := range map[string]float64{"profile_class_page_pool_ns_per_kb": 1, "profile_function_softirq_tcp_v4_rcv_total_ns_per_packet": 4,
		"profile_function_softirq_runtime___m__go__1_self_ns_per_kb": 1, "profile_busy_ns_per_packet": 2, "profile_lost_samples": 0} {
		if got, ok := seen[name]; !ok || got != want {
			t.Errorf("%s: %v (%v), want %v", name, got, ok, want)
		}
	}
	if len(seen) != 3+2+2*2+2*4 {
		t.Errorf("%d rows", len(seen))
	}
}
