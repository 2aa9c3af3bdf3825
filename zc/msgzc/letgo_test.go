// SPDX-License-Identifier: MIT

package msgzc

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
)

// Whoever gives memory on is told of calls in their order, each once, whatever the order of their
// notifications, also where numbers wrap.
func TestFreedInOrder(t *testing.T) {
	for _, first := range []uint32{0, slots - 3, 1<<32 - 3} {
		var got []int
		f := &Flow{Freed: func(n int) { got = append(got, n) }}
		f.next, f.free = first, first
		for n := range 8 {
			f.size[f.next%slots] = uint32(n + 1)
			f.next++
			f.pending++
		}
		for _, x := range []struct {
			lo, hi uint32
			want   int // calls told of
		}{{1, 2, 0}, {4, 4, 0}, {0, 0, 3}, {3, 3, 5}, {5, 7, 8}} {
			if err := f.account(sock.Notification{Lo: first + x.lo, Hi: first + x.hi}, new(stream.Meter)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7, 8}[:x.want]) {
				t.Errorf("from %d: %d, want the first %d", first, got, x.want)
			}
		}
	}
}
