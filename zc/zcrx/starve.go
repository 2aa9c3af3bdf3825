// SPDX-License-Identifier: MIT

package zcrx

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// idle is what happened since the last payload.
type idle struct {
	since time.Time
	fails int    // times that the kernel told that the NIC found no buffer
	alloc uint64 // the same, of all rings of the queue, when the time began
	taken uint64 // bytes that all of these had taken, when it began
	lost  uint64 // the queue's counters of that, when the time began
	known bool   // the driver has such counters
	told  bool   // the kernel told, and will not again before it is asked to
}

// begin notes where an idle time begins.
func (r *Receiver) beginIdle() {
	r.idle.since, r.idle.fails = time.Now(), 0
	r.idle.lost, r.idle.known = r.lost()
	if r.share != nil {
		r.idle.alloc = atomic.LoadUint64(&r.share.board[allocFails])
		r.idle.taken = r.share.board.sum(ringTaken, r.share.n)
	}
}

// othersTake reports whether another ring of the queue took payload in the idle time, which then
// begins anew: the NIC finds buffers, and this ring's senders are silent.
func (r *Receiver) othersTake() bool {
	if r.share == nil || r.share.board.sum(ringTaken, r.share.n) == r.idle.taken {
		return false
	}
	r.beginIdle()
	return true
}

// lost counts how often the queue wanted for a buffer, by the driver's counters.
func (r *Receiver) lost() (n uint64, known bool) {
	if r.queue == nil {
		return 0, false
	}
	return r.queue.Lost()
}

// idleTick runs when a wait brought no payload. It distinguishes a NIC without buffers from a
// sender without data. In others' turns it does nothing.
func (r *Receiver) idleTick(c *stream.Conn) error {
	if c.Turns.Off() { // a signal of the runtime's woke it
		return nil
	}
	if r.idle.since.IsZero() {
		r.beginIdle()
	}
	if r.queue == nil || c.Aborted() != nil || r.ended {
		return nil
	}
	if r.idle.told {
		r.idle.told = false
		_ = r.z.ArmEvent(uring.ZcrxAllocFail) // refused only when it is armed
	}
	if time.Since(r.idle.since) < nicqueue.StarvedAfter || r.othersTake() || !r.wanted() {
		return nil
	}
	op := fmt.Sprintf("starved: the NIC finds no buffer in RX queue %d: the application holds %d fragments, %d "+
		"bytes in all, of an area of %d buffers of %d bytes",
		r.queue.ID, r.held.Count(), r.held.Bytes(), r.buffers(), r.z.BufLen())
	how := "hold less (--hold), or give the NIC a larger area (--area-size)"
	if others := r.othersHold(); others != "" {
		op += "; " + others
		how = "hold less in all rings (--hold), or give the NIC a larger area (--area-size)"
	} else if r.held.Count() == 0 {
		op += "; the rest is in the socket, behind packets that were lost"
		how = "give the NIC a larger area (--area-size), or allow less data in flight (--rcvbuf)"
	}
	if what, fix := r.queue.Unsplit(); what != "" {
		op, how = op+"; "+what, fix+"; or "+how
	}
	return &fault.Error{Op: op, How: how}
}

// spare is how many buffers may be left, in the page pool's cache and in pieces,
// when a NIC finds none.
const spare = 64

// wanted reports whether the NIC wants for a buffer: it did during the idle time,
// or, where the kernel does not tell, all buffers are out of the queue's page pool
// and none is on its way back. A NIC that holds packets back until it has buffers
// again counts nothing.
func (r *Receiver) wanted() bool {
	if r.share != nil && atomic.LoadUint64(&r.share.board[allocFails]) > r.idle.alloc {
		return true
	}
	if now, _ := r.lost(); r.idle.fails > 0 || r.idle.known && now > r.idle.lost {
		return true
	}
	if r.proof.counts || r.held.Count() == 0 { // a kernel with events; nobody keeps any
		return false
	}
	out, ok := r.queue.Inflight()
	back := r.z.RefillEntries() - r.z.RefillSpace()
	return ok && int(out)-back >= r.buffers()-spare
}

// copyStarved runs when the kernel had no buffer to copy payload to. Then those in the refill ring
// come back; when there are none, only waiting helps, and where the kernel cannot copy, nothing
// does.
func (r *Receiver) copyStarved(m *stream.Meter) error {
	if r.idle.since.IsZero() {
		r.beginIdle()
	}
	if r.area.FD >= 0 {
		where, fix := r.queue.Whereabouts(r.fd)
		return &fault.Error{Op: "io_uring recv_zc: the kernel had to copy, but cannot write to a dmabuf: " + where,
			Err: unix.ENOMEM, How: fix}
	}
	if time.Since(r.idle.since) < nicqueue.StarvedAfter || r.othersTake() {
		if r.flushNow = true; r.z.RefillSpace() == r.z.RefillEntries() && r.held.Bytes() <= r.opt.NIC.HoldBytes {
			r.awaitBuffers(m)
		}
		return nil
	}
	op := fmt.Sprintf("starved: the kernel copies, but finds no buffer to copy to: the application holds %d "+
		"fragments, %d bytes in all, of an area of %d buffers of %d bytes",
		r.held.Count(), r.held.Bytes(), r.buffers(), r.z.BufLen())
	how := "hold less (--hold), or choose a larger area (--area-size)"
	if r.queue != nil {
		where, fix := r.queue.Whereabouts(r.fd)
		op += "; " + where
		if !r.flushes {
			fix += "; before Linux 6.19, buffers that were copied to are never returned"
		}
		how = fix
	}
	return &fault.Error{Op: op, Err: unix.ENOMEM, How: how}
}
