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
	if diff := cmp.Diff(want, SoftirqsBetween(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := ReadSoftirqs(FS{proc: "testdata", sys: "testdata"}); err == nil {
		t.Error("a host without softirqs did not fail")
	}
}
