// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"
	"net/netip"
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
	bound   bool        // it is ours
	old     bindings    // of the interface, before that
	pools   []uint64    // the page pools that it got with our memory, in order; nil: not known
	unsplit nic.Unsplit // the driver's counters when our memory was bound
	wanted  wants       // and those of buffers

	lent     *lent // to the container that the flow comes to; nil: it is not
	stranger stranger
	unfenced bool // others may use it
	byPort   bool // flows are steered there by a rule of the end's
}

// Take prepares a queue of o.Dev. A NIC that cannot is an [*fault.Unsupported]
// of mode that names the failing step; then nothing stays changed. Several flows take a queue
// each, at the same time or one after the other, and let go of them in any order: what is set of
// the interface goes back with the last (see [lease.Changes]).
func Take(mode string, o stream.NICQueue) (*Queue, error) {
	q := &Queue{mode: mode, byPort: o.ByPort != nil}
	if err := q.take(o); err != nil {
		return nil, errors.Join(err, q.Release())
	}
	return q, nil
}

func (q *Queue) take(o stream.NICQueue) (err error) {
	if q.Dev, err = nic.Open(o.Dev); err != nil {
		return Unsupported(q.mode, err)
	}
	if q.Queue, q.lent, err = q.choose(o); err != nil {
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
	if err := q.keepFree(o.Beside); err != nil {
		return err
	}
	q.old = q.bindings()
	return nil
}

// Bound checks, when the queue's memory is bound, that it shows in the queue.
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
		return &fault.Unsupported{Mode: q.mode,
			Op: fmt.Sprintf("%s accepted the registration, but its %v does not use it", q.Dev.Name, q.Queue),
			How: "look at the kernel's log (dmesg), and report it with driver and kernel: ethtool -i " +
				q.Dev.Name + "; uname -r"}
	}
	q.pools = q.firstPools()
	q.unsplit, _ = q.Dev.Unsplit() // a driver without such counters has none to name
	q.wanted = q.wants()
	return nil
}

// Steer sends the flow c to the queue, or to queue number to where that is set; by port the end
// has done it.
func (q *Queue) Steer(c *stream.Conn, to *int) error {
	_, _ = q.lookAgain() // who cannot tell here says so when it is asked (Landed)
	q.renewPools()
	if q.byPort {
		return nil
	}
	id := q.ID
	if to != nil {
		id = *to
	}
	if err := q.changes.Steer(q.Dev, c.Local, c.Remote, id); err != nil {
		return Unsupported(q.mode, err)
	}
	return nil
}

// SteerPort sends all flows to local, of this host, to the queue, or to queue number to where that
// is set: connections that are yet to be made.
func (q *Queue) SteerPort(local netip.AddrPort, to *int) error {
	id := q.ID
	if to != nil {
		id = *to
	}
	if err := q.changes.Steer(q.Dev, local, netip.AddrPort{}, id); err != nil {
		return Unsupported(q.mode, err)
	}
	return nil
}

// Lost counts how often the queue wanted for a buffer, by the driver's counters, which not every
// driver has.
func (q *Queue) Lost() (n uint64, known bool) {
	all, err := q.Dev.QueueStats()
	s, ok := all[q.ID]
	return s.AllocFail + s.Drops, err == nil && ok
}

// Unsplit explains what becomes of packets that the NIC did not split since the memory was bound,
// and what to do about that; "": the driver counted none.
func (q *Queue) Unsplit() (what, fix string) {
	now, err := q.Dev.Unsplit()
	if err != nil {
		return "", ""
	}
	return nic.Unsplitting(q.Dev.Name, now.Grown(q.unsplit))
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
			return &fault.Error{Op: fmt.Sprintf("RX %v of %s is still bound %v after it was released", now, q.Dev.Name,
				unboundWithin),
				How: "if no process holds it, this is a kernel bug: ip link set " + q.Dev.Name +
					" down and up frees it"}
		}
	}
}
