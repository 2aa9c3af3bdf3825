// SPDX-License-Identifier: MIT

package zcrx

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/held"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// The names of the modes.
const (
	Mode         = "zcrx"
	ModeNoDevice = "zcrx-nodev"
)

// User data of what is in flight on the ring.
const (
	userRecv  = 1
	userEvent = 2
)

// Receiver receives one flow without a copy, or several that share its queue, or, without a
// device, into the same kind of memory by copying.
type Receiver struct {
	mode string
	opt  stream.Options

	queue *nicqueue.Queue // that is taken over; nil without a device

	area *area
	view *dmabuf.View
	ring *uring.Ring
	z    *uring.Zcrx

	touch *stream.Toucher
	held  *held.Queue
	proof proof
	pool  pool
	fd    int
	ended bool

	share   *share     // what several rings of the queue have together; nil: it has one
	process *process   // that has the ring; nil: this one
	shown   [][]uint64 // of a ring's own process: where it shows the flows' meters; nil: nowhere
	growth  growth
	failed  bool // its ring, of several

	onward *onward // what passes payload on; nil: nothing does

	members []*member // the flows that were attached
	visits  *visits   // of one whose requests have a connection each; nil: of others
	grouped bool      // several are received
	turn    int       // of them, whose share is rounded first

	flushAt int  // entries in the refill ring at which the kernel is told to take them
	flushes bool // the kernel can be told so (6.19)
	// flushNow: the kernel found no buffer to copy to.
	flushNow bool
	idle     idle
	stats    figures
}

// figures are what a receiver counts beside the meter.
type figures struct {
	pieces, flushes, early, allocFails, noMemory uint64
}

