// SPDX-License-Identifier: MIT

// Package streamtest gives tests a flow over loopback and looks for what a flow
// leaves behind.
package streamtest

import (
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// Flow opens one flow over 127.0.0.1 and completes its handshake. Both ends are closed with the
// test.
func Flow(t testing.TB, p *stream.Payload, o sock.Options) (rx, tx *stream.Conn, h stream.Hello) {
	t.Helper()
	ctx := await.Context(t)
	h = stream.Hello{Cookie: stream.NewCookie(), TXMode: "test", MessageBytes: uint64(p.MessageBytes()),
		PeriodBytes: uint64(p.PeriodBytes())}
	port, err := stream.Listen("127.0.0.1:0", h.Cookie, sock.Options{RcvBuf: o.RcvBuf})
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	dialed := make(chan error, 1)
	go func() {
		var err error
		tx, _, err = stream.Dial(ctx, port.Addr().String(), h, o)
		dialed <- err
	}()
	if rx, _, err = port.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rx.Close() })
	if err := rx.Welcome(stream.Welcome{}); err != nil {
		t.Fatal(err)
	}
	if err := <-dialed; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Close() })
	return rx, tx, h
}

// Payload makes a payload that is closed with the test.
func Payload(t testing.TB, messageBytes int) *stream.Payload {
	t.Helper()
	p, err := stream.NewPayload(messageBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// Sink drops what comes on c until the end of the flow, without allocating. The
// channel is closed when it has ended.
func Sink(c *stream.Conn) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var w sock.Waiter
		for {
			n, errno := sock.Discard(c.FD, 1<<20, unix.MSG_DONTWAIT)
			switch {
			case errno == unix.EAGAIN:
				w.Wait(c.FD, unix.POLLIN, 50)
			case n <= 0:
				return
			}
		}
	}()
	return done
}
