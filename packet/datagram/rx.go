// SPDX-License-Identifier: MIT

package datagram

import (
	"cmp"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
)

// defaultBatch is how many datagrams a call moves at most unless told otherwise: as many as one of
// UDP_SEGMENT can.
const defaultBatch = stream.MaxBatch

// receiver is the mode udp: recvmmsg(2) into a buffer for each datagram, or recv(2) of one after
// another where a call is to bring no more.
type receiver struct {
	account
	ending
	opt   stream.Options
	each  int // bytes of a buffer
	buf   *stream.Buffer
	batch *sock.Batch
	n     int
	gro   bool
}

// NewReceiver allocates the buffers.
func NewReceiver(o stream.Options) (*receiver, error) {
	return newReceiver(o, cmp.Or(o.Batch, defaultBatch), o.MessageBytes+1, false) // one that is too long shows
}

// groBuffers are the buffers of udp-gro at most: of 64 KiB each, they should stay in the cache.
const groBuffers = 16

// newGROReceiver does the same with UDP_GRO: what the kernel has put together comes in one piece,
// of up to 64 KiB.
func newGROReceiver(o stream.Options) (*receiver, error) {
	return newReceiver(o, min(cmp.Or(o.Batch, defaultBatch), groBuffers), 64<<10, true)
}

func newReceiver(o stream.Options, n, each int, gro bool) (*receiver, error) {
	buf, err := stream.NewBuffer(n * each)
	if err != nil {
		return nil, err
	}
	r := &receiver{opt: o, each: each, buf: buf, batch: sock.NewBatch(n, gro), n: n, gro: gro}
	for i := range n {
		r.batch.Set(i, r.at(i))
	}
	return r, nil
}

// at returns the buffer of message i of a batch.
func (r *receiver) at(i int) []byte { return r.buf.Bytes()[i*r.each:][:r.each:r.each] }

// Attach begins the account.
func (r *receiver) Attach(c *stream.Conn, h stream.Hello) error {
	if err := r.open(c, h, r.opt); err != nil {
		return err
	}
	if r.gro {
		return lacking("udp-gro", sock.GatherUDP(c.FD))
	}
	return nil
}

// Receive reads until the sender ends the flow.
func (r *receiver) Receive(c *stream.Conn, m *stream.Meter) error {
	if err := sock.Blocking(c.FD, waitMs*time.Millisecond); err != nil {
		return err
	}
	wait, err := stream.NewWaiting(c.FD, r.opt.Socket)
	if err != nil {
		return err
	}
	defer wait.Close()
	read := r.readBatch
	if r.n == 1 && !r.gro {
		read = r.readOne
	}
	for {
		left, errno := read(c, m, wait.Next(waitMs*time.Millisecond, m))
		m.Wait()
		wait.Took(left)
		if err := c.Aborted(); err != nil {
			return err // what came may be nothing: the socket was shut down
		}
		switch errno {
		case 0:
			if err := r.answer(m); err != nil {
				return err
			}
			if over, err := r.busy(c, m); over || err != nil {
				return err
			}
		case unix.EAGAIN, unix.EINTR:
			if over, err := r.idle(c, m); over || err != nil {
				return err
			}
		default:
			return stream.ReceiveError(c, "receive datagrams", errno)
		}
	}
}

// readOne takes one datagram. There may be more left of them.
func (r *receiver) readOne(c *stream.Conn, m *stream.Meter, flags int) (left bool, errno unix.Errno) {
	p := r.at(0)
	n, errno := sock.Recv(c.FD, p, flags)
	if errno == 0 && c.Aborted() == nil && r.take(p[:n], m) {
		m.Packets(1)
		m.Bytes(n)
	}
	return errno == 0, errno
}

// readBatch takes as many as are there.
func (r *receiver) readBatch(c *stream.Conn, m *stream.Meter, flags int) (left bool, errno unix.Errno) {
	n, errno := r.batch.Recv(c.FD, r.n, flags|unix.MSG_WAITFORONE)
	if errno != 0 || c.Aborted() != nil {
		return false, errno
	}
	right := 0
	for i := range n {
		p := r.at(i)[:r.batch.Len(i)]
		each := len(p)
		if r.gro {
			each = cmp.Or(r.batch.Segment(i), each)
		}
		for ; len(p) > each; p = p[each:] {
			if r.take(p[:each], m) {
				right++
			}
		}
		if r.take(p, m) {
			right++
		}
	}
	m.Packets(right)
	m.Bytes(right * r.size)
	return n == r.n, 0
}

// Evidence reports how much a call could bring.
func (r *receiver) Evidence() stream.Evidence {
	e := stream.Evidence{Figures: []stream.Figure{{Name: "udp_batch", Unit: "packets", Value: float64(r.n)}}}
	if r.gro {
		e.MostInOne = mostInOne(r.size)
	}
	return e
}

// mostInOne computes how many datagrams there are at most in one packet of 64 KiB that GSO or GRO
// makes (UDP_GRO_CNT_MAX of net/ipv4/udp_offload.c, UDP_MAX_SEGMENTS of include/linux/udp.h).
func mostInOne(size int) uint64 {
	const most = 64
	return uint64(max(min(most, stream.MaxDatagramBytes/max(size, 1)), 1))
}

// Close frees the buffers.
func (r *receiver) Close() error { return errors.Join(r.account.close(), r.buf.Close()) }

// BatchMetrics describe how many datagrams a call could move.
var BatchMetrics = []measure.MetricDoc{
	{Names: "udp_batch",
		Units: "packets", Source: "data path, whole flow",
		Meaning: "datagrams, of udp-gro pieces of them, that a call could move (`--udp-batch`)"},
}
