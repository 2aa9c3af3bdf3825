// SPDX-License-Identifier: MIT

package stream_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// wakes waits for events on c in a goroutine; the channel has what came.
func wakes(c *stream.Conn, events int16) <-chan int16 {
	got := make(chan int16, 1)
	fd := c.FD
	go func() {
		got <- await(fd, events, 3*time.Second)
	}()
	time.Sleep(20 * time.Millisecond) // let it sleep
	return got
}

// await sleeps until fd has one of events, also when a signal ends a sleep.
func await(fd int, events int16, limit time.Duration) int16 {
	var w sock.Waiter
	for end := time.Now().Add(limit); ; {
		if r, _ := w.Wait(fd, events, int(limit.Milliseconds())); r != 0 || time.Now().After(end) {
			return r
		}
	}
}

func TestAbortWakesBothEnds(t *testing.T) {
	for _, by := range []string{"receiver", "sender"} {
		c := stream.NewCookie()
		rx, tx := meet(t, listen(t, c), helloOf(c))
		own, peer := rx, tx
		if by == "sender" {
			own, peer = tx, rx
		}
		a, b := wakes(own, unix.POLLIN), wakes(peer, unix.POLLIN)
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
	for b := make([]byte, 1<<20); ; {
		if _, errno := sock.Send(tx.FD, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); errno == unix.EAGAIN {
			break
		}
	}
	got := wakes(tx, unix.POLLOUT)
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
	b := make([]byte, 1<<20)
	var w sock.Waiter
	for full := false; !full; {
		if _, errno := sock.Send(tx.FD, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); errno == unix.EAGAIN {
			full = await(tx.FD, unix.POLLOUT, 100*time.Millisecond) == 0
		}
	}
	rx.Abort()
	for {
		if n, errno := sock.Recv(rx.FD, b, unix.MSG_DONTWAIT); n <= 0 || errno != 0 {
			break
		}
	}
	rx.Close()
	for limit := time.Now().Add(time.Second); ; w.Wait(tx.FD, unix.POLLOUT, 50) {
		_, errno := sock.Send(tx.FD, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if errno == unix.ECONNRESET || errno == unix.EPIPE {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("the sender goes on: %v", errno)
		}
	}
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
