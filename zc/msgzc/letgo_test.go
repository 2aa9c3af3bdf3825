// SPDX-License-Identifier: MIT

package msgzc

import (
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
)

// Memory is free in the order of the calls that sent it, whatever the order of their notifications,
// also where numbers wrap.
func TestLetGoInOrder(t *testing.T) {
	for _, first := range []uint32{0, slots - 3, 1<<32 - 3} {
		f := &Flow{}
		f.next, f.free = first, first
		for n := range 8 {
			f.size[f.next%slots] = uint32(n + 1)
			f.next++
			f.pending++
		}
		for _, x := range []struct {
			lo, hi uint32
			want   uint64 // of so many calls, of 1, 2, ... bytes
		}{{1, 2, 0}, {4, 4, 0}, {0, 0, 3}, {3, 3, 5}, {5, 7, 8}} {
			if err := f.account(sock.Notification{Lo: first + x.lo, Hi: first + x.hi}, new(stream.Meter)); err != nil {
				t.Fatal(err)
			}
			if got := f.LetGo(); got != x.want*(x.want+1)/2 {
				t.Errorf("from %d: %d bytes, want those of the first %d calls", first, got, x.want)
			}
		}
	}
}
