// SPDX-License-Identifier: MIT

package baseline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// visits begins a flow whose requests have a connection each, over loopback. before sees the
// receiver's end first.
func visits(t *testing.T, request int, o stream.TripOptions, before func(rx, tx *stream.Conn)) (rx, tx *stream.Conn,
	asks, answers *stream.Meter, sent, received <-chan error) {
	t.Helper()
	payload := streamtest.Payload(t, request*o.InFlight)
	rx, tx, h := streamtest.Flow(t, payload, sock.Options{})
	h.MessageBytes, h.ResponseBytes, h.Connects = uint64(request), uint32(o.ResponseBytes), true
	h.OneAtATime = o.InFlight == 1
	asks, answers = new(stream.Meter), new(stream.Meter)
	asks.Visit(stream.NewVisits(request, o))
	r, err := NewTCPReceiver(stream.Options{MessageBytes: 64 << 10, Touch: stream.TouchVerify})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Attach(rx, h); err != nil {
		t.Fatal(err)
	}
	tx.Visits.At, tx.Visits.Cookie = rx.Visits.At, h.Cookie
	if before != nil {
		before(rx, tx)
	}
	received = onThread(func() error { return errors.Join(r.Receive(rx, answers), r.Close()) })
	sent = onThread(func() error {
		s, err := newCRRSender(stream.Options{MessageBytes: request, Trips: o})
		if err != nil {
			return err
		}
		return errors.Join(s.Send(tx, payload, asks), tx.EndOfSend(), s.Close())
	})
	return rx, tx, asks, answers, sent, received
}

// Every request has a connection, and an answer of its own bytes, of all sizes, with one at a time
// or many; both ends count the same, each step has its times, and nothing is left open.
func TestVisits(t *testing.T) {
	for _, x := range []struct {
		request, response, inFlight int
		rate                        float64
		least                       uint64
	}{{1, 1, 1, 0, 500}, {1, 1, 64, 0, 2000}, {100, 7, 3, 0, 200}, {7, 1000, 16, 0, 200},
		{stream.MaxTripBytes, stream.MaxTripBytes, 8, 0, 20}, {3, stream.MaxTripBytes, 8, 0, 20},
		{200_000, 1, 4, 0, 40}, {1, 1, 8, 2000, 200}} {
		t.Run(fmt.Sprintf("%d-%d-%d-%g", x.request, x.response, x.inFlight, x.rate), func(t *testing.T) {
			before := 0 // with the receiver's port
			rx, tx, asks, answers, sent, received := visits(t, x.request, stream.TripOptions{ResponseBytes: x.response,
				InFlight: x.inFlight, PerSecond: x.rate},
				func(_, _ *stream.Conn) { before = streamtest.Holding(t).FDs })
			reached(t, asks, x.least)
			tx.Stop()
			if err := errors.Join(over(t, sent), over(t, received)); err != nil {
				t.Fatal(err)
			}
			a, b := asks.Snapshot(), answers.Snapshot()
			if a.Transactions != b.Transactions || a.Bytes != b.Bytes ||
				a.Bytes != a.Transactions*uint64(x.request) || a.Mismatches+b.Mismatches != 0 {
				t.Errorf("asked %+v, answered %+v", a, b)
			}
			w := asks.Times()
			for _, s := range []*stream.Times{w, w.Steps.Connect, w.Steps.Answer, w.Steps.Close} {
				if s.Count() != a.Transactions || s.QuantileUs(1) < s.QuantileUs(.5) {
					t.Errorf("%d times of %d", s.Count(), a.Transactions)
				}
			}
			if whole := w.Steps.Connect.MeanUs() + w.Steps.Answer.MeanUs() + w.Steps.Close.MeanUs(); whole <
				w.MeanUs()*.999 || whole > w.MeanUs()*1.001 {
				t.Errorf("steps of %g us, and %g us in all", whole, w.MeanUs())
			}
			if n := rx.Visits.Strangers.Load(); n != 0 {
				t.Errorf("%d strangers", n)
			}
			if now := streamtest.Holding(t).FDs; now != before-1 {
				t.Errorf("%d descriptors, %d before", now, before)
			}
		})
	}
}

// A connection that has another cookie, says nothing, or too little, is closed and counted, and
// disturbs nobody, also a receiver that waits for the one connection that its sender has.
func TestVisitsOfStrangers(t *testing.T) {
	for _, inFlight := range []int{1, 2} {
		t.Run(fmt.Sprint(inFlight), func(t *testing.T) { strangers(t, inFlight) })
	}
}

func strangers(t *testing.T, inFlight int) {
	var at string
	var cookie stream.Cookie
	rx, tx, asks, answers, sent, received := visits(t, 8, stream.TripOptions{ResponseBytes: 8, InFlight: inFlight},
		func(rx, _ *stream.Conn) { at, cookie = rx.Visits.At.String(), rx.Visits.Cookie })
	dial := func(say []byte) net.Conn {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write(say); err != nil {
			t.Fatal(err)
		}
		return c
	}
	reached(t, asks, 100)
	wrong := make([]byte, stream.PassBytes+8)
	dial(wrong)
	await.Until(t, "the first stranger", func() bool { return rx.Visits.Strangers.Load() == 1 })
	dial(cookie[:15]).Close()
	await.Until(t, "the second stranger", func() bool { return rx.Visits.Strangers.Load() == 2 })
	dial(nil) // and stays
	from := asks.Snapshot().Transactions
	reached(t, asks, from+100)
	tx.Stop()
	if err := errors.Join(over(t, sent), over(t, received)); err != nil {
		t.Fatal(err)
	}
	if a, b := asks.Snapshot(), answers.Snapshot(); a.Transactions != b.Transactions || a.Bytes != b.Bytes {
		t.Errorf("asked %+v, answered %+v", a, b)
	}
}

