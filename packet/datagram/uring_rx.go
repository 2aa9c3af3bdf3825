// SPDX-License-Identifier: MIT

package datagram

import (
	"errors"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
)

// uringReceiver is the receive mode udp-uring: one multishot recvmsg, for which the kernel takes a
// provided buffer for each datagram.
type uringReceiver struct {
	account
	ending
	opt  stream.Options
	ring *uring.Ring
	bufs *uring.BufRing
	hdr  *unix.Msghdr // no room for name and control
}

// Buffers of a receiver by io_uring: as many as a socket of the usual size holds of the shortest
// datagrams, fewer of long ones.
const (
	minRingBuffers  = 64
	maxRingBuffers  = 1024
	ringBufferBytes = 1 << 20
	cqEntries       = 4096
	datagramGroup   = 0
)

func ringBuffers(each int) int {
	n := minRingBuffers
	for n < maxRingBuffers && 2*n*each <= ringBufferBytes {
		n *= 2
	}
	return n
}

// newUringReceiver makes the ring, owned by the calling thread, and its buffers.
func newUringReceiver(o stream.Options) (*uringReceiver, error) {
	ring, err := uring.NewBest(uring.Options{Engine: uring.Engine(o.UringEngine), SQEntries: 8, CQEntries: cqEntries,
		SingleIssuer: true, DeferTaskrun: true, SubmitAll: true, RegisterFD: true})
	if err != nil {
		return nil, &fault.Unsupported{Mode: "udp-uring", Op: "make a ring", Err: err, How: fault.Fix(err)}
	}
	if err := ring.PollBusily(time.Duration(o.Socket.BusyPollUs) * time.Microsecond); err != nil {
		ring.Close()
		return nil, &fault.Unsupported{Mode: "udp-uring", Op: "busy polling", Err: err, How: fault.Fix(err)}
	}
	each := uring.DatagramHeader + o.MessageBytes + 1 // one that is too long shows
	bufs, err := ring.NewBufRing(uring.BufRingOptions{Group: datagramGroup, Entries: ringBuffers(each), Size: each,
		Pages: uring.PagesTransparent})
	if err != nil {
		ring.Close()
		return nil, &fault.Unsupported{Mode: "udp-uring", Op: "register provided buffers", Err: err,
			How: fault.Fix(err)}
	}
	return &uringReceiver{opt: o, ring: ring, bufs: bufs, hdr: &unix.Msghdr{}}, nil
}

// Attach begins the account.
func (r *uringReceiver) Attach(c *stream.Conn, h stream.Hello) error {
	return r.open(c, h, r.opt)
}

// Receive takes completions until the sender ends the flow.
func (r *uringReceiver) Receive(c *stream.Conn, m *stream.Meter) error {
	r.arm(c)
	for {
		if r.ring.CQReady() == 0 {
			m.Wait()
			if _, err := r.ring.SubmitAndWait(1, waitMs*time.Millisecond); err != nil {
				return stream.ReceiveError(c, "io_uring recvmsg", err)
			}
		}
		if err := c.Aborted(); err != nil {
			return err
		}
		if r.ring.CQReady() == 0 {
			if over, err := r.idle(c, m); over || err != nil {
				return err
			}
			continue
		}
		if err := r.read(c, m); err != nil {
			return err
		}
		if over, err := r.busy(c, m); over || err != nil {
			return err
		}
	}
}

func (r *uringReceiver) arm(c *stream.Conn) {
	r.ring.GetSQE().RecvMsgMultishot(c.FD, r.hdr, datagramGroup, 0)
}

// read takes the completions that are there.
func (r *uringReceiver) read(c *stream.Conn, m *stream.Meter) error {
	n, right, again := r.ring.CQReady(), 0, false
	for i := range n {
		cqe := r.ring.CQEAt(i)
		for s := r.bufs.Spans(*cqe); s.Next(); s.Recycle() {
			if p, ok := uring.Datagram(s.Bytes()); ok && r.take(p, m) {
				right++
			}
		}
		if cqe.More() {
			continue
		}
		switch errno := cqe.Errno(); errno {
		case unix.ENOBUFS: // the group ran dry: what is in the socket stays there
			m.Overflow()
		case 0, unix.EAGAIN, unix.EINTR:
		default:
			return stream.ReceiveError(c, "io_uring recvmsg", errno)
		}
		m.Rearm()
		again = true
	}
	r.bufs.Advance()
	r.ring.Advance(n)
	m.Packets(right)
	m.Bytes(right * r.size)
	if again {
		r.arm(c)
	}
	return r.answer(m)
}

// Evidence reports how the ring was made, and its buffers.
func (r *uringReceiver) Evidence() stream.Evidence {
	return stream.Evidence{UringEngine: string(r.ring.Engine()), Figures: append(stream.RingFigures(r.ring),
		stream.Figure{Name: "uring_buffers", Unit: "1", Value: float64(r.bufs.Entries())},
		stream.Figure{Name: "uring_buffer_bytes", Unit: "bytes", Value: float64(r.bufs.Size())})}
}

// Close closes the ring and frees the buffers.
func (r *uringReceiver) Close() error { return errors.Join(r.account.close(), r.ring.Close()) }
