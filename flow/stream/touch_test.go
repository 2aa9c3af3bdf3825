// SPDX-License-Identifier: MIT

package stream

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

const testPeriod = 31 * 4096

// treat runs the flow b, from position pos, through a toucher in pieces.
func treat(touch Touch, pos uint64, b []byte, piece func() int) Counters {
	c, m := NewToucher(touch, testPeriod), Meter{}
	c.Skip(int(pos))
	for len(b) > 0 {
		n := min(piece(), len(b))
		c.Next(b[:n], &m)
		b = b[n:]
	}
	return m.Snapshot()
}

func pieces(n int) func() int { return func() int { return n } }

func TestVerifyAcceptsThePatternInAnyPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 7, 64, 4096, 4097, testPeriod - 1, testPeriod, testPeriod + 1, 3*testPeriod + 5,
		1 << 30} {
		for _, pos := range []uint64{0, 1, 4095, testPeriod - 1, 12345678901} {
			if c := treat(TouchVerify, pos, patternAt(pos, 4*testPeriod+99, testPeriod),
				pieces(n)); c.Mismatches != 0 || c.FirstMismatch != 0 {
				t.Errorf("pieces of %d from %d: %d mismatches, first %d", n, pos, c.Mismatches, c.FirstMismatch)
			}
		}
	}
	b := patternAt(0, 4*testPeriod, testPeriod)
	if c := treat(TouchVerify, 0, b, func() int { return rng.IntN(2*testPeriod) + 1 }); c.Mismatches != 0 {
		t.Errorf("random pieces: %d mismatches", c.Mismatches)
	}
}

func TestVerifyFindsOneWrongByteAnywhere(t *testing.T) {
	const flow = 3 * testPeriod
	at := []int{0, 1, 7, 8, 63, 64, 4095, 4096, testPeriod - 1, testPeriod, testPeriod + 1, 2*testPeriod - 1,
		2 * testPeriod, flow - 1}
	for _, n := range []int{61, 4096, testPeriod, testPeriod + 4097, flow} {
		for _, i := range at {
			b := patternAt(0, flow, testPeriod)
			b[i] ^= 1 << (i % 8)
			if c := treat(TouchVerify, 0, b, pieces(n)); c.Mismatches != 1 || c.FirstMismatch != uint64(i)+1 {
				t.Errorf("byte %d, pieces of %d: %d mismatches, first %d", i, n, c.Mismatches, c.FirstMismatch)
			}
		}
	}
}

func TestVerifyCountsAllAndNamesTheFirst(t *testing.T) {
	b := patternAt(0, 2*testPeriod, testPeriod)
	wrong := []int{77, 78, 5000, testPeriod + 1, 2*testPeriod - 1}
	for _, i := range wrong {
		b[i]++
	}
	for _, n := range []int{10, 4096, 2 * testPeriod} {
		if c := treat(TouchVerify, 0, b, pieces(n)); c.Mismatches != uint64(len(wrong)) || c.FirstMismatch != 78 {
			t.Errorf("pieces of %d: %d mismatches, first %d", n, c.Mismatches, c.FirstMismatch)
		}
	}
}

func TestVerifyFindsADisplacedPage(t *testing.T) {
	for pages := 1; pages <= 1024; pages *= 2 {
		b := patternAt(0, testPeriod, testPeriod)
		copy(b[4096:8192], patternAt(4096+uint64(pages)*4096, 4096, testPeriod))
		c := treat(TouchVerify, 0, b, pieces(10_000))
		// About one byte of 256 is right by chance.
		if c.Mismatches < 4000 || c.Mismatches > 4096 || c.FirstMismatch < 4097 || c.FirstMismatch > 4100 {
			t.Errorf("displaced by %d pages: %d mismatches, first %d", pages, c.Mismatches, c.FirstMismatch)
		}
	}
}

func TestVerifyFindsALostByte(t *testing.T) {
	b := patternAt(0, testPeriod, testPeriod)
	b = append(b[:1000:1000], b[1001:]...)
	if c := treat(TouchVerify, 0, b, pieces(4096)); c.Mismatches < testPeriod/2 || c.FirstMismatch < 1001 ||
		c.FirstMismatch > 1010 {
		t.Errorf("%d mismatches, first %d", c.Mismatches, c.FirstMismatch)
	}
}

func TestReadTouchesEveryCacheLine(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 4096 + 13} {
		for line := 0; line < n; line += 64 {
			b := make([]byte, n)
			b[line] = 1 // the first byte of each line is read in any case
			c := NewToucher(TouchRead, testPeriod)
			if c.Next(b, &Meter{}); c.sum != 1 {
				t.Errorf("%d bytes: line at %d was not read", n, line)
			}
		}
	}
}

func TestNoTouchLooksAtNothing(t *testing.T) {
	if c := treat(TouchNone, 0, make([]byte, 100), pieces(9)); c != (Counters{}) {
		t.Errorf("%+v", c)
	}
}

func TestToucherDoesNotAllocate(t *testing.T) {
	b := patternAt(0, testPeriod, testPeriod)
	b[99]++ // counting is on the path as well
	for _, touch := range []Touch{TouchNone, TouchRead, TouchVerify} {
		c, m := NewToucher(touch, testPeriod), Meter{}
		if n := testing.AllocsPerRun(20, func() { c.Next(b, &m) }); n != 0 {
			t.Errorf("%s: %v allocations a call", touch, n)
		}
	}
}

func BenchmarkTouch(b *testing.B) {
	buf := patternAt(0, testPeriod, testPeriod)
	for _, touch := range []Touch{TouchRead, TouchVerify} {
		b.Run(fmt.Sprint(touch), func(b *testing.B) {
			c, m := NewToucher(touch, testPeriod), Meter{}
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				c.Next(buf, &m)
			}
			if m.Snapshot().Mismatches != 0 {
				b.Fatal("mismatch")
			}
		})
	}
}
