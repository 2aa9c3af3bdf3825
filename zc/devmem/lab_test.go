// SPDX-License-Identifier: MIT

package devmem_test

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/msgzc"
)

var open = labtest.Opener(devmem.New)

// run makes a transfer, to devmem unless it says otherwise.
func run(t *testing.T, x labtest.Transfer) (labtest.Outcome, error) {
	t.Helper()
	if x.Open == nil {
		x.Open = open
	}
	return x.Run(t)
}

// mustArrive checks that all bytes arrived, without a copy.
func mustArrive(t *testing.T, x labtest.Transfer) labtest.Outcome {
	t.Helper()
	o, err := run(t, x)
	if err = errors.Join(err, o.Err); err != nil {
		t.Fatalf("%v\nfix: %s", err, fault.Fix(err))
	}
	hasArrived(t, x, o)
	return o
}

// hasArrived checks what came of one.
func hasArrived(t *testing.T, x labtest.Transfer, o labtest.Outcome) {
	t.Helper()
	c, want := o.Counters, uint64(x.Bytes)
	if x.TX != nil {
		want = o.Sent.Bytes
	}
	if c.Bytes != want || want < uint64(x.Bytes) || c.Mismatches != 0 {
		t.Errorf("%d bytes of %d, %d wrong from %d on", c.Bytes, want, c.Mismatches, c.FirstMismatch)
	}
}

// mustBeZeroCopy checks a transfer to devmem that went as it should.
func mustBeZeroCopy(t *testing.T, x labtest.Transfer) labtest.Outcome {
	t.Helper()
	o := mustArrive(t, x)
	wasZeroCopy(t, o)
	return o
}

// isZeroCopy checks what came of one.
func isZeroCopy(t *testing.T, x labtest.Transfer, o labtest.Outcome) {
	t.Helper()
	hasArrived(t, x, o)
	wasZeroCopy(t, o)
}

func wasZeroCopy(t *testing.T, o labtest.Outcome) {
	t.Helper()
	c := o.Counters
	if c.ZeroCopyBytes != c.Bytes || c.CopiedBytes != 0 || c.LinearBytes != 0 {
		t.Errorf("%d bytes without a copy, %d copied, %d linear: %s", c.ZeroCopyBytes, c.CopiedBytes, c.LinearBytes,
			o.Evidence.Why)
	}
	if o.Figure("devmem_provider_bound") != 1 || o.Figure("devmem_pool_bound") != 1 ||
		o.Figure("devmem_flow_queue") != o.Figure("devmem_queue") {
		t.Errorf("binding %v, in a pool %v, flow on queue %v of %v", o.Figure("devmem_provider_bound"),
			o.Figure("devmem_pool_bound"), o.Figure("devmem_flow_queue"), o.Figure("devmem_queue"))
	}
	if r, f := o.Figure("devmem_tokens_received"), o.Figure("devmem_tokens_freed"); r != f || r < 1 {
		t.Errorf("%v tokens received, %v freed", r, f)
	}
	if len(o.Evidence.Notes) > 0 {
		t.Errorf("notes: %q", o.Evidence.Notes)
	}
	t.Logf("%d MiB: %v frags in %v reads, %v setsockopt, %v ranges; %d calls (%.1f per MB), %d waits", c.Bytes>>20,
		o.Figure("devmem_frags"), o.Figure("devmem_recvmsg_calls")-o.Figure("devmem_recvmsg_empty"),
		o.Figure("devmem_setsockopt_calls"), o.Figure("devmem_token_ranges"), c.Calls,
		float64(c.Calls)/(float64(c.Bytes)/1e6), c.Waits)
}

var senders = map[string]func(stream.Options) (stream.Sender, error){
	"tcp":          nil,
	"msg-zerocopy": labtest.TXOpener(msgzc.New),
	"devmem":       labtest.TXOpener(devmem.NewSender),
}

// Each sender with families and HW GRO, in pairs, or, if asked for, all with all.
func TestLabReceive(t *testing.T) {
	labtest.Need(t)
	eachSender(func(name, family string, gro bool) {
		t.Run(fmt.Sprintf("%s/hwgro=%v/%s", family, gro, name), func(t *testing.T) {
			tx := senders[name]
			o := mustBeZeroCopy(t, labtest.Transfer{Family: family, Bytes: 16 << 20, Setup: labtest.HWGRO(t, gro),
				TX: tx, ZeroCopy: tx != nil})
			mustHaveSent(t, name, o)
		})
	})
}

