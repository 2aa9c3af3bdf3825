package nic

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/lab/guest"
)

// inLab runs f in the lab's receiving namespace, on a thread of its own, with
// the soft NIC opened.
func inLab(t *testing.T, f func(t *testing.T, d *Device)) {
	t.Helper()
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs the lab's guest: go test -exec "$PWD/bin/zcbench lab exec --" ./nic`)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // ends with the goroutine: it is in another namespace
		h, err := netns.GetFromName(guest.NSReceiver)
		if err == nil {
			defer h.Close()
			err = netns.Set(h)
		}
		if err != nil {
			done <- err
			return
		}
		d, err := Open(guest.Ends[0].Dev)
		if err == nil {
			defer d.Close()
			defer func() {
				if p := recover(); p != nil {
					done <- fmt.Errorf("panic: %v", p)
				}
			}()
			err = nil
			f(t, d)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestLabHeaderSplit(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		before, err := d.HeaderSplit()
		if err != nil {
			t.Error(err)
			return
		}
		var c Changes
		if err := c.SplitHeaders(d); err != nil {
			t.Error(err)
		}
		if h, err := d.HeaderSplit(); err != nil || h.State != SplitOn || h.Threshold != 0 {
			t.Errorf("on: %v, %v", h, err)
		}
		if err := c.Undo(); err != nil {
			t.Error(err)
		}
		if h, err := d.HeaderSplit(); err != nil || h != before {
			t.Errorf("restored to %v, was %v: %v", h, before, err)
		}
	})
}

func TestLabQueues(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		all, err := d.Queues()
		if err != nil || len(all) < 2 {
			t.Errorf("queues %v, %v", all, err)
			return
		}
		for i, q := range all {
			if q.ID != i || q.NAPI == 0 || q.Provider != ProviderNone {
				t.Errorf("queue %d: %+v", i, q)
			}
			if got, ok, err := d.QueueOfNAPI(q.NAPI); !ok || err != nil || got.ID != q.ID {
				t.Errorf("NAPI %d: %+v %v %v", q.NAPI, got, ok, err)
			}
		}
		if _, err := d.Queue(len(all)); err == nil {
			t.Error("found a queue beyond the last")
		}
		if s, err := d.QueueStats(); err != nil || len(s) != len(all) {
			t.Errorf("counters %v, %v", s, err)
		}
		if p, err := d.PagePools(); err != nil || len(p) < len(all) {
			t.Errorf("pools %v, %v", p, err)
		}
		if s, err := d.Stats(); err != nil || len(s) == 0 {
			t.Errorf("driver counters %v, %v", s, err)
		}
		if d.HasXDP() {
			t.Error("an XDP program is attached")
		}
	})
}

func TestLabKeepFree(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		before, err := d.Indirection()
		if err != nil {
			t.Error(err)
			return
		}
		var c Changes
		if err := c.KeepFree(d, 1); err != nil {
			t.Error(err)
		}
		if now, err := d.Indirection(); err != nil || slices.Contains(now, 1) {
			t.Errorf("table %v, %v", now, err)
		}
		if err := c.Undo(); err != nil {
			t.Error(err)
		}
		if now, err := d.Indirection(); err != nil || !slices.Equal(now, before) {
			t.Errorf("restored to %v, was %v: %v", now, before, err)
		}
	})
}

func TestLabSteer(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		before, err := d.HasRules()
		if err != nil {
			t.Error(err)
			return
		}
		for _, c := range []struct{ local, remote string }{{"10.77.0.1:5000", "10.77.0.2:6000"}, {"[fd00:77::1]:5000", "[fd00:77::2]:6000"}} {
			var ch Changes
			if err := ch.Steer(d, netip.MustParseAddrPort(c.local), netip.MustParseAddrPort(c.remote), 1); err != nil {
				t.Error(err)
			}
			if n, err := d.HasRules(); n != before+1 || err != nil {
				t.Errorf("%d rules after one more than %d: %v", n, before, err)
			}
			if err := ch.Undo(); err != nil {
				t.Error(err)
			}
		}
		if n, _ := d.HasRules(); n != before {
			t.Errorf("%d rules at the end, %d before", n, before)
		}
		if _, err := d.Steer(netip.MustParseAddrPort("10.77.0.1:1"), netip.MustParseAddrPort("10.77.0.2:2"), 99); err == nil {
			t.Error("steered to a queue that is not there")
		}
	})
}

func TestOpenNothing(t *testing.T) {
	_, err := Open("no-such-if")
	if e, ok := err.(*Error); !ok || e.Err != unix.ENODEV || e.Fix() == "" {
		t.Errorf("error %v", err)
	}
}

// Loopback has none of it: each answer says what to do.
func TestLoopback(t *testing.T) {
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, e1 := d.HeaderSplit()
	_, e2 := d.Indirection()
	_, e3 := d.HasRules()
	for i, err := range []error{e1, e2, e3} {
		if e, ok := err.(*Error); !ok || e.Fix() == "" {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
