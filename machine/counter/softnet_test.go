// SPDX-License-Identifier: MIT

package counter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
)

func TestSoftnetBetween(t *testing.T) {
	before, err := ReadSoftnet(fixture(t, "before"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := ReadSoftnet(fixture(t, "after"))
	if err != nil {
		t.Fatal(err)
	}
	// CPU 1 wraps; CPU 3 went offline and CPU 2 came.
	want := map[uint32][]uint32{0: {16, 0, 0, 0, 0, 0}, 1: {1000, 2, 5, 7, 1, 9}}
	got := map[uint32][]uint32{}
	for _, g := range SoftnetBetween(before, after) {
		for _, c := range softnetColumns {
			got[g.Index] = append(got[g.Index], c.Of(&g))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := netRXCPUs(SoftnetBetween(before, after)); got != "1" {
		t.Errorf("NetRXCPUs = %q, want CPU 1", got)
	}
}

func TestNetRXCPUs(t *testing.T) {
	for _, tt := range []struct {
		packets []uint32
		want    string
	}{
		{nil, ""}, {[]uint32{0, 0}, ""}, {[]uint32{900, 100}, "0"}, {[]uint32{899, 101}, "0-1"},
		{[]uint32{50, 0, 50, 5}, "0,2"}, {[]uint32{1}, "0"},
	} {
		var b, a []procfs.SoftnetStat
		for c, n := range tt.packets {
			b = append(b, procfs.SoftnetStat{Index: uint32(c), Processed: 7})
			a = append(a, procfs.SoftnetStat{Index: uint32(c), Processed: 7 + n})
		}
		if got := netRXCPUs(SoftnetBetween(b, a)); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.packets, got, tt.want)
		}
	}
}
