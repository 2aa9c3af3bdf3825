// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
)

// Queue is a queue that is taken over, as it was found when its memory was bound.
type Queue struct {
	nic.Queue
	Dev *nic.Device

	mode    string
	changes lease.Changes
	bound   bool   // it is ours
	pool    uint64 // the page pool that it got with our memory; 0: not known

	stranger stranger
	unfenced bool // others may use it
}

// Take prepares a queue of o.Dev. A NIC that cannot is an [*fault.Unsupported]
// of mode that names the failing step; then nothing stays changed. Several flows take a queue
// each, at the same time or one after the other, and let go of them in any order: what is set of
// the interface goes back with the last (see [lease.Changes]).
func Take(mode string, o stream.NICQueue) (*Queue, error) {
	q := &Queue{mode: mode}
	if err := q.take(o); err != nil {
		return nil, errors.Join(err, q.Release())
	}
	return q, nil
}

func (q *Queue) take(o stream.NICQueue) (err error) {
	if q.Dev, err = nic.Open(o.Dev); err != nil {
		return Unsupported(q.mode, err)
	}
	if q.Queue, err = chooseQueue(q.mode, q.Dev, o.Queue); err != nil {
		return err
	}
	if q.Dev.HasXDP() {
		return xdpAttached(q.mode, q.Dev)
	}
	if err := q.changes.SplitHeaders(q.Dev); err != nil {
		return Unsupported(q.mode, err)
	}
	if err := q.changes.AllowRules(q.Dev); err != nil {
		return Unsupported(q.mode, err)
	}
	return q.keepFree(o.Beside)
}

// Bound is called when the queue's memory is bound: it must show in the queue.
func (q *Queue) Bound(by nic.Provider) (err error) {
	q.bound = true
	// gve rests all queues to restart one (gve_turndown of gve_main.c, Linux 7.3.4).
	if err := q.Dev.AwaitCarrier(carrierWithin); err != nil {
		return err
	}
	// The queue was restarted: its NAPI instance may have another number.
	if q.Queue, err = q.Dev.Queue(q.ID); err != nil {
		return err
	}
	if q.Provider != by {
		return &fault.Unsupported{Mode: q.mode, Op: fmt.Sprintf("%s accepted the registration, but its %v does not use it", q.Dev.Name, q.Queue),
			How: "look at the kernel's log (dmesg), and report it with driver and kernel: ethtool -i " + q.Dev.Name + "; uname -r"}
	}
	p, _ := q.findPool()
	q.pool = p.ID
	return nil
}

// Steer sends the flow c to the queue, or to queue number to where that is set.
func (q *Queue) Steer(c *stream.Conn, to *int) error {
	_, _ = q.lookAgain() // who cannot tell here says so when it is asked (Landed)
	id := q.ID
	if to != nil {
		id = *to
	}
	if err := q.changes.Steer(q.Dev, c.Local, c.Remote, id); err != nil {
		return Unsupported(q.mode, err)
	}
	return nil
}

// Lost is how often the queue wanted for a buffer, by the driver's counters,
// which not every driver has.
func (q *Queue) Lost() (n uint64, known bool) {
	all, err := q.Dev.QueueStats()
	s, ok := all[q.ID]
	return s.AllocFail + s.Drops, err == nil && ok
}

// Buffers is at most how many buffers the queue's page pool has handed out to the
// driver since the memory was bound. ok is false where that is not told: before
// Linux 6.8, without CONFIG_PAGE_POOL_STATS, when the queue is another interface's,
// or when it got another pool meanwhile.
func (q *Queue) Buffers() (n uint64, ok bool) {
	p, ok := q.findPool()
	if !ok || p.ID != q.pool {
		return 0, false
	}
	all, err := q.Dev.PoolStats()
	s, ok := all[p.ID]
	return s.Buffers(), err == nil && ok
}

// Inflight is how many buffers are out of the queue's page pool: in the NIC's
// ring, in packets, with the application, and given back but not fetched yet.
func (q *Queue) Inflight() (n uint64, ok bool) {
	p, ok := q.findPool()
	return p.Inflight, ok
}

// findPool finds the page pool of the queue's provider: the one that it had at first, while that is
// in use, or else that of its NAPI instance.
func (q *Queue) findPool() (p nic.PagePool, ok bool) {
	for range renewals {
		_, _ = q.lookAgain() // what cannot be read has not changed
		before := q.NAPI
		pools, err := q.Dev.PagePools()
		if err != nil {
			return p, false
		}
		if p, ok = poolOf(pools, q.Queue, q.pool); ok {
			return p, true
		}
		if _, err = q.lookAgain(); err != nil || q.NAPI == before {
			return p, false
		}
	}
	return p, false
}

// renewals is how often in a row the numbers of NAPI instances are looked at, where others renew
// them between one look and the next (see [napis]).
const renewals = 10

// poolOf is the page pool of q's provider: number id, or where that is gone, q's by its NAPI
// instance.
func poolOf(pools []nic.PagePool, q nic.Queue, id uint64) (p nic.PagePool, ok bool) {
	for _, is := range []func(nic.PagePool) bool{
		func(p nic.PagePool) bool { return id != 0 && p.ID == id },
		func(p nic.PagePool) bool { return p.NAPI == q.NAPI },
	} {
		if i := slices.IndexFunc(pools, func(p nic.PagePool) bool { return p.Provider == q.Provider && !p.Detached && is(p) }); i >= 0 {
			return pools[i], true
		}
	}
	return p, false
}

// StarvedAfter is how long a flow may bring nothing while the NIC finds no
// buffer: TCP has tried again several times by then.
const StarvedAfter = 2 * time.Second

// carrierWithin is how long a link may take to come back after the queue was restarted.
const carrierWithin = 10 * time.Second

// unboundWithin is how long a queue may take to get its own memory back.
const unboundWithin = 5 * time.Second

// Release restores the device in reverse order, when the mode has let go of the
// queue. It may be called again.
func (q *Queue) Release() error {
	if q.Dev == nil {
		return nil
	}
	// Header split cannot go off before the queue is free.
	err := errors.Join(q.awaitUnbound(), q.changes.Undo(), q.Dev.Close())
	q.Dev = nil
	return err
}

// awaitUnbound waits until the queue that was ours has no provider: the kernel
// closes a ring in its own time.
func (q *Queue) awaitUnbound() error {
	if !q.bound {
		return nil
	}
	for end := time.Now().Add(unboundWithin); ; time.Sleep(5 * time.Millisecond) {
		_, _ = q.lookAgain() // for others: the numbers may be new
		now, err := q.Dev.Queue(q.ID)
		if err != nil {
			return err
		}
		if now.Provider == nic.ProviderNone {
			return nil
		}
		if time.Now().After(end) {
			return &fault.Error{Op: fmt.Sprintf("RX %v of %s is still bound %v after it was released", now, q.Dev.Name, unboundWithin),
				How: "if no process holds it, this is a kernel bug: ip link set " + q.Dev.Name + " down and up frees it"}
		}
	}
}
