// SPDX-License-Identifier: MIT

package xdp

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
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
		select {
		case err := <-done:
			took := time.Since(began)
			if err != nil || m.Snapshot().Packets == 0 || off != (took < settleLimit) {
				t.Errorf("called off %v: %v after %v, %d packets", off, err, took, m.Snapshot().Packets)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("it goes on") // and holds the lock: nobody may close it
		}
	}
}
