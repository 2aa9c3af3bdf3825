// SPDX-License-Identifier: MIT

package sock

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"github.com/zcbench/zcbench/internal/kind"
	"golang.org/x/sys/unix"
)

func TestUAPISizes(t *testing.T) {
	if n := unsafe.Sizeof(pollFd{}); n != 8 {
		t.Errorf("struct pollfd has %d bytes, not 8", n)
	}
	if n := unsafe.Sizeof(sockExtendedErr{}); n != 16 {
		t.Errorf("struct sock_extended_err has %d bytes, not 16", n)
	}
	if o := unsafe.Offsetof(sockExtendedErr{}.info); o != 8 {
		t.Errorf("ee_info at %d, not 8", o)
	}
	if n := unsafe.Sizeof(tcpZerocopyReceive{}); n != 64 {
		t.Errorf("struct tcp_zerocopy_receive has %d bytes, not 64", n)
	}
	if o := unsafe.Offsetof(tcpZerocopyReceive{}.flags); o != 36 {
		t.Errorf("flags at %d, not 36", o)
	}
	if o := unsafe.Offsetof(tcpZerocopyReceive{}.err) + 4; o != zerocopyHasInq {
		t.Errorf("err ends at %d, not %d", o, zerocopyHasInq)
	}
}

func TestSendAndRecv(t *testing.T) {
	rx, tx := pair(t, "127.0.0.1:0", Options{})
	b := make([]byte, 100)
	if n, errno := Recv(rx, b, unix.MSG_DONTWAIT); errno != unix.EAGAIN {
		t.Fatalf("nothing to read: %d, %v", n, errno)
	}
	send(t, tx, []byte("one two"), 0)
	ready(t, rx, unix.POLLIN)
	if n, errno := Recv(rx, b[:3], unix.MSG_DONTWAIT); n != 3 || errno != 0 || string(b[:3]) != "one" {
		t.Errorf("received %d, %v: %q", n, errno, b[:3])
	}
	if n, errno := Recv(rx, b, unix.MSG_DONTWAIT); n != 4 || errno != 0 || string(b[:4]) != " two" {
		t.Errorf("received %d, %v: %q", n, errno, b[:4])
	}
	unix.Shutdown(tx, unix.SHUT_WR)
	ready(t, rx, unix.POLLIN)
	if n, errno := Recv(rx, b, unix.MSG_DONTWAIT); n != 0 || errno != 0 {
		t.Errorf("at the end of the stream: %d, %v", n, errno)
	}
	if _, errno := Send(tx, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); errno != unix.EPIPE {
		t.Errorf("sent after shutdown: %v", errno)
	}
	if _, errno := Recv(-1, b, 0); errno != unix.EBADF {
		t.Errorf("no descriptor: %v", errno)
	}
}

func TestDiscardDropsAndCounts(t *testing.T) {
	rx, tx := pair(t, "127.0.0.1:0", Options{})
	if _, errno := Discard(rx, 10, unix.MSG_DONTWAIT); errno != unix.EAGAIN {
		t.Errorf("nothing to drop: %v", errno)
	}
	send(t, tx, []byte("0123456789"), 0)
	ready(t, rx, unix.POLLIN)
	if n, errno := Discard(rx, 4, unix.MSG_DONTWAIT); n != 4 || errno != 0 {
		t.Errorf("dropped %d, %v", n, errno)
	}
	b := make([]byte, 100)
	if n, _ := Recv(rx, b, unix.MSG_DONTWAIT); string(b[:max(n, 0)]) != "456789" {
		t.Errorf("left over: %q", b[:max(n, 0)])
	}
	unix.Shutdown(tx, unix.SHUT_WR)
	ready(t, rx, unix.POLLIN)
	if n, errno := Discard(rx, 4, unix.MSG_DONTWAIT); n != 0 || errno != 0 {
		t.Errorf("at the end of the stream: %d, %v", n, errno)
	}
}

