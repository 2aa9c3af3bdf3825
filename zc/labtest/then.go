// SPDX-License-Identifier: MIT

package labtest

import (
	"strconv"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/plan"
)

// Then runs zcbench with a receive mode that takes a queue over, and passes on what it receives:
// every byte comes, and goes on, without a copy, and comes back right. A flow that goes to another
// queue is found out, and is passed on all the same. The device is as it was. In the long run also
// as fast as it can.
func Then(t *testing.T, rx string, args ...string) {
	Need(t)
	before := DeviceState(t)
	args = append([]string{"--then", plan.ThenForward}, args...)
	r := measured(t, rx, args...)
	on, back := r.SUT.Then, r.TG.Then
	switch h := r.SUT; {
	case on == nil || back == nil:
		t.Fatalf("the SUT passed on %+v, the TG received %+v", on, back)
	case back.Bytes == 0 || back.Mismatches == nil || *back.Mismatches != 0:
		t.Errorf("%d bytes came back, of which %s differ", back.Bytes, count(back.Mismatches))
	case !whole(h.ZeroCopyBytes, h.CopiedBytes, *h.Bytes) || !uncopied(on.ZeroCopyBytes, on.CopiedBytes):
		t.Errorf("%s of %s bytes came without a copy, and %s of %d went on", count(h.ZeroCopyBytes), count(h.Bytes),
			count(on.ZeroCopyBytes), on.Bytes)
	default:
		t.Logf("%s: %d bytes came, %d went on, %s of them known to be uncopied, %d came back", rx, *h.Bytes, on.Bytes,
			count(on.ZeroCopyBytes), back.Bytes)
	}
	if long.Wanted() {
		thenFast(t, rx, args...)
	}
	r = invalid(t, rx, ": the flow landed on queue 0, but the provider is on queue ",
		append(args, "--control", plan.WrongQueue)...)
	if r.SUT.CopiedBytes == nil || *r.SUT.CopiedBytes == 0 || r.TG.Then == nil || r.TG.Then.Bytes == 0 ||
		*r.TG.Then.Mismatches != 0 {
		t.Errorf("by another queue %s bytes were copied, and %+v came back", count(r.SUT.CopiedBytes), r.TG.Then)
	}
	if after := DeviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
}

// ThenWrite runs zcbench with a receive mode that takes a queue over, and writes what it receives
// to a file in a folder, on a disk or in memory: every byte comes without a copy and is in the
// file. On a disk nearly all of it goes there without one, too, because segments are of a page, and
// in memory none. A flow that goes to another queue is found out, and is written all the same. The
// device is as it was. In the long run also as fast as it can.
func ThenWrite(t *testing.T, rx, dir string, onDisk bool, args ...string) {
	Need(t)
	before := DeviceState(t)
	args = append([]string{"--then", plan.ThenWrite(dir)}, args...)
	written(t, rx, onDisk, args...)
	if long.Wanted() {
		written(t, rx, onDisk, append(args, "--pace", "none")...)
	}
	r := invalid(t, rx, ": the flow landed on queue 0, but the provider is on queue ",
		append(args, "--control", plan.WrongQueue)...)
	if r.SUT.CopiedBytes == nil || *r.SUT.CopiedBytes == 0 || r.SUT.Then == nil || r.SUT.Then.Bytes == 0 {
		t.Errorf("by another queue %s bytes were copied, and %+v were written", count(r.SUT.CopiedBytes), r.SUT.Then)
	}
	if after := DeviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
}

// written makes a run that writes to a file, and looks where payload was copied.
func written(t *testing.T, rx string, onDisk bool, args ...string) {
	t.Helper()
	r := measured(t, rx, args...)
	h, on := r.SUT, r.SUT.Then
	if on == nil || on.Bytes == 0 || on.ZeroCopyBytes == nil || on.CopiedBytes == nil {
		t.Fatalf("the SUT wrote %+v", on)
	}
	verified := metric(h, "then_verified_bytes")
	switch {
	case !whole(h.ZeroCopyBytes, h.CopiedBytes, *h.Bytes):
		t.Errorf("%s of %s bytes came without a copy", count(h.ZeroCopyBytes), count(h.Bytes))
	case onDisk && *on.ZeroCopyBytes < on.Bytes/10*9, !onDisk && *on.CopiedBytes != on.Bytes:
		t.Errorf("%s of %d bytes were written without a copy; %v", count(on.ZeroCopyBytes), on.Bytes, r.Warnings)
	case !(verified > 0):
		t.Errorf("%v bytes were compared", verified)
	}
	t.Logf("%s: %.3f Gbit/s, %d bytes came, %d were written, %s of them without a copy; %v compared, %v overwritten; "+
		"%v requests; %v", rx, *h.ThroughputGbps, *h.Bytes, on.Bytes, count(on.ZeroCopyBytes), verified,
		metric(h, "then_overwritten_bytes"), metric(h, "zcrx_onward_requests"), r.Warnings)
}

// thenFast passes on as fast as it can: what does not leave holds the sender back, and the NIC does
// not starve.
func thenFast(t *testing.T, rx string, args ...string) {
	t.Helper()
	r := measured(t, rx, append(args, "--pace", "none")...)
	if on := r.SUT.Then; on == nil || !uncopied(on.ZeroCopyBytes, on.CopiedBytes) || *r.TG.Then.Mismatches != 0 {
		t.Errorf("as fast as it can, %+v went on, and %+v came back", on, r.TG.Then)
	} else {
		t.Logf("%s: %.3f Gbit/s, passed on %.3f", rx, *r.SUT.ThroughputGbps, on.ThroughputGbps)
	}
}

// ThenKilled kills zcbench and its agents (kill -9) while payload is passed on: the kernel frees
// the queue and the memory, which devmem has bound for sending, too, zcbench restores what was set,
// and the next run passes payload on.
func ThenKilled(t *testing.T, rx string, args ...string) {
	Need(t)
	splits(t)
	before, memories, came := DeviceState(t), DMABufs(t), receivedBack(t)
	args = append([]string{"--then", plan.ThenForward}, args...)
	v := startVictim(t, rx, append(args, "--sut", "netns:"+RXNS, "--pace", strconv.Itoa(paceMbps)+"M")...)
	v.until(t, "a MiB has come back", func() bool { return receivedBack(t) > came+1<<20 })
	if rx == "devmem" && DMABufs(t) == memories {
		t.Error("it has no memory of a device: the test shows nothing")
	}
	v.kill(t)
	if _, rules := set(t); rules == 0 {
		t.Error("it has left no rule: the test shows nothing")
	}
	AwaitFree(t, 3)
	AwaitDMABufs(t, memories)
	said, err := restore(t)
	t.Log(said)
	if err != nil {
		t.Error(err)
	}
	asBefore(t, before)
	r := measured(t, rx, args...)
	if on := r.SUT.Then; on == nil || !uncopied(on.ZeroCopyBytes, on.CopiedBytes) || *r.TG.Then.Mismatches != 0 {
		t.Errorf("after it %+v went on, and %+v came back", on, r.TG.Then)
	}
	AwaitDMABufs(t, memories)
}

// receivedBack reads how many bytes have come to the other end.
func receivedBack(t *testing.T) (n uint64) {
	t.Helper()
	all, err := In(TXNS, func() (map[int]nic.QueueStats, error) {
		d, err := nic.Open(TXDev)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.QueueStats()
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		n += q.Bytes
	}
	return n
}
