// SPDX-License-Identifier: MIT

package baseline

import (
	"time"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
)

// UringReceiver is the receive mode uring: one multishot recv that the kernel
// serves from a ring of provided buffers. The kernel copies, but the
// application makes no call per buffer.
//
// A wait lets payload gather only when the socket was found empty: while there is
// more, to wait would bound the flow to one filling of the buffers per wait.
type UringReceiver struct {
	opt   stream.Options
	ring  *uring.Ring
	bufs  *uring.BufRing
	touch *stream.Toucher

	bundle  bool // one completion may cover several buffers (6.10)
	backlog bool // the last completion left payload in the socket
	fd      int
	ended   bool
	file    *fileQueue // of a flow that is written to a file; nil: of others
}

// NewUringReceiver makes the ring, owned by the calling thread, and its buffers.
func NewUringReceiver(o stream.Options) (*UringReceiver, error) {
	return newUringReceiver(o, shapeOf(o))
}

func newUringReceiver(o stream.Options, s uringShape) (*UringReceiver, error) {
	ring, err := uring.NewBest(s.ring)
	if err != nil {
		return nil, &fault.Unsupported{Mode: "uring", Op: "make a ring", Err: err, How: fault.Fix(err)}
	}
	if err := stream.CheckGather("uring", ring, o); err != nil {
		ring.Close()
		return nil, err
	}
	if err := ring.PollBusily(time.Duration(o.Socket.BusyPollUs) * time.Microsecond); err != nil {
		ring.Close()
		return nil, &fault.Unsupported{Mode: "uring", Op: "busy polling", Err: err, How: fault.Fix(err)}
	}
	bufs, err := ring.NewBufRing(uring.BufRingOptions{Group: uringGroup, Entries: s.buffers, Size: s.size,
		Incremental: s.incremental, Pages: uring.PagesTransparent})
	if err != nil {
		ring.Close()
		return nil, &fault.Unsupported{Mode: "uring", Op: "register provided buffers", Err: err, How: fault.Fix(err)}
	}
	return &UringReceiver{opt: o, ring: ring, bufs: bufs, bundle: s.bundle}, nil
}

// Attach prepares the payload check.
func (r *UringReceiver) Attach(c *stream.Conn, h stream.Hello) error {
	r.fd = c.FD
	r.touch = c.Toucher(r.opt.Touch, h)
	return nil
}

// arm issues the multishot receive; the next enter submits it.
func (r *UringReceiver) arm() {
	r.ring.GetSQE().RecvMultishot(r.fd, uringGroup, r.bundle, 0)
}

// Receive takes completions until the sender ends the flow.
func (r *UringReceiver) Receive(c *stream.Conn, m *stream.Meter) error {
	if r.file != nil {
		return r.receiveToFile(c, m)
	}
	r.arm()
	for !r.ended {
		if r.ring.CQReady() == 0 {
			// One call that may sleep: asking before without sleeping costs more
			// than it saves, because here the receiver waits most of the time.
			m.Wait()
			if err := r.wait(); err != nil {
				return stream.ReceiveError(c, "io_uring recv", err)
			}
		}
		if r.ring.CQReady() == 0 && c.Aborted() != nil {
			break
		}
		if err := r.take(c, m); err != nil {
			return err
		}
	}
	return c.Aborted()
}

// wait sleeps until there are completions.
func (r *UringReceiver) wait() error {
	gather := r.opt.Gather
	if r.backlog {
		gather = 0
	}
	_, err := r.ring.SubmitAndGather(gather, waitMs*time.Millisecond)
	return err
}

// take handles the completions that are there.
func (r *UringReceiver) take(c *stream.Conn, m *stream.Meter) error {
	n := r.ring.CQReady()
	again := false
	for i := range n {
		cqe := r.ring.CQEAt(i)
		for s := r.bufs.Spans(*cqe); s.Next(); s.Recycle() {
			r.touch.Next(s.Bytes(), m)
			payload, err := r.touch.Payload(len(s.Bytes()))
			m.Bytes(payload)
			if err != nil {
				return stream.ReceiveError(c, "decrypt", err)
			}
		}
		rearm, err := r.judge(c, *cqe, m)
		if err != nil {
			return err
		}
		again = again || rearm
		r.backlog = rearm || cqe.SockNonEmpty()
	}
	r.bufs.Advance()
	r.ring.Advance(n)
	if again && !r.ended {
		r.arm()
	}
	return nil
}

// judge decides whether to issue the request behind cqe again.
func (r *UringReceiver) judge(c *stream.Conn, cqe uring.CQE, m *stream.Meter) (rearm bool, err error) {
	errno := cqe.Errno()
	switch {
	case cqe.More():
		return false, nil
	case errno == unix.ENOBUFS: // the group ran dry: nothing is lost
		m.Overflow()
	case errno == unix.EINVAL && r.bundle && m.Snapshot().Bytes == 0:
		r.bundle = false // a kernel before 6.10
	case errno != 0:
		r.ended = true
		return false, stream.ReceiveError(c, "io_uring recv", errno)
	case cqe.Res == 0:
		r.ended = true
		return false, nil
	}
	m.Rearm()
	return true, nil
}

// Close closes the ring and frees the buffers.
func (r *UringReceiver) Close() error {
	return r.ring.Close()
}

// Evidence returns how the ring was made, and its buffers.
func (r *UringReceiver) Evidence() stream.Evidence {
	figures := append(stream.RingFigures(r.ring), stream.GatherFigures(r.ring, r.opt)...)
	figures = append(figures, stream.Figure{Name: "uring_buffers", Unit: "1", Value: float64(r.bufs.Entries())},
		stream.Figure{Name: "uring_buffer_bytes", Unit: "bytes", Value: float64(r.bufs.Size())})
	return stream.Evidence{Figures: figures, UringEngine: string(r.ring.Engine())}
}

// URINGMetrics describe the buffers of the ring.
var URINGMetrics = []measure.MetricDoc{
	{Names: "uring_buffers uring_buffer_bytes",
		Units: "1 bytes", Source: "data path, whole flow",
		Meaning: "provided buffers of the mode uring, all together what it copies into, and the " +
			"size of each"},
}
