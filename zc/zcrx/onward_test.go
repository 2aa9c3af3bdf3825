// SPDX-License-Identifier: MIT

package zcrx

import (
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/zc/held"
)

// newOnward has all batches free.
func newOnward() *onward {
	o := &onward{sending: -1}
	for i := range o.batch {
		o.free = append(o.free, i)
	}
	return o
}

// Pieces of any number are kept until they are sent, in their order: behind them in the completion
// queue is the word that lets go of those before.
func TestOnwardKeepsAll(t *testing.T) {
	o := newOnward()
	next, sent := uint64(0), uint64(0)
	for _, n := range []int{held.Max + 1000, 100, held.Max} {
		for range n {
			o.push(piece{next, 1}, 0)
			next++
		}
		for o.gather() {
			b := &o.batch[o.sending]
			for _, p := range b.pieces[:b.n] {
				if p.off != sent {
					t.Fatalf("piece %d is sent, not %d", p.off, sent)
				}
				sent++
			}
			b.sent = b.bytes
			if o.pieces != int(next-sent)+b.n {
				t.Fatalf("%d pieces are out", o.pieces)
			}
			o.giveBack(func(piece) bool { return true })
			if sent%1000 < batchPieces { // more come meanwhile
				o.push(piece{next, 1}, 0)
				next++
			}
		}
		if sent != next || o.pieces != 0 || len(o.free) != batches {
			t.Fatalf("%d of %d sent, %d are out, %d batches free", sent, next, o.pieces, len(o.free))
		}
	}
}

// What finds no room goes back later, each piece once.
func TestOnwardGivesBack(t *testing.T) {
	o := newOnward()
	for i := range 2*batchPieces + 10 {
		o.push(piece{uint64(i), 1}, 0)
	}
	for o.gather() {
		o.batch[o.sending].sent = o.batch[o.sending].bytes
	}
	back := map[uint64]int{}
	for rounds := 0; o.pieces > 0; rounds++ {
		room := 100
		any := o.giveBack(func(p piece) bool {
			if room == 0 {
				return false
			}
			room--
			back[p.off]++
			return true
		})
		if !any || rounds > 6 {
			t.Fatalf("round %d: %v, %d are out", rounds, any, o.pieces)
		}
	}
	for i := range uint64(2*batchPieces + 10) {
		if back[i] != 1 {
			t.Errorf("piece %d went back %d times", i, back[i])
		}
	}
}

// A kernel that cannot be told to empty the refill ring needs one with room for all that is out.
func TestOnwardNeedsRoom(t *testing.T) {
	for _, x := range []struct {
		flushes          bool
		buffers, entries int
		most             int // 0: refused
	}{{true, 16384, 512, 4096}, {false, 16384, 4096, 4096}, {false, 16384, 2048, 0},
		{false, 1 << 20, 32768, 32768}, {true, 1 << 20, 1, 32768}} {
		most, err := (&Receiver{mode: Mode, flushes: x.flushes}).mayKeep(x.buffers, x.entries)
		if most != x.most || (err == nil) != (x.most > 0) || err != nil && fault.Fix(err) == "" {
			t.Errorf("%+v: %d, %v", x, most, err)
		}
	}
}
