// SPDX-License-Identifier: MIT

package stream

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAdd(t *testing.T) {
	a := Counters{Bytes: 1, Calls: 2, Waits: 3, ZeroCopyBytes: 4, CopiedBytes: 5, LinearBytes: 6, Mismatches: 7,
		Completions: 8, CopiedCompletions: 9, Rearms: 10, Overflows: 11}
	b := a
	b.FirstMismatch = 77
	want := Counters{Bytes: 2, Calls: 4, Waits: 6, ZeroCopyBytes: 8, CopiedBytes: 10, LinearBytes: 12, Mismatches: 14,
		FirstMismatch: 77, Completions: 16, CopiedCompletions: 18, Rearms: 20, Overflows: 22}
	if d := cmp.Diff(want, a.Add(b)) + cmp.Diff(want, b.Add(a)); d != "" {
		t.Error(d)
	}
}

// A hello names its flow; one that there cannot be is refused.
func TestHelloNamesItsFlow(t *testing.T) {
	h := Hello{MessageBytes: 1, PeriodBytes: 8, TXMode: "tcp", Flow: MaxFlows - 1, Flows: MaxFlows}
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseHello(b); err != nil || got != h {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []Hello{{Flow: MaxFlows, Flows: MaxFlows}, {Flow: 1}, {Flow: 2, Flows: 2}, {Flow: -1},
		{Flows: MaxFlows + 1}} {
		if b, err := bad.AppendBinary(nil); err == nil {
			t.Errorf("flow %d of %d was written as %x", bad.Flow, bad.Flows, b)
		}
	}
}
