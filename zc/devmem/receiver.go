// SPDX-License-Identifier: MIT

package devmem

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/held"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// Mode is the name of both modes.
const Mode = "devmem"

// defaultReadBytes is what one recvmsg asks for: short reads leave payload in the
// socket and its memory away from the NIC.
const defaultReadBytes = 64 << 20

// Receiver receives one flow into a dmabuf, or several that share its queue.
type Receiver struct {
	opt stream.Options

	*bound                 // memory, and its queues; nil: it has none
	queue  *nicqueue.Queue // of these, the one whose flows this is for
	view   *dmabuf.View
	bufLen int // bytes of one of the NIC's buffers

	linear, control *stream.Buffer
	reader          *sock.DevmemReader
	frags           int // that one read can bring at most
	gather          *stream.Gathering

	*own        // of the flow that is served now
	all  []*own // of all that were attached

	onward *onward          // what passes payload on; nil: nothing does
	visits *stream.Visitors // of a flow whose requests have a connection each; nil: of others

	reads  reads
	idle   idle
	waiter sock.Waiter // at a turn's end
}

// New takes over a queue of opt.NIC.Dev. It changes the device, see package
// nicqueue; Close restores it. A NIC or kernel that cannot is an
// [*fault.Unsupported] that names the failing step.
func New(opt stream.Options) (*Receiver, error) {
	r := &Receiver{opt: opt, bufLen: bufLen(opt.NIC), gather: stream.NewGathering(opt)}
	r.own = r.newOwn()
	if err := r.takeOver(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Receiver) takeOver() (err error) {
	if err := canSize(r.asked()); err != nil {
		return err
	}
	if err := r.join(); err != nil {
		return err
	}
	if r.view, err = dmabuf.NewView(r.mem, r.opt.Touch); err != nil {
		return nicqueue.NoMemory(Mode, err)
	}
	if r.linear, err = stream.NewBuffer(readBytes(r.opt)); err != nil {
		return err
	}
	return r.bind()
}

func readBytes(o stream.Options) int {
	if o.ReadBytes > 0 {
		return o.ReadBytes
	}
	return min(defaultReadBytes, o.MessageBytes)
}

// Attach steers the flow to the queue, and makes room for what its reads may
// bring: twice the fragments that full segments make. Several may be attached, see
// [Receiver.ReceiveAll].
func (r *Receiver) Attach(c *stream.Conn, h stream.Hello) (err error) {
	if len(r.all) > 0 {
		r.own = r.newOwn()
	}
	r.all = append(r.all, r.own)
	r.conn, r.fd = c, c.FD
	r.touch = stream.NewToucher(r.opt.Touch, int(h.PeriodBytes))
	segment, err := unix.GetsockoptInt(c.FD, unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	if err != nil {
		return fmt.Errorf("getsockopt TCP_MAXSEG: %w", err)
	}
	if err := r.makeReader(segment); err != nil {
		return err
	}
	if h.Connects {
		return r.attachVisits(c, h)
	}
	return r.queue.Steer(c, c.SteerTo)
}

// makeReader makes one for flows of such segments, and longer ones.
func (r *Receiver) makeReader(segment int) (err error) {
	frags := min(max(2*readBytes(r.opt)/min(max(segment, 1), r.bufLen), 64), held.Max/2)
	if frags <= r.frags {
		return nil
	}
	if r.control != nil {
		if err := r.control.Close(); err != nil {
			return err
		}
	}
	if r.control, err = stream.NewBuffer(frags * sock.DevmemControlBytes); err != nil {
		return err
	}
	r.frags, r.reader = frags, sock.NewDevmemReader(r.linear.Bytes(), r.control.Bytes())
	return nil
}

// Close frees the queue and restores the device, in reverse order. After a flow
// that ended well it sees to it that no buffer is missing.
func (r *Receiver) Close() error {
	errs := []error{r.visits.Close(), r.onward.close()}
	r.visits = nil
	if r.bound != nil {
		ended := !slices.ContainsFunc(r.all, func(o *own) bool { return !o.ended })
		errs = append(errs, r.leave(ended, len(r.all) > 0))
		r.bound, r.queue = nil, nil
	}
	for _, b := range []**stream.Buffer{&r.linear, &r.control} {
		if *b != nil {
			errs = append(errs, (*b).Close())
			*b = nil
		}
	}
	return errors.Join(errs...)
}
