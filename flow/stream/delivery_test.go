// SPDX-License-Identifier: MIT

package stream

import (
	"net"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"golang.org/x/sys/unix"
)

// A farewell that the peer's kernel does not take, because nobody reads what came before, is waited
// for as long as users wait, and no longer.
func TestFarewellThatIsNotDelivered(t *testing.T) {
	kind.Timed(t)
	defer func(d time.Duration) { deliveryTime = d }(deliveryTime)
	deliveryTime = usually.delivery
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Detach(near.(*net.TCPConn))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	room := func(bytes int) {
		if err := unix.SetsockoptInt(c.FD, unix.SOL_SOCKET, unix.SO_SNDBUF, bytes); err != nil {
			t.Fatal(err)
		}
	}
	room(16 << 10)
	full, b := 0, make([]byte, 4096)
	await.Until(t, "the buffers of both ends are full", func() bool {
		if full++; c.writeAll(b) == nil {
			full = 0
		}
		return full == 50
	})
	room(128 << 10)
	begun := time.Now()
	err = c.SendFarewell(Farewell{})
	if took := time.Since(begun); err != nil || took < usually.delivery || took > 2*time.Second {
		t.Errorf("%v after %v, want %v", err, took, usually.delivery)
	}
}
