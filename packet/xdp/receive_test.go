// SPDX-License-Identifier: MIT

package xdp

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/packet/xsk"
)

// flooded are sockets of AF_XDP in which a frame waits whenever somebody looks.
type flooded struct{ *xsk.Set }

func (flooded) Take(*stream.Meter) int { return 1 }

// silent is a program that has counted nothing.
type silent struct{}

func (silent) Read() []Counts { return nil }
func (silent) Close() error   { return nil }

// Frames that do not cease when the sender has ended the flow hold its end up no longer than those
// that are missing, and not at all where the run is called off.
func TestFramesThatDoNotCease(t *testing.T) {
	for _, off := range []bool{false, true} {
		r := &receiver{way: way{action: ToSocket}, counter: silent{}, sockets: flooded{&xsk.Set{}}}
		c, m, done := &stream.Conn{FD: -1, Sent: 1 << 60}, new(stream.Meter), make(chan error, 1)
		if off {
			c.Stop()
		}
		began := time.Now()
		go func() { done <- r.settle(c, m) }()
		err := await.Chan(t, "it ends", done) // one that goes on holds the lock: nobody may close it
		ended := time.Now()
		early := ended.Sub(began) < settleLimit // load makes it later
		if err != nil || m.Snapshot().Packets == 0 || !off && early || off && r.came > readsBetween {
			t.Errorf("called off %v: %v, too early %v, %d packets, %d frames", off, err, early, m.Snapshot().Packets,
				r.came)
		}
	}
}
