// SPDX-License-Identifier: MIT

package xdp

import (
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

// late has counted nothing at the first look, and from the second on all.
type late struct {
	frames uint64
	looks  int
}

func (l *late) Read() []Counts {
	if l.looks++; l.looks == 1 {
		return nil
	}
	return []Counts{{Frames: l.frames}}
}

func (l *late) Close() error { return nil }

// What is on its way when the sender has ended the flow is waited for.
func TestSettleWaitsForWhatIsOnItsWay(t *testing.T) {
	const sent = 7
	// A thread that is held up at its first look has waited long enough by then: not each time.
	for range 10 {
		r, m := &receiver{way: way{action: toCPU}, counter: &late{frames: sent}}, new(stream.Meter)
		if err := r.settle(&stream.Conn{FD: -1, Sent: sent}, m); err != nil {
			t.Fatal(err)
		}
		if m.Snapshot().Packets == sent {
			return
		}
	}
	t.Error("it did not wait for what came 5 ms later, ten times")
}
