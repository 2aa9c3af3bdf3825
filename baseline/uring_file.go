// SPDX-License-Identifier: MIT

package baseline

import (
	"github.com/zcbench/zcbench/flow/disk"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
)

// fileQueue writes a flow to a file by its ring (then: write), from the buffers that it came into:
// they go back to the ring when they are written. Nothing is received while all of them are out, so
// what does not get to the disk stays in the socket, whose window holds the sender back.
type fileQueue struct {
	*disk.Queue
	out   *stream.Onward
	armed bool // the receive request has not ended
}

// userWrite is the user data of the first of its requests; that of the receive request is 0.
const userWrite = 1 << 8

// PassOn sends what is received, or writes it to a file.
func (r *UringReceiver) PassOn(o *stream.Onward, m *stream.Meter) error {
	if o.File == nil {
		m.PassOn(o)
		return nil
	}
	r.file = &fileQueue{out: o,
		Queue: disk.NewQueue(o.File, r.ring, r.bufs.Memory(), -1, userWrite, 2*r.bufs.Entries())}
	return nil
}

// receiveToFile takes completions until the sender has ended the flow and all is written.
func (r *UringReceiver) receiveToFile(c *stream.Conn, m *stream.Meter) error {
	f := r.file
	for !r.ended || f.Out() > 0 {
		begun := 0
		if !f.armed && !r.ended && 4*f.Out() <= 3*r.bufs.Entries() {
			f.armed, begun = true, 1
			r.arm()
		}
		if begun += f.Issue(); begun > 0 || r.ring.CQReady() == 0 {
			m.Wait()
			if err := r.wait(); err != nil {
				return stream.ReceiveError(c, "io_uring recv and write", err)
			}
		}
		if err := c.Aborted(); err != nil {
			return err
		}
		if err := r.takeToFile(c, m); err != nil {
			return err
		}
	}
	return c.Aborted()
}

// takeToFile handles the completions that are there.
func (r *UringReceiver) takeToFile(c *stream.Conn, m *stream.Meter) error {
	n := r.ring.CQReady()
	for i := range n {
		cqe := r.ring.CQEAt(i)
		if cqe.UserData >= userWrite {
			k, way, err := r.file.Done(cqe)
			if err != nil {
				return err
			}
			r.file.out.Wrote(k, way)
			continue
		}
		if err := r.keep(c, *cqe, m); err != nil {
			return err
		}
	}
	r.ring.Advance(n)
	if r.file.Back(r.giveBack) {
		r.bufs.Advance()
	}
	return nil
}

// keep takes payload that has come, whose buffers are to be written.
func (r *UringReceiver) keep(c *stream.Conn, cqe uring.CQE, m *stream.Meter) error {
	for s := r.bufs.Spans(cqe); s.Next(); {
		r.touch.Next(s.Bytes(), m)
		m.Bytes(len(s.Bytes()))
		r.file.Push(uint64(s.BufferID()), int(s.BufferID())*r.bufs.Size(), len(s.Bytes()))
	}
	again, err := r.judge(c, cqe, m)
	r.backlog = again || cqe.SockNonEmpty()
	r.file.armed = cqe.More()
	return err
}

// giveBack gives a buffer back to the ring.
func (r *UringReceiver) giveBack(id uint64, _ int) bool {
	r.bufs.Add(uint16(id))
	return true
}
