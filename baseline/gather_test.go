// SPDX-License-Identifier: MIT

package baseline

import (
	"errors"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"golang.org/x/sys/unix"
)

// What comes while a receiver gathers is taken with one call. It gathers when it has emptied the
// socket, and at no other time; not at all unless it was told to.
func TestGather(t *testing.T) {
	const message = 10_000
	for name, open := range map[string]func(stream.Options) (stream.Receiver, *stream.Gathering){
		"tcp": func(o stream.Options) (stream.Receiver, *stream.Gathering) {
			r, err := NewTCPReceiver(o)
			if err != nil {
				t.Fatal(err)
			}
			return r, r.gather
		},
		"tcp-trunc": func(o stream.Options) (stream.Receiver, *stream.Gathering) {
			r, err := newTruncReceiver(o)
			if err != nil {
				t.Fatal(err)
			}
			return r, r.gather
		},
	} {
		for _, time := range []time.Duration{0, time.Microsecond} {
			p, m := streamtest.Payload(t, message), new(stream.Meter)
			rx, tx, h := streamtest.Flow(t, p, sock.Options{})
			send := func() {
				if n, errno := sock.Send(tx.FD, p.Message(0), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); n != message ||
					errno != 0 {
					t.Fatalf("%s: sent %d: %v", name, n, errno)
				}
			}
			r, gather := open(stream.Options{MessageBytes: 8 * message, ReadBytes: 8 * message, Gather: time})
			naps := 0
			gather.Nap = func() { // meanwhile comes another message, then two, then the end
				switch naps++; naps {
				case 1:
					send()
				case 2:
					send()
					send()
					tx.EndOfSend()
				}
			}
			send()
			if time == 0 {
				tx.EndOfSend()
			}
			if err := errors.Join(r.Attach(rx, h), r.Receive(rx, m)); err != nil {
				t.Fatal(err)
			}
			// One message, one, two, the end; it gathers between them, and before the end.
			want := stream.Counters{Bytes: 4 * message, Calls: 4 + 3, Waits: 4 + 3}
			if time == 0 {
				want = stream.Counters{Bytes: message, Calls: 2, Waits: 2}
			}
			if c := m.Snapshot(); c != want {
				t.Errorf("%s, %v: %+v, want %+v", name, time, c, want)
			}
			r.Close()
		}
	}
}

// A read that took all it asked for may have left payload: nobody gathers then.
func TestGatherOnlyWhenEmpty(t *testing.T) {
	const message = 10_000
	p, m := streamtest.Payload(t, message), new(stream.Meter)
	rx, tx, h := streamtest.Flow(t, p, sock.Options{})
	if n, errno := sock.Send(tx.FD, p.Message(0), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); n != message || errno != 0 {
		t.Fatalf("sent %d: %v", n, errno)
	}
	tx.EndOfSend()
	r, err := NewTCPReceiver(stream.Options{MessageBytes: message, ReadBytes: 2500, Gather: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.gather.Nap = func() { t.Error("it gathers, and all reads were full") }
	if err := errors.Join(r.Attach(rx, h), r.Receive(rx, m)); err != nil {
		t.Fatal(err)
	}
	if c := m.Snapshot(); c.Bytes != message || c.Calls != 4+1 {
		t.Errorf("%+v", c)
	}
}
