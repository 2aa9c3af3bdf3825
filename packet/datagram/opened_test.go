// SPDX-License-Identifier: MIT

package datagram

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/await"
)

// opened are the flows of a data port, past their handshake; all is closed with the test.
type opened struct {
	rx, tx []*stream.Conn
	hello  []stream.Hello
	port   stream.Listener
}

func open(t testing.TB, addr string, flows, size int, o sock.Options) (out opened) {
	t.Helper()
	ctx := await.Context(t)
	cookie := stream.NewCookie()
	port, err := Transport{}.Listen(addr, cookie, flows, o)
	if err != nil {
		t.Fatal(err)
	}
	out = opened{port: port, tx: make([]*stream.Conn, flows)}
	dialed := make(chan error, flows)
	for n := range flows {
		go func() {
			var err error
			out.tx[n], _, err = Transport{}.Dial(ctx, port.Addr().String(), hello(cookie, n, flows, size), o)
			dialed <- err
		}()
	}
	for range flows {
		c, h, err := port.Accept(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		out.rx, out.hello = append(out.rx, c), append(out.hello, h)
	}
	for _, c := range out.rx {
		if err := c.Welcome(stream.Welcome{}); err != nil {
			t.Fatal(err)
		}
	}
	for range flows {
		if err := <-dialed; err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, c := range out.tx {
			c.Close()
		}
		port.Close()
	})
	return out
}

func hello(c stream.Cookie, n, flows, size int) stream.Hello {
	return stream.Hello{Cookie: c, TXMode: "test", MessageBytes: uint64(size), PeriodBytes: 31 * 4096, Flow: n,
		Flows: flows}
}

func onThread(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return done
}

func ended(t testing.TB, done <-chan error) error {
	t.Helper()
	return await.Chan(t, "the path returns", done)
}

// withEngines are a mode that this kernel has, with every io_uring engine.
func withEngines(modes ...stream.Mode) (all []stream.Mode, options []stream.Options) {
	for _, m := range modes {
		if m.Support("") != nil {
			continue
		}
		engines := []string{""}
		if m.Has(stream.UsesRing) {
			engines = nil
			for _, e := range uring.Engines() {
				engines = append(engines, string(e))
			}
		}
		batches := []int{0}
		if m.Has(stream.Batches) && !m.Has(stream.Segments) {
			batches = []int{0, 1}
		}
		for _, e := range engines {
			for _, b := range batches {
				q := m
				q.Name = fmt.Sprintf("%s@%s batch %d", m.Name, e, b)
				all, options = append(all, q), append(options, stream.Options{UringEngine: e, Batch: b})
			}
		}
	}
	return all, options
}
