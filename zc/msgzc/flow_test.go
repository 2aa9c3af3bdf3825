// SPDX-License-Identifier: MIT

package msgzc

import (
	"math"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
)

// called is a flow that has made n calls, of 100, 101, 102... bytes, from
// number first on.
func called(first uint32, n int) *Flow {
	s := &Flow{next: first}
	for i := range n {
		s.size[s.next%slots] = uint32(100 + i)
		s.next++
		s.pending++
	}
	return s
}

func TestAccountBooksEachCallOnce(t *testing.T) {
	for _, first := range []uint32{0, 12345, slots - 2, math.MaxUint32 - 1} { // where table and counter wrap
		s, m := called(first, 5), new(stream.Meter)
		for _, n := range []sock.Notification{{Lo: first, Hi: first}, {Lo: first + 1, Hi: first + 3, Copied: true},
			{Lo: first + 4, Hi: first + 4}} {
			if err := s.account(n, m); err != nil {
				t.Fatal(err)
			}
		}
		want := stream.Counters{ZeroCopyBytes: 100 + 104, CopiedBytes: 101 + 102 + 103, Completions: 5,
			CopiedCompletions: 3}
		if got := m.Snapshot(); got != want || s.pending != 0 {
			t.Errorf("from call %d: %+v, %d pending", first, got, s.pending)
		}
	}
}

func TestAccountRefusesWhatWasNotCalled(t *testing.T) {
	for _, n := range []sock.Notification{{Lo: 0, Hi: 5}, {Lo: 3, Hi: 1}, {Lo: 1, Hi: 0}, {Lo: 0, Hi: math.MaxUint32}} {
		s, m := called(0, 5), new(stream.Meter)
		if err := s.account(n, m); err == nil || m.Snapshot() != (stream.Counters{}) {
			t.Errorf("%+v: %v, %+v", n, err, m.Snapshot())
		}
	}
}