func TestSendfileAdvances(t *testing.T) {
	rx, tx := pair(t, "127.0.0.1:0", Options{})
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("abcdefghij"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	off := new(int64)
	*off = 2
	if n, errno := Sendfile(tx, int(f.Fd()), off, 5); n != 5 || errno != 0 || *off != 7 {
		t.Fatalf("sent %d, %v, now at %d", n, errno, *off)
	}
	ready(t, rx, unix.POLLIN)
	b := make([]byte, 100)
	if n, _ := Recv(rx, b, unix.MSG_DONTWAIT); !bytes.Equal(b[:max(n, 0)], []byte("cdefg")) {
		t.Errorf("received %q", b[:max(n, 0)])
	}
}

// A wait without an event is no shorter than it was asked for.
func TestWaitsInVain(t *testing.T) {
	kind.Timed(t)
	rx, _ := pair(t, "127.0.0.1:0", Options{})
	var w Waiter
	for _, ms := range []int{30, 1030} { // more than a second is seconds and the rest
		began := time.Now()
		for range 10000 { // the runtime's signals end a sleep early
			if r, errno := w.Wait(rx, unix.POLLIN, ms); r != 0 || errno != 0 {
				t.Errorf("%d ms: %#x, %v", ms, r, errno)
			}
			if time.Since(began) >= time.Duration(ms)*time.Millisecond {
				break
			}
		}
		if took := time.Since(began); took < time.Duration(ms)*time.Millisecond {
			t.Errorf("10000 sleeps of %d ms took %v", ms, took)
		}
	}
}

func TestWaiter(t *testing.T) {
	rx, tx := pair(t, "127.0.0.1:0", Options{})
	var w Waiter
	if r, errno := w.Wait(rx, unix.POLLIN, 0); r != 0 || errno != 0 {
		t.Errorf("nothing to read: %#x, %v", r, errno)
	}
	if r := ready(t, tx, unix.POLLOUT|unix.POLLIN); r != unix.POLLOUT {
		t.Errorf("an empty socket can be written: %#x", r)
	}
	unix.SetsockoptLinger(tx, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	unix.Close(tx)
	if r := ready(t, rx, 0); r&(unix.POLLERR|unix.POLLHUP) == 0 {
		t.Errorf("a reset flow: %#x", r)
	}
}

func TestErrQueue(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(addr, func(t *testing.T) {
			rx, tx := pair(t, addr, Options{ZeroCopy: true})
			q := new(ErrQueue)
			if _, ok, errno := q.Next(tx); ok || errno != unix.EAGAIN {
				t.Fatalf("nothing sent: %v, %v", ok, errno)
			}
			buf := make([]byte, 100_000)
			for range 3 {
				send(t, tx, buf[:8192], unix.MSG_ZEROCOPY)
			}
			for got := 0; got < 3*8192; {
				ready(t, rx, unix.POLLIN)
				n, errno := Recv(rx, buf, unix.MSG_DONTWAIT)
				if errno != 0 {
					t.Fatal(errno)
				}
				got += n
			}
			for next := uint32(0); next < 3; {
				ready(t, tx, unix.POLLERR)
				n, ok, errno := q.Next(tx)
				if errno == unix.EAGAIN {
					continue
				}
				if !ok || errno != 0 || n.Lo != next || n.Hi < n.Lo || n.Hi > 2 {
					t.Fatalf("notification %+v, %v, %v; the next call is %d", n, ok, errno, next)
				}
				if !n.Copied {
					t.Error("loopback did not copy")
				}
				next = n.Hi + 1
			}
		})
	}
}

// calls are the data-path calls, each on a flow that has something for it.
func calls(t testing.TB) map[string]func() {
	rx, tx := pair(t, "127.0.0.1:0", Options{ZeroCopy: true})
	one, big := make([]byte, 1), make([]byte, 8)
	w, q, off := new(Waiter), new(ErrQueue), new(int64)
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	fd := int(f.Fd())
	drain := func() {
		w.Wait(rx, unix.POLLIN, 1000)
		Discard(rx, 1<<20, unix.MSG_DONTWAIT)
	}
	return map[string]func(){
		"Send and Recv": func() {
			Send(tx, one, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			w.Wait(rx, unix.POLLIN, 1000)
			Recv(rx, big, unix.MSG_DONTWAIT)
		},
		"Recv of nothing":  func() { Recv(rx, big, unix.MSG_DONTWAIT) },
		"Send and Discard": func() { Send(tx, one, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); drain() },
		"Sendfile":         func() { *off = 0; Sendfile(tx, fd, off, 1); drain() },
		"Send zero-copy and ErrQueue": func() {
			Send(tx, one, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL|unix.MSG_ZEROCOPY)
			drain()
			w.Wait(tx, unix.POLLERR, 1000)
			q.Next(tx)
		},
		"Wait in vain": func() { w.Wait(rx, unix.POLLIN, 0) },
	}
}

func TestCallsDoNotAllocate(t *testing.T) {
	for name, call := range calls(t) {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkCalls(b *testing.B) {
	for name, call := range calls(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
