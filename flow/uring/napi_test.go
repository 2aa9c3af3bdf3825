// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestBusyPoll(t *testing.T) { eachEngine(t, testBusyPoll) }

func testBusyPoll(t *testing.T) {
	if f := Probe().BusyPoll; !f.Supported {
		t.Skipf("%s: %s", f.Name, f.Reason)
	}
	r := newRing(t, variants["deferred"])
	for _, p := range []busyPoll{{Time: 50 * time.Microsecond}, {Time: time.Millisecond, Prefer: true}} {
		if err := r.RegisterBusyPoll(p); err != nil {
			t.Fatal(err)
		}
		// Waiting still works: a socket on loopback has no NAPI instance.
		tx, rx := tcpPair(t)
		r.GetSQE().PollAdd(rx, unix.POLLIN, 3)
		if _, err := unix.Write(tx, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if c := take(t, r); c.UserData != 3 || c.Res&unix.POLLIN == 0 {
			t.Errorf("completion %+v", c)
		}
		if err := r.UnregisterBusyPoll(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBusyPollClosed(t *testing.T) { eachEngine(t, testBusyPollClosed) }

func testBusyPollClosed(t *testing.T) {
	r, err := open(Options{SQEntries: 4})
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if err := r.RegisterBusyPoll(busyPoll{}); !errors.Is(err, errClosed) {
		t.Errorf("closed ring: %v", err)
	}
}