// A receiver that answers wrongly, too much or too little is found out; one that goes, and a port
// where nobody listens, end the flow.
func TestVisitsToALiar(t *testing.T) {
	lie := func(say []byte, flood bool) (*stream.Meter, error) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				c.Read(make([]byte, 1000))
				c.Write(say)
				c.Close()
			}
		}()
		_, tx, asks, _, sent, received := visits(t, 8, stream.TripOptions{ResponseBytes: 8, InFlight: 1},
			func(_, tx *stream.Conn) { tx.Visits.At = addrOf(ln) })
		if flood {
			reached(t, asks, 10)
		}
		if !flood {
			err = over(t, sent)
		}
		tx.Stop()
		if flood {
			err = over(t, sent)
		}
		over(t, received)
		return asks, err
	}
	if m, err := lie([]byte("not it, "), true); err != nil || m.Snapshot().Mismatches == 0 {
		t.Errorf("a wrong answer: %v, %+v", err, m.Snapshot())
	}
	if _, err := lie([]byte("short"), false); err == nil || !stream.BlamesPeer(err) {
		t.Errorf("half an answer: %v", err)
	}
	if m, err := lie(bytes.Repeat([]byte("x"), 9), true); err != nil || m.Snapshot().Mismatches == 0 {
		t.Errorf("more than an answer: %v, %+v", err, m.Snapshot())
	}
	_, _, _, _, sent, received := visits(t, 8, stream.TripOptions{ResponseBytes: 8, InFlight: 1},
		func(rx, _ *stream.Conn) { unix.Shutdown(rx.FD, unix.SHUT_WR) })
	if err := over(t, sent); err == nil || !stream.BlamesPeer(err) {
		t.Errorf("a receiver that went: %v", err)
	}
	over(t, received)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := addrOf(ln)
	ln.Close()
	_, _, _, _, sent, received = visits(t, 8, stream.TripOptions{ResponseBytes: 8, InFlight: 1},
		func(_, tx *stream.Conn) { tx.Visits.At = nobody })
	if err := over(t, sent); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("nobody listens: %v", err)
	}
	over(t, received)
}

// The end of a connection comes with the answer: three packets come to the sender, that of the
// handshake, the acknowledgement of its request, and these.
func TestVisitsEndWithTheAnswer(t *testing.T) {
	rx, tx, h := streamtest.Flow(t, streamtest.Payload(t, 1), sock.Options{})
	h.MessageBytes, h.ResponseBytes, h.Connects = 1, 1, true
	r, err := NewTCPReceiver(stream.Options{MessageBytes: 4096, Touch: stream.TouchVerify})
	if err == nil {
		err = r.Attach(rx, h)
	}
	if err != nil {
		t.Fatal(err)
	}
	served := onThread(func() error { return errors.Join(r.Receive(rx, new(stream.Meter)), r.Close()) })
	say := make([]byte, stream.PassBytes+1)
	stream.PutPass(say, h.Cookie, 0)
	var packets []int
	for range 21 {
		c, err := net.Dial("tcp", rx.Visits.At.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(say); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); err != nil || len(b) != 1 {
			t.Fatalf("the answer is %v, %v", b, err)
		}
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				t.Fatal(err)
			}
			packets = append(packets, int(info.Segs_in))
		}); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Sort(packets); packets[len(packets)/2] > 3 {
		t.Errorf("so many packets came: %v", packets)
	}
	if err := errors.Join(tx.EndOfSend(), over(t, served)); err != nil {
		t.Fatal(err)
	}
}

// Connections allocate nothing, once as many as there are at a time have been there.
func TestVisitsDoNotAllocate(t *testing.T) {
	for _, inFlight := range []int{1, 4} {
		doNotAllocate(t, inFlight)
	}
}

func doNotAllocate(t *testing.T, inFlight int) {
	_, tx, asks, _, sent, received := visits(t, 1, stream.TripOptions{ResponseBytes: 1, InFlight: inFlight}, nil)
	reached(t, asks, 500)
	runtime.GC()
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	from := asks.Snapshot().Transactions
	reached(t, asks, from+3000)
	runtime.ReadMemStats(&b)
	if n := b.Mallocs - a.Mallocs; n > 400 { // waiting for them takes some
		t.Errorf("%d allocations in 3000 connections", n)
	}
	tx.Stop()
	if err := errors.Join(over(t, sent), over(t, received)); err != nil {
		t.Fatal(err)
	}
}

func addrOf(ln net.Listener) netip.AddrPort { return ln.Addr().(*net.TCPAddr).AddrPort() }