// eachSender calls f with senders, families and HW GRO.
func eachSender(f func(name, family string, gro bool)) {
	names := slices.Sorted(maps.Keys(senders))
	labtest.EachPath(len(names), func(i int, family string, gro bool) { f(names[i], family, gro) })
}

// Every way of giving back frees what was received; batches keep their promise
// in calls.
func TestLabBatches(t *testing.T) {
	labtest.Need(t)
	for _, batch := range []int{1, 64, 512, 1024} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			o := mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 32 << 20,
				NIC: stream.NICQueue{TokenBatch: batch}})
			// A call for every batch, one at the end, and those made for want of payload.
			most := o.Figure("devmem_frags")/float64(batch) + 1 + o.Figure("devmem_idle_releases")
			if calls := o.Figure("devmem_setsockopt_calls"); calls > most {
				t.Errorf("%v calls of setsockopt for %v fragments, want at most %v", calls, o.Figure("devmem_frags"),
					most)
			}
			if batch == 1 && o.Figure("devmem_setsockopt_avoided") != 0 {
				t.Errorf("%v reads were not followed by a release", o.Figure("devmem_setsockopt_avoided"))
			}
		})
	}
}

// Other sizes cost calls, never bytes.
func TestLabSizes(t *testing.T) {
	labtest.Need(t)
	for name, x := range map[string]labtest.Transfer{
		"read 4 KiB":     {ReadBytes: 4 << 10},
		"read 100 bytes": {ReadBytes: 100, Bytes: 1 << 20},
		"read 64 MiB":    {ReadBytes: 64 << 20},
		"huge pages":     {NIC: stream.NICQueue{Area: dmabuf.Huge, AreaBytes: 16 << 20}},
		"tight":          {NIC: stream.NICQueue{AreaBytes: 4 << 20, TokenBatch: 1024}}, // the ring, and as much again
		"hold 8 MiB":     {NIC: stream.NICQueue{HoldBytes: 8 << 20}},
		"queue 1":        {NIC: stream.NICQueue{Queue: new(int)}},
	} {
		t.Run(name, func(t *testing.T) {
			x.Family = "ipv6"
			if x.NIC.Area == dmabuf.Huge {
				labtest.AwaitHugePages(t, x.NIC.AreaBytes)
			}
			if x.Bytes == 0 {
				x.Bytes = 8 << 20
			}
			mustBeZeroCopy(t, x)
		})
	}
}

// All bytes of a GiB from each sender, with each pair of family and HW GRO.
// TestLabReceive does that with less.
func TestLabGiB(t *testing.T) {
	labtest.Need(t)
	long.Test(t)
	eachSender(func(name, family string, gro bool) {
		t.Run(fmt.Sprintf("%s/%s/hwgro=%v", name, family, gro), func(t *testing.T) {
			tx := senders[name]
			mustBeZeroCopy(t, labtest.Transfer{Family: family, Bytes: 1 << 30, TX: tx, ZeroCopy: tx != nil,
				Setup: labtest.HWGRO(t, gro)})
		})
	})
}

// Nothing is allocated per read: a flow of many allocates no more than a short
// one.
func TestLabAllocations(t *testing.T) {
	labtest.Need(t)
	const look = 300 // allocations of a look at the queue, when nothing comes: 140 to 290
	allocs := func(bytes int) (uint64, float64) {
		var a, b runtime.MemStats
		var r stream.Receiver
		looks := 0
		o := mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: bytes, Touch: stream.TouchRead,
			ReadBytes: 16 << 10, TX: senders["devmem"], ZeroCopy: true,
			Begun: func(begun stream.Receiver) { r = begun; runtime.ReadMemStats(&a) },
			Ended: func() { runtime.ReadMemStats(&b); looks = devmem.Looks(r) }})
		t.Logf("%d looks", looks)
		return b.Mallocs - a.Mallocs - min(b.Mallocs-a.Mallocs, uint64(looks*look)), o.Figure("devmem_recvmsg_calls")
	}
	mib := long.Rounds(32, 64)
	few, _ := allocs(1 << 20)
	many, reads := allocs(mib << 20)
	// The runtime and the sender's start allocate a little, by time.
	if many > few+uint64(reads)/2 {
		t.Errorf("%d allocations for 1 MiB, %d for %d MiB in %v reads", few, many, mib, reads)
	}
	t.Logf("%d allocations for 1 MiB, %d for %d MiB in %v reads", few, many, mib, reads)
}
