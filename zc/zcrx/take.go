// SPDX-License-Identifier: MIT

package zcrx

import (
	"sync/atomic"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"golang.org/x/sys/unix"
)

const (
	// waitTime bounds one sleep, so that an aborted or starving run is noticed.
	waitTime = 100 * time.Millisecond
	// backlogTime bounds it while buffers wait for room in the refill ring: the
	// kernel does not say when it has taken some.
	backlogTime = time.Millisecond
)

// arm issues the multishot receive; the next enter submits it.
func (r *Receiver) arm() { r.ring.GetSQE().RecvZC(r.fd, r.z.ID(), userRecv) }

// Receive takes payload until the sender ends the flow. Nothing is allocated per
// completion.
func (r *Receiver) Receive(c *stream.Conn, m *stream.Meter) error {
	switch {
	case r.visits != nil:
		return r.receiveVisits(c, m)
	case r.share != nil:
		return r.receiveShared(c, m)
	}
	if r.onward != nil {
		return r.passOn(c, m)
	}
	r.arm()
	for !r.ended {
		if err := r.enter(m); err != nil {
			return stream.ReceiveError(c, "io_uring recv_zc", err)
		}
		bytes, err := r.take(c, m)
		if err == nil {
			err = r.growIfWanted()
		}
		if err != nil {
			return err
		}
		if bytes == 0 {
			if err := r.idleTick(c); err != nil {
				return err
			}
		} else {
			r.idle.since = time.Time{}
		}
		if r.held.Full() {
			r.makeRoom(m)
		}
	}
	return c.Aborted()
}

// enter brings completions, sleeping until there are any. Where the kernel
// counts what it copies, that is one call whether it sleeps or not; where it does
// not, the queue that the flow comes by is looked at before every sleep.
func (r *Receiver) enter(m *stream.Meter) error {
	if r.ring.CQReady() > 0 {
		return nil
	}
	if r.proof.watches() {
		m.Call()
		if _, err := r.ring.SubmitAndGetEvents(); err != nil || r.ring.CQReady() > 0 {
			return err
		}
		r.look(m)
	}
	m.Wait()
	var err error
	if turns := r.turns(); r.held.Bytes() > r.opt.NIC.HoldBytes {
		_, err = r.ring.SubmitAndWait(1, turns.Nap(backlogTime))
	} else {
		_, err = r.ring.SubmitAndGather(r.opt.Gather, turns.Nap(waitTime))
	}
	return err
}

// turns returns when something may come; nil: all the time. Flows of a queue have the same.
func (r *Receiver) turns() *stream.Turns {
	if len(r.members) == 0 {
		return nil
	}
	return r.members[0].conn.Turns
}

// take handles the completions that are there and gives back what is not held.
func (r *Receiver) take(c *stream.Conn, m *stream.Meter) (bytes int, err error) {
	again, pieces := false, 0
	looks, holds := r.opt.Looks(), r.opt.NIC.HoldBytes > 0
	d := r.ring.Drain()
	for !r.held.Full() {
		if !looks && !holds && r.held.Count() == 0 {
			k, n := r.z.GiveBack(&d, userRecv)
			pieces, bytes = pieces+k, bytes+int(n)
		}
		if !d.Next() {
			break
		}
		cqe := d.CQE()
		switch {
		case cqe.UserData == userEvent:
			r.event(uring.ZcrxEvent(cqe.Res))
		case cqe.More():
			if looks {
				if err = r.view.Next(r.touch, int(r.z.Where(d.Extra())), int(cqe.Res), m); err != nil {
					d.Done()
					return bytes, err
				}
			}
			// What is not held goes back at once, without being put into a list.
			if off, n := d.Extra()[0], uint32(cqe.Res); holds || r.held.Count() > 0 || !r.z.Refill(off, n) {
				r.held.Push(off, n)
			}
			bytes += int(cqe.Res)
			pieces++
		default:
			if again, err = r.judge(c, *cqe, m); err != nil {
				d.Done()
				return bytes, err
			}
		}
	}
	d.Done()
	if err := r.view.End(m); err != nil {
		return bytes, err
	}
	if bytes > 0 {
		r.publish()
		r.stats.pieces += uint64(pieces)
		if r.proof.taken == 0 {
			r.look(m)
		}
		payload, err := r.touch.Payload(bytes)
		m.Bytes(payload)
		_, copied := r.z.Copies()
		r.proof.account(uint64(payload), copied, m)
		if err != nil {
			return bytes, err
		}
	}
	r.refill(m)
	if again {
		r.arm()
	}
	return bytes, nil
}

