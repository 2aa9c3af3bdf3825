// SPDX-License-Identifier: MIT

package zcrx

import (
	"runtime"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
)

// Who naps while completions are handled sleeps in the kernel, although there are some, and what
// comes then ends it.
func TestNapInRing(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ring, err := uring.NewBest(uring.Options{SingleIssuer: true, DeferTaskrun: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	r, m := &Receiver{ring: ring}, new(stream.Meter)
	ring.GetSQE().Nop(1)
	if _, err := ring.SubmitAndWait(1, -1); err != nil {
		t.Fatal(err)
	}
	d := ring.Drain()
	slept := ring.Sleeps()
	if d.Next(); ring.CQReady() != 1 {
		t.Fatalf("%d completions", ring.CQReady())
	}
	r.nap(m) // nothing comes
	if n := ring.Sleeps() - slept; n == 0 || m.Snapshot().Waits != 1 {
		t.Errorf("%d sleeps, %+v", n, m.Snapshot())
	}
	ring.GetSQE().Nop(2)
	if r.nap(m); ring.CQReady() != 2 {
		t.Errorf("%d completions", ring.CQReady())
	}
	if d.CQE().UserData != 1 {
		t.Errorf("the completion that was handled is %+v", d.CQE())
	}
	d.Done()
}
