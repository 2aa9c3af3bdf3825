// SPDX-License-Identifier: MIT

package devmem

import (
	"errors"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// The connections of a flow whose requests have one each come by a port of its own, which one rule
// sends to the queue, whoever they come from. Fragments go back by the socket that they came by, so
// they do as soon as they were read: the answer copies what it needs.

// errDeviceMemory says that requests lie where the CPU cannot read them.
var errDeviceMemory = errors.New("the CPU does not reach this memory")

// attachVisits opens the flow's port and steers all that comes there to the queue.
func (r *Receiver) attachVisits(c *stream.Conn, h stream.Hello) (err error) {
	if r.mem.Bytes == nil {
		return &fault.Unsupported{Mode: Mode, Op: "answer requests with a connection each", Err: errDeviceMemory,
			How: "use an area in the host's memory, or tx rr"}
	}
	if r.visits, err = stream.NewVisitors(c, h, r.touch, r.opt.Socket); err != nil {
		return err
	}
	return r.queue.SteerPort(c.Visits.At, c.SteerTo)
}

// receiveVisits answers until the sender ends the flow.
func (r *Receiver) receiveVisits(c *stream.Conn, m *stream.Meter) error {
	r.visits.Keep()
	err := r.visits.Serve(c, r.readVisit, m)
	if fd := r.visits.Witness(); fd >= 0 {
		r.fd = fd
	}
	r.ended = err == nil
	return err
}

// readVisit reads once what came by a connection.
func (r *Receiver) readVisit(x *stream.Visitor, flags int, m *stream.Meter) (n int, own bool, errno unix.Errno,
	err error) {
	n, frags, truncated, errno := r.reader.Recv(x.FD, flags)
	r.reads.calls++
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		r.reads.empty++
		return 0, false, errno, nil
	case errno == sock.ETOOSMALL || errno == unix.EFAULT || errno == unix.ENODEV:
		r.fd = x.FD
		return 0, false, 0, r.failed(r.conn, errno)
	case errno != 0 || n == 0:
		return 0, false, errno, nil
	case truncated:
		r.reads.truncated++
	}
	own, err = r.sortVisit(x, n, frags, m)
	if err = errors.Join(err, r.view.End(m)); err == nil {
		err = r.tokens.giveAll(x.FD, m)
	}
	return n, own, 0, err
}

// sortVisit goes through the fragments of a read of n bytes, as sort does for a flow. Passes are no
// payload.
func (r *Receiver) sortVisit(x *stream.Visitor, n int, frags sock.DevmemFrags, m *stream.Meter) (own bool, err error) {
	at, got, linear, inside := 0, 0, 0, 0
	take := func(p []byte, of *int) {
		if own {
			body, ok := r.visits.Take(x, p, m)
			own, *of = ok, *of+body
		}
	}
	own = true
	for f, ok := frags.Next(); ok; f, ok = frags.Next() {
		if f.Linear {
			if at+int(f.Size) > len(r.linear.Bytes()) {
				return false, r.beyond(f, at)
			}
			take(r.linear.Bytes()[at:at+int(f.Size)], &linear)
			at += int(f.Size)
			continue
		}
		if size := uint64(r.mem.Size); f.DMABuf != r.binding.ID || f.Offset > size || uint64(f.Size) > size-f.Offset {
			r.fd = x.FD
			return false, r.stray(f)
		}
		p, err := r.view.Bytes(int(f.Offset), int(f.Size), m)
		if err != nil {
			return false, err
		}
		take(p, &inside)
		r.tokens.take(f.Token, f.Size)
		got++
	}
	if err := frags.Err(); err != nil {
		return false, err
	}
	if got > 0 {
		r.reads.count(got)
	} else if at == 0 { // ordinary bytes: they came by another queue
		copied := 0
		take(r.linear.Bytes()[:n], &copied)
		m.Copied(uint64(copied))
		r.copied += uint64(copied)
		r.visits.Keep() // where that came by is what wants to be known
	}
	m.ZeroCopy(uint64(inside))
	m.Linear(uint64(linear))
	r.linearBytes += uint64(linear)
	return own, nil
}
