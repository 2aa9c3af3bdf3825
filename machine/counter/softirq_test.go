// SPDX-License-Identifier: MIT

package counter

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSoftirqsBetween(t *testing.T) {
	before, err := ReadSoftirqs(fixture(t, "before"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := ReadSoftirqs(fixture(t, "after"))
	if err != nil {
		t.Fatal(err)
	}
	none := []uint64{0, 0, 0, 0}
	want := Softirqs{{"net_rx", []uint64{100, 10, 0, 0}}, {"net_tx", []uint64{5, 0, 0, 0}}, {"hi", none},
		{"timer", []uint64{1000, 0, 0, 0}}, {"block", none}, {"irq_poll", none}, {"tasklet", none}, {"sched", none},
		{"hrtimer", none}, {"rcu", none}}
	got := SoftirqsBetween(before, after)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r := rows{}
	r.softirqs(got, []int{2})
	has := map[string]float64{}
	for _, m := range r.out {
		has[m.Name] = m.Value
	}
	if diff := cmp.Diff(map[string]float64{"softirq_cpu0_net_rx": 100, "softirq_cpu0_net_tx": 5,
		"softirq_cpu0_timer": 1000, "softirq_cpu1_net_rx": 10, "softirq_cpu1_net_tx": 0,
		"softirq_cpu2_net_rx": 0, "softirq_cpu2_net_tx": 0}, has); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if !slices.Contains(r.idle, "softirq_cpu3_net_rx") || slices.Contains(r.idle, "softirq_cpu3_timer") ||
		!slices.Contains(r.idle, "softirq_cpu2_timer") {
		t.Errorf("idle: %q", r.idle)
	}
	if _, err := ReadSoftirqs(FS{proc: "testdata", sys: "testdata"}); err == nil {
		t.Error("a host without softirqs did not fail")
	}
}
