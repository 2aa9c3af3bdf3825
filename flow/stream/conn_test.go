// SPDX-License-Identifier: MIT

package stream_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// wakes waits for events on c in a goroutine, which sleeps by now unless they have come; the
// channel has what came, 0 if that hangs.
func wakes(t *testing.T, c *stream.Conn, events int16) <-chan int16 {
	t.Helper()
	got, thread := make(chan int16, 1), make(chan int, 1)
	fd := c.FD
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		var w sock.Waiter
		var r int16
		await.So(func() bool { // a signal ends a sleep
			r, _ = w.Wait(fd, events, int(await.Hang.Milliseconds()))
			return r != 0
		})
		got <- r
	}()
	in, sleeps := fmt.Sprintf("/proc/self/task/%d/syscall", <-thread), fmt.Sprintf("%d ", unix.SYS_PPOLL)
	await.Until(t, "a thread sleeps until there is an event, or there is one", func() bool {
		b, _ := os.ReadFile(in) // "running", or the system call that it sleeps in
		return strings.HasPrefix(string(b), sleeps) || len(got) > 0
	})
	return got
}

// ready waits until fd has one of events, or what is always told.
func ready(t testing.TB, fd int, events int16) {
	t.Helper()
	var w sock.Waiter
	await.Until(t, fmt.Sprintf("events %#x", events), func() bool {
		r, _ := w.Wait(fd, events, 1000) // a signal ends it, too
		return r != 0
	})
}

// fill sends until the receiver's window and the sender's buffer are full. On a busy machine they
// may have a little room.
func fill(t *testing.T, tx *stream.Conn) {
	t.Helper()
	b := make([]byte, 1<<20)
	var w sock.Waiter
	await.Until(t, "there is no more room", func() bool {
		_, errno := sock.Send(tx.FD, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if errno != unix.EAGAIN {
			return false
		}
		r, _ := w.Wait(tx.FD, unix.POLLOUT, 100)
		return r == 0
	})
}

func TestAbortWakesBothEnds(t *testing.T) {
	for _, by := range []string{"receiver", "sender"} {
		c := stream.NewCookie()
		rx, tx := meet(t, listen(t, c), helloOf(c))
		own, peer := rx, tx
		if by == "sender" {
			own, peer = tx, rx
		}
		a, b := wakes(t, own, unix.POLLIN), wakes(t, peer, unix.POLLIN)
		own.Abort()
		if r := <-a; r == 0 {
			t.Errorf("the %s aborted and slept on", by)
		}
		if r := <-b; r == 0 {
			t.Errorf("the %s aborted and its peer slept on", by)
		}
		if !errors.Is(own.Aborted(), stream.ErrAborted) || !own.Stopping() || peer.Aborted() != nil {
			t.Errorf("the %s aborted: %v, peer %v", by, own.Aborted(), peer.Aborted())
		}
	}
}

func TestAbortWakesAFullSender(t *testing.T) {
	c := stream.NewCookie()
	_, tx := meet(t, listen(t, c), helloOf(c))
	fill(t, tx)
	got := wakes(t, tx, unix.POLLOUT)
	tx.Abort()
	if r := <-got; r == 0 {
		t.Error("slept on")
	}
}

// A receiver that is called off, takes what it has and closes must not leave its
// sender waiting for a window that never opens.
func TestAbortedReceiverBreaksAFullSender(t *testing.T) {
	c := stream.NewCookie()
	rx, tx := meet(t, listen(t, c), helloOf(c))
	fill(t, tx)
	rx.Abort()
	b := make([]byte, 1<<20)
	for {
		if n, errno := sock.Recv(rx.FD, b, unix.MSG_DONTWAIT); n <= 0 || errno != 0 {
			break
		}
	}
	rx.Close()
	await.Until(t, "the sender is broken off", func() bool {
		_, errno := sock.Send(tx.FD, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		return errno == unix.ECONNRESET || errno == unix.EPIPE
	})
}

func TestStopIsNoAbort(t *testing.T) {
	c := stream.NewCookie()
	rx, tx := meet(t, listen(t, c), helloOf(c))
	tx.Stop()
	if !tx.Stopping() || tx.Aborted() != nil {
		t.Errorf("stopping %v, aborted %v", tx.Stopping(), tx.Aborted())
	}
	passes(t, rx, tx)
}

// Abort from another thread never hits a descriptor that Close gave back.
func TestAbortAndCloseRace(t *testing.T) {
	c := stream.NewCookie()
	p := listen(t, c)
	rx, tx := meet(t, p, helloOf(c))
	rx2, tx2 := meet(t, listen(t, c), helloOf(c))
	var wg sync.WaitGroup
	for _, conn := range []*stream.Conn{rx, tx} {
		for range 4 {
			wg.Go(func() { conn.Abort() })
			wg.Go(func() { conn.Close() })
		}
	}
	wg.Wait()
	rx.Abort()
	tx.Abort()
	passes(t, rx2, tx2)
}
