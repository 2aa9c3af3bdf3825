// SPDX-License-Identifier: MIT

package stream_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

func listen(t testing.TB, c stream.Cookie) *stream.Port {
	t.Helper()
	p, err := stream.Listen("127.0.0.1:0", c, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func helloOf(c stream.Cookie) stream.Hello {
	return stream.Hello{Cookie: c, TXMode: "tcp", MessageBytes: 4096, PeriodBytes: 4096, Duration: time.Second,
		Flows: 1}
}

func connect(t testing.TB, p *stream.Port) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// closed waits until the peer has closed c.
func closed(t testing.TB, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(await.Deadline())
	if n, err := c.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("connection was not closed: read %d bytes, %v", n, err)
	}
}

// strangers waits until the port has counted n.
func strangers(t testing.TB, p *stream.Port, n uint64) {
	t.Helper()
	if !await.So(func() bool { return p.Strangers() == n }) {
		t.Fatalf("%d strangers counted, not %d", p.Strangers(), n)
	}
}

// meet is both ends of a flow at p.
func meet(t testing.TB, p *stream.Port, h stream.Hello) (rx, tx *stream.Conn) {
	t.Helper()
	ctx := await.Context(t)
	dialed := make(chan error, 1)
	go func() {
		var err error
		tx, _, err = stream.Dial(ctx, p.Addr().String(), h, sock.Options{})
		dialed <- err
	}()
	rx, got, err := p.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rx.Close() })
	if got != h {
		t.Errorf("hello %+v arrived as %+v", h, got)
	}
	if err := rx.Welcome(stream.Welcome{Duration: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if err := <-dialed; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Close() })
	return rx, tx
}

// passes sends some bytes over the flow.
func passes(t testing.TB, rx, tx *stream.Conn) {
	t.Helper()
	if n, errno := sock.Send(tx.FD, []byte("payload"), unix.MSG_NOSIGNAL); n != 7 || errno != 0 {
		t.Fatalf("sent %d: %v", n, errno)
	}
	ready(t, rx.FD, unix.POLLIN)
	b := make([]byte, 99)
	if n, errno := sock.Recv(rx.FD, b, unix.MSG_DONTWAIT); errno != 0 || string(b[:max(n, 0)]) != "payload" {
		t.Fatalf("received %q: %v", b[:max(n, 0)], errno)
	}
}

func TestTheFlowIsTaken(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		c := stream.NewCookie()
		p, err := stream.Listen(addr, c, sock.Options{})
		if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
			t.Logf("%s: this kernel has no such address: %v", addr, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		rx, tx := meet(t, p, helloOf(c))
		passes(t, rx, tx)
		if rx.Remote != tx.Local || tx.Remote != rx.Local || !rx.Local.IsValid() {
			t.Errorf("addresses: receiver %v <- %v, sender %v -> %v", rx.Local, rx.Remote, tx.Local, tx.Remote)
		}
		if p.Strangers() != 0 {
			t.Errorf("%d strangers", p.Strangers())
		}
		p.Close()
	}
}