// New takes over a queue of opt.NIC.Dev. It changes the device, see the package
// comment; Close restores it. A NIC or kernel that cannot is an
// [*fault.Unsupported] that names the failing step.
func New(opt stream.Options) (*Receiver, error) {
	r := &Receiver{mode: Mode, opt: opt}
	if err := r.takeOver(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// NewNoDevice makes a receiver that no NIC serves.
func NewNoDevice(opt stream.Options) (*Receiver, error) {
	r := &Receiver{mode: ModeNoDevice, opt: opt}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// takeOver prepares the device, then memory and ring.
func (r *Receiver) takeOver() (err error) {
	if o := r.opt.NIC; o.Rings != nil && o.Ring > 0 {
		return r.join(o.Rings.Owner.(*share))
	}
	if r.queue, err = nicqueue.Take(r.mode, r.opt.NIC); err != nil {
		return err
	}
	if err := r.prepare(); err != nil {
		return err
	}
	if err := r.queue.Bound(nic.ProviderIOUring); err != nil || r.opt.NIC.Rings == nil {
		return err
	}
	return r.offer()
}

// queryKernel says what zero-copy receive can do here; tests make it older.
var queryKernel = uring.QueryZcrx

// prepare makes area and ring and registers them.
func (r *Receiver) prepare() (err error) {
	q, features := r.opt.NIC, queryKernel()
	if q.BufLen == os.Getpagesize() {
		q.BufLen = 0 // what it is if not asked for, also of drivers and kernels that know no other
	}
	if q.BufLen > 0 && !features.BufLen {
		return &fault.Unsupported{Mode: r.mode, Op: fmt.Sprintf("receive buffers of %d bytes", q.BufLen),
			Err: errors.ErrUnsupported,
			How: "leave out --rx-buf-len, or use Linux 7.0 or later"}
	}
	if q.AreaStart > 0 && features.Ctrl < uring.ZcrxGrows {
		return &fault.Unsupported{Mode: r.mode, Op: "memory for payload that grows (ZCRX_CTRL_ADD_AREA)",
			Err: errors.ErrUnsupported,
			How: "leave out --area-start, or use Linux 7.3 or later"}
	}
	if err := r.makeArea(q); err != nil {
		return nicqueue.NoMemory(r.mode, err)
	}
	if err := r.makeRing(); err != nil {
		return err
	}
	o := r.registration(q, features)
	if err := r.register(o); err != nil {
		return r.explain(o, err)
	}
	if err := r.area.Stays(); err != nil {
		return nicqueue.Unsupported(r.mode, err)
	}
	r.begins(features)
	r.growth.note(r.z)
	return nil
}

// makeRing makes the ring.
func (r *Receiver) makeRing() (err error) {
	cq := cmp.Or(r.opt.NIC.CQEntries, stream.DefaultZCCQEntries)
	// One request is in flight; the completion queue is the one that matters.
	r.ring, err = uring.NewBest(uring.Options{Engine: uring.Engine(r.opt.UringEngine), SQEntries: min(8, uint32(cq)),
		CQEntries: uint32(cq), SingleIssuer: true, DeferTaskrun: true, SubmitAll: true,
		CQE32: true, NoSQArray: true, RegisterFD: true})
	if err != nil {
		return nicqueue.Unsupported(r.mode, err)
	}
	if err := stream.CheckGather(r.mode, r.ring, r.opt); err != nil {
		return err
	}
	if err := r.ring.PollBusily(time.Duration(r.opt.Socket.BusyPollUs) * time.Microsecond); err != nil {
		return &fault.Unsupported{Mode: r.mode, Op: "busy polling", Err: err, How: fault.Fix(err)}
	}
	return nil
}

// begins makes what belongs to a ring that has its queue.
func (r *Receiver) begins(features uring.ZcrxFeatures) {
	r.flushes = features.Ctrl > 0
	r.flushAt = min(r.z.RefillEntries(), r.z.Buffers()) / 2
	r.held = new(held.Queue)
	r.proof = proof{counts: r.z.Counts(), copiesAll: r.queue == nil}
}

// registration returns the options with which the queue is registered with the ring.
func (r *Receiver) registration(q stream.NICQueue, features uring.ZcrxFeatures) uring.ZcrxOptions {
	o := uring.ZcrxOptions{Area: r.area.registration(), BufLen: q.BufLen, RefillEntries: q.RefillEntries,
		NoDevice: r.queue == nil, Start: r.area.start, Shared: q.Rings != nil,
		Stats: features.Stats, EventUser: userEvent}
	if r.queue != nil {
		o.IfIndex, o.Queue = r.queue.Dev.Index, r.queue.ID
	}
	if features.Stats && r.queue != nil {
		o.Events = []uring.ZcrxEvent{uring.ZcrxAllocFail}
	}
	if o.RefillEntries == 0 {
		o.RefillEntries = min(int(r.area.Size)/max(q.BufLen, 4096), stream.MaxRefillEntries)
	}
	return o
}

// register gives the queue the area, where its memory is given: see [nicqueue.Queue.Register].
func (r *Receiver) register(o uring.ZcrxOptions) (err error) {
	if r.queue == nil {
		r.z, err = r.ring.NewZcrx(o)
		return err
	}
	return r.queue.Register(func(index, queue int) (err error) {
		o.IfIndex, o.Queue = index, queue
		r.z, err = r.ring.NewZcrx(o)
		return err
	})
}

// makeArea makes the memory for payload.
func (r *Receiver) makeArea(q stream.NICQueue) (err error) {
	d := r.whose()
	size, start, err := areaBytes(q, d)
	if err != nil {
		return err
	}
	a, err := newArea(q, size, start, d)
	if err != nil {
		return err
	}
	r.area = a
	if !a.Whole() {
		return dmabuf.NotWhole(a.Memory)
	}
	r.view, err = dmabuf.NewView(a.Memory, r.looksHow())
	return err
}

// looksHow says how payload is treated where it lies: what is decrypted, with all its bytes.
func (r *Receiver) looksHow() stream.Touch {
	if r.opt.TLS == records.User {
		return stream.TouchVerify
	}
	return r.opt.Touch
}

// Attach steers the flow to the queue. Several may be attached, see [Receiver.ReceiveAll].
func (r *Receiver) Attach(c *stream.Conn, h stream.Hello) error {
	r.fd = c.FD
	r.touch = c.Toucher(r.opt.Touch, h)
	r.members = append(r.members, &member{conn: c, touch: r.touch, period: int(h.PeriodBytes)})
	if r.process != nil {
		if err := r.process.attach(r.members[len(r.members)-1]); err != nil {
			return err
		}
	}
	switch {
	case h.Connects:
		return r.attachVisits(c, h)
	case r.queue == nil:
		return nil
	}
	return r.queue.Steer(c, c.SteerTo)
}

// Close frees the queue and restores the device, in reverse order.
func (r *Receiver) Close() error {
	var errs []error
	owns := r.opt.NIC.Ring == 0
	if r.visits != nil {
		errs = append(errs, r.visits.Close())
		r.visits = nil
	}
	if owns {
		errs = append(errs, r.share.withdraw())
	}
	if r.process != nil {
		errs = append(errs, r.process.close())
		r.process = nil
	}
	if r.ring != nil {
		errs = append(errs, r.ring.Close())
		r.ring, r.z = nil, nil
	}
	if r.queue != nil {
		errs = append(errs, r.queue.Release())
		r.queue = nil
	}
	if r.area != nil && owns {
		errs = append(errs, r.area.Close())
	}
	if r.share != nil && !owns {
		r.share.joined.Done()
	}
	r.area, r.share = nil, nil
	return errors.Join(errs...)
}
