// SPDX-License-Identifier: MIT

package sock

import (
	"runtime"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/asleep"
	"golang.org/x/sys/unix"
)

func TestBlocking(t *testing.T) {
	const limit = 20 * time.Millisecond
	rx, tx := pair(t, "127.0.0.1:0", Options{})
	if err := Blocking(rx, limit); err != nil {
		t.Fatal(err)
	}
	// The kernel rounds it up to its ticks.
	tv, err := unix.GetsockoptTimeval(rx, unix.SOL_SOCKET, unix.SO_RCVTIMEO)
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Duration(tv.Nano()); d < limit || d >= 2*limit {
		t.Errorf("the kernel's limit is %v, want %v", d, limit)
	}
	b := make([]byte, 4)
	_, errno := Recv(rx, b, 0)
	for errno == unix.EINTR { // the runtime's signals
		_, errno = Recv(rx, b, 0)
	}
	if errno != unix.EAGAIN {
		t.Errorf("nothing to receive: %v", errno)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	receiver := unix.Gettid()
	go func() {
		asleep.In(t, receiver, unix.SYS_RECVFROM)
		Send(tx, []byte("late"), unix.MSG_NOSIGNAL)
	}()
	var n int
	n, errno = Recv(rx, b, 0)
	for errno == unix.EAGAIN || errno == unix.EINTR {
		n, errno = Recv(rx, b, 0)
	}
	if errno != 0 || string(b[:n]) != "late" {
		t.Errorf("received %q, %v", b[:n], errno)
	}
	if err := Blocking(-1, time.Second); err == nil {
		t.Error("no error for a descriptor that is none")
	}
}

// A send that nobody makes room for ends at its limit, and says what it sent until then.
func TestBlockingSend(t *testing.T) {
	_, tx := pair(t, "127.0.0.1:0", Options{})
	if err := BlockingSend(tx, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1<<20)
	sent, errno := 0, unix.Errno(0)
	for errno == 0 || errno == unix.EINTR {
		var n int
		if n, errno = Send(tx, b, unix.MSG_NOSIGNAL); errno == 0 {
			sent += n
		}
		if sent > 1<<30 {
			t.Fatal("a socket that nobody reads takes a GiB")
		}
	}
	if errno != unix.EAGAIN || sent == 0 {
		t.Errorf("sent %d bytes: %v", sent, errno)
	}
	if err := BlockingSend(-1, time.Second); err == nil {
		t.Error("no error for a descriptor that is none")
	}
}

// The collector must not wait for a receiver that sleeps: with limits this long
// the test would run into its own.
func TestBlockingLeavesTheCollectorAlone(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rx, _ := pair(t, "127.0.0.1:0", Options{})
	if err := Blocking(rx, time.Hour); err != nil {
		t.Fatal(err)
	}
	done, threads := make(chan unix.Errno), make(chan int)
	go func() {
		runtime.LockOSThread()
		threads <- unix.Gettid()
		b := make([]byte, 1)
		for {
			if n, errno := Recv(rx, b, 0); errno != unix.EINTR {
				done <- errno
				_ = n
				return
			}
		}
	}()
	var w Waiter
	polled := make(chan struct{})
	stop := make(chan struct{})
	receiver := <-threads
	go func() {
		runtime.LockOSThread()
		threads <- unix.Gettid()
		defer close(polled)
		for {
			select {
			case <-stop:
				return
			default:
				w.Wait(rx, unix.POLLPRI, 3600e3)
			}
		}
	}()
	poller := <-threads
	for range 20 {
		asleep.In(t, receiver, unix.SYS_RECVFROM)
		asleep.In(t, poller, unix.SYS_PPOLL)
		runtime.GC()
	}
	close(stop)
	unix.Shutdown(rx, unix.SHUT_RDWR)
	if errno := <-done; errno != 0 {
		t.Error(errno)
	}
	<-polled
}
