// SPDX-License-Identifier: MIT

package softnictest

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/nic"
)

// napi sets every NAPI instance of the receiver for the length of the test.
func napi(t testing.TB, s nic.NAPISettings) {
	t.Helper()
	set := func(s nic.NAPISettings) {
		do(t, rx.NS, func() error {
			d, err := nic.Open(rx.Dev)
			if err != nil {
				return err
			}
			defer d.Close()
			all, err := d.NAPIs()
			for _, n := range all {
				if err == nil {
					err = d.SetNAPI(n.ID, s)
				}
			}
			return err
		})
	}
	set(s)
	t.Cleanup(func() { set(nic.NAPISettings{}) })
}

// deferred: a queue's interrupt is back only after 20 polls, a millisecond apart, that found
// nothing.
var deferred = nic.NAPISettings{DeferHardIRQs: 20, GROFlushTimeoutNs: 1e6}

// While the kernel has interrupts deferred (napi_defer_hard_irqs), a timer polls the queue
// and it does not interrupt; afterwards it does.
func TestInterruptsAreDeferred(t *testing.T) {
	needLab(t)
	const queue, bytes = 2, 16 << 20
	steer(t, rule{port: 5060, queue: queue})
	l := listen(t, v4, 5060)
	interrupts := func() uint64 {
		t.Helper()
		c := count(t)
		transfer(t, l, bytes)
		n, packets := c.grown(fmt.Sprintf("rx%d_interrupts", queue)), c.grown(fmt.Sprintf("rx%d_wire_packets", queue))
		t.Logf("%d interrupts for %d packets", n, packets)
		if packets < bytes/9600 {
			t.Fatalf("%d packets came by queue %d: the flow is elsewhere", packets, queue)
		}
		return n
	}
	before := interrupts()
	// A flow of a busy machine that stands still for a while has no interrupt to begin anew.
	napi(t, nic.NAPISettings{DeferHardIRQs: 1000, GROFlushTimeoutNs: 1e6})
	during := interrupts()
	napi(t, nic.NAPISettings{})
	after := interrupts()
	// With it there is none where the end of the flow before is polled when it is set.
	if before == 0 || after == 0 || 4*during > before || 4*during > after {
		t.Errorf("%d interrupts without deferral, %d with it, %d without it again: want at least four times as "+
			"many without", before, during, after)
	}
}

// A queue that is stopped and started again while its interrupt is masked, or on its way,
// goes on.
func TestRestartsWhileDeferred(t *testing.T) {
	needLab(t)
	napi(t, deferred)
	split(t, splitOn)
	do(t, rx.NS, func() error { return setRSS(rx.Dev, 0, 1, 2) }) // sockets cannot read what queue 3 receives
	t.Cleanup(func() { do(t, rx.NS, func() error { return setRSS(rx.Dev) }) })
	u := newUdmabuf(t, 4<<20)
	await, stop := traffic(t, listen(t, v4, 5061))
	for range long.Rounds(2, 10) {
		for _, n := range []uint32{64, 512} {
			do(t, rx.NS, func() error { return setRings(rx.Dev, rings{RX: n, TX: n}) })
			await(1)
		}
		mustBindOnce(t, u)
		await(1)
	}
	if n := stop(); n == 0 {
		t.Error("no transfer was complete")
	}
}

// mustBindOnce restarts a queue twice: it gets other memory, and its own back.
func mustBindOnce(t *testing.T, u *udmabuf) {
	t.Helper()
	b, err := bindRX(t, u, boundQueue)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
}
