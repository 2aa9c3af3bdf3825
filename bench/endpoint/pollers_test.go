// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"

	"github.com/zcbench/zcbench/machine/counter"
)

// What a NAPI thread used is booked to the flows of its queue, and to no other; one that busy-polls
// says nothing of them.
func TestPollerOfAFlow(t *testing.T) {
	threads := NAPIThreads{of: map[uint32]napiThread{8193: {pid: 70}, 8194: {pid: 71}, 8195: {pid: 72, busyPoll: true},
		8196: {pid: 73}}}
	used := &counter.Polled{Of: map[int]float64{70: .97, 71: .25, 72: 1}}
	for napi, want := range map[uint32]float64{8193: .97, 8194: .25, 8195: -1, 8196: -1, 8197: -1, 0: -1} {
		got := threads.pollerCores(napi, used)
		if (got != nil) != (want >= 0) || got != nil && *got != want {
			t.Errorf("instance %d: %v, want %v", napi, got, want)
		}
	}
	if got := threads.pollerCores(8193, nil); got != nil {
		t.Errorf("nothing was measured, and yet: %v", *got)
	}
	if ids := new(run).napis(); ids != nil {
		t.Errorf("no thread polls, and sockets are asked: %v", ids)
	}
}
