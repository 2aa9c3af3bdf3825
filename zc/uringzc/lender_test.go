// SPDX-License-Identifier: MIT

package uringzc

import (
	"runtime"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/kind"
	"golang.org/x/sys/unix"
)

// Who waits for room wakes when the peer has made it, also while the kernel owes no notification:
// it owes none for what it copied at once, as it does what is sent here.
func TestAwaitRoomWithoutNotifications(t *testing.T) {
	kind.Timed(t)
	if err := probe(); err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rx, tx, _ := streamtest.Flow(t, streamtest.Payload(t, 1000), sock.Options{SndBuf: 64 << 10, RcvBuf: 64 << 10})
	l, err := NewLender(stream.Options{}, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	fill, m := make([]byte, 64<<10), new(stream.Meter)
	full := func() {
		for errno := unix.Errno(0); errno != unix.EAGAIN; {
			_, errno = sock.Send(tx.FD, fill, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			if errno != 0 && errno != unix.EAGAIN {
				t.Fatal(errno)
			}
		}
	}
	const silent = 10
	began := time.Now()
	for range silent { // signals cut a wait short, but not to nothing
		full()
		if err := l.AwaitRoom(tx, m); err != nil {
			t.Fatal(err)
		}
	}
	if w := m.Snapshot().Waits; w != silent || time.Since(began) < waitTime/4 {
		t.Errorf("a silent peer: %d waits, of %v together", w, time.Since(began))
	}
	drained := streamtest.Sink(rx)
	const fillings = 30
	began = time.Now()
	for range fillings {
		full()
		if err := l.AwaitRoom(tx, m); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(began); d > fillings*waitTime/2 {
		t.Errorf("%d fillings took %v: it slept although there was room", fillings, d)
	}
	if err := tx.EndOfSend(); err != nil {
		t.Error(err)
	}
	<-drained
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