func TestFarewellReachesTheSender(t *testing.T) {
	c := stream.NewCookie()
	rx, tx := meet(t, listen(t, c), helloOf(c))
	want := stream.Farewell{Bytes: 12345, Mismatches: 1, Verified: true}
	if err := tx.EndOfSend(); err != nil {
		t.Fatal(err)
	}
	if err := rx.SendFarewell(want); err != nil {
		t.Fatal(err)
	}
	if got, err := tx.ReadFarewell(await.Deadline()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestStrangersAreClosedAndCounted(t *testing.T) {
	cookie := stream.NewCookie()
	wrong, _ := helloOf(stream.NewCookie()).AppendBinary(nil)
	for name, first := range map[string][]byte{
		"wrong cookie": wrong,
		"HTTP":         []byte("GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: a browser that says much\r\n\r\n"),
		"huge garbage": make([]byte, 4<<20),
	} {
		t.Run(name, func(t *testing.T) {
			p := listen(t, cookie)
			c := connect(t, p)
			go c.Write(first)
			closed(t, c)
			strangers(t, p, 1)
			rx, tx := meet(t, p, helloOf(cookie))
			passes(t, rx, tx)
			strangers(t, p, 1)
		})
	}
}

// When it is closed: TestSlowStranger.
func TestSlowStrangerIsClosed(t *testing.T) {
	const patience = 700 * time.Millisecond
	t.Cleanup(stream.SetHandshakeTime(patience))
	p := listen(t, stream.NewCookie())
	c := connect(t, p)
	go func() {
		for { // a byte at a time never makes a hello
			if _, err := c.Write([]byte("Z")); err != nil {
				return
			}
			await.Pause("the next byte comes", patience/10)
		}
	}()
	closed(t, c)
	strangers(t, p, 1)
}

func TestSilentCrowdDoesNotKeepTheFlowOut(t *testing.T) {
	t.Cleanup(stream.SetMaxPending(512))
	t.Cleanup(stream.SetHelloTime(time.Second))
	cookie := stream.NewCookie()
	p := listen(t, cookie)
	before := streamtest.Holding(t)
	var crowd []net.Conn
	for range 600 { // more than may be pending
		crowd = append(crowd, connect(t, p))
	}
	closed(t, crowd[0]) // the oldest go first
	rx, tx := meet(t, p, helloOf(cookie))
	passes(t, rx, tx)
	for _, c := range crowd {
		closed(t, c)
		c.Close()
	}
	strangers(t, p, 600)
	rx.Close()
	tx.Close()
	streamtest.NoMore(t, before, 16<<20)
}

// A sender whose hello takes a moment is not thrown out by strangers that keep
// coming meanwhile.
func TestFloodDuringTheHandshake(t *testing.T) {
	t.Cleanup(stream.SetMaxPending(16)) // soon there is no room
	c := stream.NewCookie()
	p := listen(t, c)
	tx := connect(t, p)
	ctx, cancel := context.WithCancel(await.Context(t))
	var flood sync.WaitGroup
	var came atomic.Uint64
	for range 4 {
		flood.Go(func() {
			for ctx.Err() == nil {
				s, err := net.Dial("tcp", p.Addr().String())
				if err != nil {
					return
				}
				came.Add(1)
				// It says nothing, and stays for a while.
				await.Later(500*time.Millisecond, func() { s.Close() })
				await.Pause("a flood, and no deluge", 4*time.Millisecond)
			}
		})
	}
	defer flood.Wait()
	defer cancel()
	await.Until(t, "the flood comes", func() bool { return came.Load() >= 50 })
	b, err := helloOf(c).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Write(b); err != nil {
		t.Fatal(err)
	}
	rx, _, err := p.Accept(await.Context(t))
	if err != nil {
		t.Fatalf("the flow among %d strangers: %v", came.Load(), err)
	}
	defer rx.Close()
	if err := rx.Welcome(stream.Welcome{Duration: time.Second}); err != nil {
		t.Fatal(err)
	}
	tx.SetReadDeadline(await.Deadline())
	if _, err := tx.Read(make([]byte, 1)); err != nil {
		t.Errorf("a closed connection became the flow: %v", err)
	}
}

func TestSecondConnectionDuringTheFlow(t *testing.T) {
	cookie := stream.NewCookie()
	p := listen(t, cookie)
	rx, tx := meet(t, p, helloOf(cookie))
	closed(t, connect(t, p))
	passes(t, rx, tx)
	if _, _, err := stream.Dial(await.Context(t), p.Addr().String(), helloOf(cookie), sock.Options{}); err == nil ||
		!strings.Contains(fault.Fix(err), "cookie") {
		t.Errorf("a second flow: %v, fix %q", err, fault.Fix(err))
	}
	strangers(t, p, 2)
	passes(t, rx, tx)
}

// The flow that comes while the port closes is closed too.
func TestCloseWithTheFlowNotTaken(t *testing.T) {
	for range 30 {
		cookie := stream.NewCookie()
		p := listen(t, cookie)
		c := connect(t, p)
		b, _ := helloOf(cookie).AppendBinary(nil)
		c.Write(b)
		p.Close()
		closed(t, c)
		c.Close()
	}
}

func TestAcceptEndsWithItsContext(t *testing.T) {
	p := listen(t, stream.NewCookie())
	closed(t, func() net.Conn { c := connect(t, p); c.Write(make([]byte, 100)); return c }())
	strangers(t, p, 1)
	_, _, err := p.Accept(await.Ending(t, 20*time.Millisecond))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(fault.Fix(err), "refused so far: 1") {
		t.Errorf("%v; fix %q", err, fault.Fix(err))
	}
}

func TestListenErrorsNameTheFix(t *testing.T) {
	p := listen(t, stream.Cookie{})
	for _, c := range []struct {
		addr string
		o    sock.Options
		is   error
		fix  string
	}{
		{p.Addr().String(), sock.Options{}, unix.EADDRINUSE, "another port"},
		{"192.0.2.1:0", sock.Options{}, unix.EADDRNOTAVAIL, "no interface"},
		{"127.0.0.1:0", sock.Options{Congestion: "nosuch"}, unix.ENOENT, "available now"},
	} {
		_, err := stream.Listen(c.addr, stream.Cookie{}, c.o)
		if !errors.Is(err, c.is) || !strings.Contains(fault.Fix(err), c.fix) || !strings.Contains(err.Error(), c.addr) {
			t.Errorf("%s: %v; fix %q", c.addr, err, fault.Fix(err))
		}
	}
}

// A sender that was killed looks like one that is done until it is spoken to.
func TestFarewellToAKilledSender(t *testing.T) {
	c := stream.NewCookie()
	rx, tx := meet(t, listen(t, c), helloOf(c))
	if err := tx.Close(); err != nil { // as the kernel does for a killed process
		t.Fatal(err)
	}
	if err := rx.SendFarewell(stream.Farewell{}); !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, unix.EPIPE) {
		t.Errorf("%v", err)
	}
}
