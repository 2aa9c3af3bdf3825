// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestResize(t *testing.T) { eachEngine(t, testResize) }

func testResize(t *testing.T) {
	if f := Probe().Resize; !f.Supported {
		t.Skipf("%s: %s", f.Name, f.Reason)
	}
	if lacks(lackResize) {
		if err := newRing(t, variants["deferred"]).Resize(32, 64); !errors.Is(err, unix.EINVAL) ||
			!strings.Contains(told(err), "engine") {
			t.Errorf("an engine that cannot resize: %v", err)
		}
		return
	}
	wide := variants["cqe32"]
	wide.NoSQArray = true
	for name, o := range map[string]Options{"small": variants["deferred"], "wide": wide} {
		t.Run(name, func(t *testing.T) {
			r := newRing(t, o)
			_, rx := tcpPair(t)
			r.GetSQE().PollAdd(rx, unix.POLLIN, 99) // stays in flight throughout
			if _, err := r.Submit(); err != nil {
				t.Fatal(err)
			}
			for i, size := range []uint32{32, 4, 64} {
				if err := r.Resize(size, 2*size); err != nil {
					t.Fatal(err)
				}
				if r.SQEntries() != int(size) || r.CQEntries() != int(2*size) || r.SQSpace() != int(size) {
					t.Errorf("ring of %d and %d, %d free, after a resize to %d", r.SQEntries(), r.CQEntries(),
						r.SQSpace(), size)
				}
				for k := range uint64(3 * size) {
					r.GetSQE().Nop(k)
					if c := take(t, r); c.UserData != k {
						t.Fatalf("size %d: completion %+v, want %d", size, c, k)
					}
				}
				r.PrepTimeout(r.GetSQE(), time.Millisecond, 0, uint64(i))
				if c := take(t, r); c.Errno() != unix.ETIME {
					t.Errorf("timeout: %+v", c)
				}
			}
			r.GetSQE().Cancel(99, 1)
			for range 2 {
				if c := take(t, r); c.UserData != 99 && c.UserData != 1 {
					t.Errorf("completion %+v", c)
				}
			}
		})
	}
}

// Without memory for the new queues the ring is closed, and not used any more.
func TestResizeWithoutMemory(t *testing.T) {
	if f := Probe().Resize; !f.Supported {
		t.Skipf("%s: %s", f.Name, f.Reason)
	}
	r := newRing(t, Options{Engine: Native, SQEntries: 4, SingleIssuer: true, DeferTaskrun: true, NoSQArray: true})
	defer func() { newScratch = NewMemory }()
	newScratch = func(int, Pages) (*Memory, error) { return nil, unix.ENOMEM }
	if err := r.Resize(8, 0); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("resized: %v", err)
	}
	if err := r.Resize(8, 0); !errors.Is(err, errClosed) {
		t.Errorf("the ring lives on: %v", err)
	}
}

func TestResizeRefused(t *testing.T) { eachEngine(t, testResizeRefused) }

func testResizeRefused(t *testing.T) {
	if lacks(lackResize) {
		return // refuses all: TestResize
	}
	r := newRing(t, variants["plain"])
	if err := r.Resize(16, 0); !errors.Is(err, unix.EINVAL) || !strings.Contains(told(err), "DeferTaskrun") {
		t.Errorf("a ring without DeferTaskrun: %v", err)
	}
	r.GetSQE().Nop(1)
	if err := r.Resize(16, 0); err == nil || errors.Is(err, unix.EINVAL) {
		t.Errorf("with an entry that is not submitted: %v", err)
	}
}
