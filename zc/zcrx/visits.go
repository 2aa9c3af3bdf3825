// SPDX-License-Identifier: MIT

package zcrx

import (
	"errors"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// visits are the connections of a flow whose requests have one each. One rule sends all to the
// flow's own port to the queue, whoever they come from, so that the next one needs no rule of its
// own. The ring takes them, and each has a request for as many bytes as a pass and a request have:
// then it lets go of the socket, which can be closed.
type visits struct {
	*stream.Visitors
	body int // bytes of requests that came in this walk
}

// What is in flight on the ring for them: a kind, the place of a connection, and which one it is,
// since places are used again.
const (
	userDoor = userEvent + 1 + iota
	userFlow
	userVisit
	userRoom // for an answer
	kindBits = 4
	nthAt    = 20
)

func userOf(kind uint64, i int, x *stream.Visitor) uint64 {
	return kind | uint64(i)<<kindBits | x.Nth<<nthAt
}

// errDeviceMemory says that requests lie where the CPU cannot read them.
var errDeviceMemory = errors.New("the CPU does not reach this memory")

// attachVisits opens the flow's port and steers all that comes there to the queue.
func (r *Receiver) attachVisits(c *stream.Conn, h stream.Hello) error {
	if r.area.Bytes == nil {
		return &fault.Unsupported{Mode: r.mode, Op: "answer requests with a connection each", Err: errDeviceMemory,
			How: "use an area in the host's memory, or tx rr"}
	}
	v, err := stream.NewVisitors(c, h, r.touch, r.opt.Socket)
	if err != nil {
		return err
	}
	r.visits = &visits{Visitors: v}
	if r.queue == nil {
		return nil
	}
	return r.queue.SteerPort(c.Visits.At, c.SteerTo)
}

// receiveVisits answers until the sender ends the flow.
func (r *Receiver) receiveVisits(c *stream.Conn, m *stream.Meter) error {
	r.visits.Keep()
	r.ring.GetSQE().AcceptMultishot(r.visits.Listener, userDoor)
	r.ring.GetSQE().PollAdd(c.FD, unix.POLLIN|unix.POLLRDHUP, userFlow)
	for !r.ended {
		if r.ring.CQReady() == 0 {
			m.Wait()
			if _, err := r.ring.SubmitAndWait(1, waitTime); err != nil {
				return stream.ReceiveError(c, "io_uring recv_zc", err)
			}
		}
		if err := c.Aborted(); err != nil {
			return err
		}
		if err := r.takeVisits(c, m); err != nil {
			return err
		}
	}
	return r.visits.Ended(c)
}

// takeVisits handles the completions that are there.
func (r *Receiver) takeVisits(c *stream.Conn, m *stream.Meter) (err error) {
	r.visits.body = 0
	nothing := r.ring.CQReady() == 0
	d := r.ring.Drain()
	for err == nil && !r.held.Full() && d.Next() {
		cqe := d.CQE()
		switch cqe.UserData & (1<<kindBits - 1) {
		case userEvent:
			r.event(uring.ZcrxEvent(cqe.Res))
		case userDoor:
			err = r.admitVisit(c, *cqe, m)
		case userFlow:
			r.ended = true
		case userVisit:
			err = r.heardOf(c, *cqe, d.Extra(), m)
		case userRoom:
			if i, ok := r.visitOf(cqe.UserData); ok {
				err = r.answerVisit(i, c, m)
			}
		}
	}
	d.Done()
	if err = errors.Join(err, r.view.End(m)); err != nil {
		return err
	}
	if n := r.visits.body; n > 0 {
		_, copied := r.z.Copies()
		before := r.proof.copied
		r.proof.account(uint64(n), copied, m)
		if r.proof.copied > before {
			r.visits.Keep() // where that came by is what wants to be known
		}
	}
	r.z.Publish()
	if r.refill(m); r.held.Full() {
		r.makeRoom(m)
	}
	if nothing { // asking the driver for its counters at every connection would cost more than they do
		return r.idleTick(c)
	}
	r.idle.since = time.Time{}
	return nil
}

// visitOf finds the connection of a completion; false: it has ended since.
func (r *Receiver) visitOf(user uint64) (i int, ok bool) {
	i = int(user >> kindBits & (1<<(nthAt-kindBits) - 1))
	return i, userOf(user&(1<<kindBits-1), i, r.visits.Of(i)) == user
}

// admitVisit takes a connection.
func (r *Receiver) admitVisit(c *stream.Conn, cqe uring.CQE, m *stream.Meter) error {
	if !cqe.More() {
		r.room(1)
		r.ring.GetSQE().AcceptMultishot(r.visits.Listener, userDoor)
		m.Rearm()
	}
	i, err := r.visits.Admit(int(cqe.Res), cqe.Errno(), c)
	if err != nil || i < 0 {
		return err
	}
	r.armVisit(i)
	return nil
}

// armVisit issues the request for what is yet to come by a connection; the next enter submits it.
func (r *Receiver) armVisit(i int) {
	r.room(1)
	x := r.visits.Of(i)
	r.ring.GetSQE().RecvZCUpTo(x.FD, r.z.ID(), r.visits.Whole()-x.Came(), userOf(userVisit, i, x))
}

// room sees to it that so many requests can be issued.
func (r *Receiver) room(n int) {
	if r.ring.SQSpace() < n {
		_, _ = r.ring.Submit() // what went wrong is told by the next enter
	}
}

// heardOf handles a completion of a connection's: a piece of pass and request, or the end of its
// request. A piece goes back when it was read.
func (r *Receiver) heardOf(c *stream.Conn, cqe uring.CQE, extra *[2]uint64, m *stream.Meter) error {
	i, ok := r.visitOf(cqe.UserData)
	x := r.visits.Of(i)
	if cqe.More() {
		off, n := extra[0], uint32(cqe.Res)
		var err error
		if ok {
			err = r.readVisit(x, i, int(r.z.Where(extra)), int(n), c, m)
		}
		if !r.z.Refill(off, n) {
			r.held.Push(off, n)
		}
		r.stats.pieces++
		return err
	}
	switch errno := cqe.Errno(); {
	case !ok: // a stranger's
		return nil
	case x.Came() == r.visits.Whole():
		return r.answerVisit(i, c, m)
	case errno == unix.ENOSPC || errno == unix.ENOMEM:
		again, err := r.judge(c, cqe, m)
		if again {
			r.armVisit(i)
		}
		return err
	default:
		return r.visits.Left(i, errno, c)
	}
}

// readVisit takes a piece.
func (r *Receiver) readVisit(x *stream.Visitor, i, off, n int, c *stream.Conn, m *stream.Meter) error {
	p, err := r.view.Bytes(off, n, m)
	if err != nil {
		return err
	}
	body, own := r.visits.Take(x, p, m)
	if !own {
		r.visits.Stranger(i, c)
		return nil
	}
	if body > 0 && r.proof.watches() {
		r.lookAtVisit(x, m)
	}
	r.visits.body += body
	return nil
}

// lookAtVisit finds out, where the kernel does not count copies, whether a connection comes by the
// queue. What came in a walk came there if all of it did.
func (r *Receiver) lookAtVisit(x *stream.Visitor, m *stream.Meter) {
	m.Call()
	elsewhere, known := sees(x.FD, r.queue)
	p, first := &r.proof, r.visits.body == 0
	p.elsewhere, p.seenOn = elsewhere || !first && p.elsewhere, known && (first || p.seenOn)
}

// answerVisit answers, or goes on when there is room for the rest.
func (r *Receiver) answerVisit(i int, c *stream.Conn, m *stream.Meter) error {
	x := r.visits.Of(i)
	done, err := r.visits.Answer(i, c, m)
	if err == nil && !done {
		r.room(1)
		r.ring.GetSQE().PollAdd(x.FD, unix.POLLOUT, userOf(userRoom, i, x))
	}
	if fd := r.visits.Witness(); fd >= 0 {
		r.fd = fd
	}
	return err
}