// event notes what the kernel tells of the interface queue.
func (r *Receiver) event(e uring.ZcrxEvent) {
	if e == uring.ZcrxAllocFail {
		r.stats.allocFails++
		r.idle.told = true
		r.idle.fails++
		r.growth.wanted = true
		if r.share != nil {
			atomic.AddUint64(&r.share.board[allocFails], 1)
		}
	}
}

// judge decides on a completion that ends the request whether to issue the request again.
func (r *Receiver) judge(c *stream.Conn, cqe uring.CQE, m *stream.Meter) (again bool, err error) {
	switch errno := cqe.Errno(); {
	case errno == 0:
		r.ended = true // the kernel ends a multishot request with 0 at the end of the flow only
		return false, nil
	case errno == unix.ENOSPC: // the completion queue was full; payload stays in the socket
		m.Overflow()
	case errno == unix.ENOMEM: // no buffer to copy to: some come back now
		r.stats.noMemory++
		m.Overflow()
		if r.canGrow() {
			if r.wantMore(); r.growth.wanted {
				break
			}
		}
		if err := r.copyStarved(m); err != nil {
			return false, err
		}
	default:
		return false, stream.ReceiveError(c, "io_uring recv_zc", errno)
	}
	m.Rearm()
	return true, nil
}

// refill gives back all pieces but the youngest that are to be held, as far as
// the refill ring takes them, and shows them to the kernel at once.
func (r *Receiver) refill(m *stream.Meter) {
	n := 0
	for r.held.Count() > 0 && (r.held.Bytes() > r.opt.NIC.HoldBytes || r.ended) {
		p := r.held.Oldest()
		if !r.z.Refill(p.ID, p.Len) {
			break
		}
		r.held.Pop()
		n++
	}
	if n > 0 {
		r.publish()
	}
	r.flushIfCopying(m)
}

// flushIfCopying makes the kernel take from the refill ring of a flow that is copied, whether the
// copies are counted or not: nobody does.
func (r *Receiver) flushIfCopying(m *stream.Meter) {
	if r.flushNow || r.proof.copying() && r.z.RefillEntries()-r.z.RefillSpace() >= r.flushAt {
		r.flush(m)
	}
	r.flushNow = false
}

// flush makes the kernel take what is in the refill ring.
func (r *Receiver) flush(m *stream.Meter) {
	if !r.flushes || r.z.RefillSpace() == r.z.RefillEntries() {
		return
	}
	m.Call()
	r.stats.flushes++
	if r.z.Flush() != nil {
		r.flushes = false // a kernel before 6.19: what is in the ring stays there
	}
}

// makeRoom frees a place for an application that has all the pieces it can keep account of: it
// gives the oldest back earlier than --hold wants, or waits for the NIC.
func (r *Receiver) makeRoom(m *stream.Meter) {
	p := r.held.Oldest()
	if r.z.Refill(p.ID, p.Len) {
		r.held.Pop()
		r.publish()
		r.stats.early++
		return
	}
	if r.flush(m); r.z.RefillSpace() == 0 {
		r.nap(m)
	}
}

// nap sleeps until something more comes than the completions that are there, which may be in the
// middle of being handled, at most for as long as one sleeps while the kernel tells nothing.
func (r *Receiver) nap(m *stream.Meter) {
	m.Wait()
	_, _ = r.ring.SubmitAndWait(r.ring.CQReady()+1, r.turns().Nap(backlogTime)) // an error is the next enter's, too
}
