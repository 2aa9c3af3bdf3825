// SPDX-License-Identifier: MIT

package counter

import (
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
	want := []SoftirqDelta{{CPU: 0, NetRX: 100, NetTX: 5}, {CPU: 1, NetRX: 10}, {CPU: 2}, {CPU: 3}}
	got := SoftirqsBetween(before, after)
	for i, kinds := range [][]softirqRuns{{{"hi", 0}, {"timer", 1000}, {"block", 0}, {"irq_poll", 0}, {"tasklet", 0},
		{"sched", 0}, {"hrtimer", 0}, {"rcu", 0}}} {
		if diff := cmp.Diff(kinds, got[i].Others); diff != "" {
			t.Errorf("CPU %d (-want +got):\n%s", i, diff)
		}
	}
	for i := range got {
		got[i].Others = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := ReadSoftirqs(FS{proc: "testdata", sys: "testdata"}); err == nil {
		t.Error("a host without softirqs did not fail")
	}
}
