// SPDX-License-Identifier: MIT

package stream

import (
	"bytes"
	"testing"
)

// An answer that repeats its request is right however it comes in pieces, and each byte that is
// wrong counts once, with its place.
func TestRepeatedAnswers(t *testing.T) {
	for _, x := range []struct{ request, response int }{{1, 1}, {1, 7}, {3, 8}, {3, 1000}, {64, 100}, {7, 3},
		{1, 5000}} {
		for _, piece := range []int{1, 2, 5, 64, 10_000} {
			tr, _, p, m := tripping(t, x.request, TripOptions{ResponseBytes: x.response, InFlight: 2})
			tr.Due()
			tr.Begin(2, m)
			all := answersTo(p, x.request, x.response, 0, 2)
			for rest := all; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
				tr.Take(rest[:min(piece, len(rest))], p, m)
			}
			if c := m.Snapshot(); c.Transactions != 2 || c.Mismatches != 0 {
				t.Errorf("%+v in pieces of %d: %+v", x, piece, c)
			}
			for at := range min(len(all), 300) {
				tr, m := newTrips(x.request, TripOptions{ResponseBytes: x.response, InFlight: 2}, tr.clock), &Meter{}
				tr.Due()
				tr.Begin(2, m)
				bad := bytes.Clone(all)
				bad[at] ^= 1
				for rest := bad; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
					tr.Take(rest[:min(piece, len(rest))], p, m)
				}
				if c := m.Snapshot(); c.Mismatches != 1 || c.FirstMismatch != uint64(at)+1 {
					t.Fatalf("%+v in pieces of %d, byte %d wrong: %+v", x, piece, at, c)
				}
			}
		}
	}
}

// An answer is the request's bytes, over and over.
func TestAnswerRepeats(t *testing.T) {
	for _, x := range []struct{ request, response int }{{1, 7}, {3, 8}, {3, 1000}, {7, 7}} {
		a := &Answers{request: x.request, response: x.response, head: make([]byte, min(x.request, x.response)),
			ready: make([]byte, 0, max(answersRoom, x.response))}
		want := make([]byte, x.response)
		for n := range 3 {
			for i := range a.head {
				a.head[i] = byte(n + i)
			}
			for i := range want {
				want[i] = byte(n + i%x.request)
			}
			if a.answer(new(Meter)); !bytes.Equal(a.ready[n*x.response:], want) {
				t.Errorf("%+v: answer %d is %d", x, n, a.ready[n*x.response:])
			}
		}
	}
}
