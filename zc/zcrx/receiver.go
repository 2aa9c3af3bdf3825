package zcrx

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/lease"
	"github.com/zcbench/zcbench/nic"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/uring"
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

// Receiver receives one flow without a copy, or, without a device, into the same
// kind of memory by copying.
type Receiver struct {
	mode string
	opt  stream.Options

	dev     *nic.Device   // nil without a device
	queue   nic.Queue     // that is taken over, as it was found bound
	bound   bool          // it is ours
	changes lease.Changes // of the device

	area *area
	ring *uring.Ring
	z    *uring.Zcrx

	touch *stream.Toucher
	held  *held
	proof proof
	fd    int
	ended bool

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
// [*stream.Unsupported] that names the failing step.
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
	if r.dev, err = nic.Open(r.opt.NIC.Dev); err != nil {
		return unsupported(r.mode, err)
	}
	if r.queue, err = chooseQueue(r.dev, r.opt.NIC.Queue); err != nil {
		return err
	}
	if r.dev.HasXDP() {
		return &stream.Unsupported{Mode: r.mode, Op: "an XDP program is attached to " + r.dev.Name,
			How: "detach it: ip link set dev " + r.dev.Name + " xdp off"}
	}
	if err := r.changes.SplitHeaders(r.dev); err != nil {
		return unsupported(r.mode, err)
	}
	if err := r.changes.KeepFree(r.dev, r.queue.ID); err != nil {
		return unsupported(r.mode, err)
	}
	if err := r.prepare(); err != nil {
		return err
	}
	r.bound = true
	// The queue was restarted: its NAPI instance may have another number.
	if r.queue, err = r.dev.Queue(r.queue.ID); err != nil {
		return err
	}
	if r.queue.Provider != nic.ProviderIOUring {
		return &stream.Unsupported{Mode: r.mode, Op: fmt.Sprintf("%s took the registration, but its %v does not use it", r.dev.Name, r.queue),
			How: "report it: this is a bug of the driver"}
	}
	return nil
}

// queryKernel says what zero-copy receive can do here; tests make it older.
var queryKernel = uring.QueryZcrx

// prepare makes area and ring and registers them.
func (r *Receiver) prepare() (err error) {
	q := r.opt.NIC
	if r.area, err = newArea(q); err != nil {
		return unsupported(r.mode, err)
	}
	cq := q.CQEntries
	if cq == 0 {
		cq = stream.DefaultZCCQEntries
	}
	// One request is in flight; the completion queue is the one that matters.
	r.ring, err = uring.New(uring.Options{SQEntries: min(8, uint32(cq)), CQEntries: uint32(cq), SingleIssuer: true, DeferTaskrun: true, SubmitAll: true,
		CQE32: true, NoSQArray: true, RegisterFD: true})
	if err != nil {
		return unsupported(r.mode, err)
	}
	features := queryKernel()
	o := uring.ZcrxOptions{Area: r.area.registration(), BufLen: q.BufLen, RefillEntries: q.RefillEntries, NoDevice: r.dev == nil,
		Stats: features.Stats, EventUser: userEvent}
	if r.dev != nil {
		o.IfIndex, o.Queue = r.dev.Index, r.queue.ID
	}
	if features.Stats && r.dev != nil {
		o.Events = []uring.ZcrxEvent{uring.ZcrxAllocFail}
	}
	if o.RefillEntries == 0 {
		o.RefillEntries = min(r.area.size()/max(q.BufLen, 4096), stream.MaxRefillEntries)
	}
	if r.z, err = r.ring.NewZcrx(o); err != nil {
		return r.explain(o, err)
	}
	r.flushes = features.Ctrl > 0
	r.flushAt = min(r.z.RefillEntries(), r.z.Buffers()) / 2
	r.held = new(held)
	r.proof = proof{counts: r.z.Counts(), copiesAll: r.dev == nil}
	return nil
}

// Attach steers the flow to the queue.
func (r *Receiver) Attach(c *stream.Conn, h stream.Hello) error {
	r.fd = c.FD
	r.touch = stream.NewToucher(r.opt.Touch, int(h.PeriodBytes))
	if r.dev == nil {
		return nil
	}
	to := r.queue.ID
	if s := r.opt.NIC.SteerTo; s != nil {
		to = *s
	}
	if err := r.changes.Steer(r.dev, c.Local, c.Remote, to); err != nil {
		return unsupported(r.mode, err)
	}
	return nil
}

// unboundWithin is how long a queue may take to get its own memory back.
const unboundWithin = 5 * time.Second

// Close frees the queue and restores the device, in reverse order.
func (r *Receiver) Close() error {
	var errs []error
	if r.ring != nil {
		errs = append(errs, r.ring.Close())
		r.ring, r.z = nil, nil
	}
	if r.dev != nil {
		// Header split cannot go off before the queue is free.
		errs = append(errs, r.awaitUnbound(), r.changes.Undo(), r.dev.Close())
		r.dev = nil
	}
	if r.area != nil {
		errs = append(errs, r.area.close())
		r.area = nil
	}
	return errors.Join(errs...)
}

// awaitUnbound waits until the queue that was ours has no provider: the kernel
// closes a ring in its own time.
func (r *Receiver) awaitUnbound() error {
	if !r.bound {
		return nil
	}
	for end := time.Now().Add(unboundWithin); ; time.Sleep(5 * time.Millisecond) {
		q, err := r.dev.Queue(r.queue.ID)
		if err != nil {
			return err
		}
		if q.Provider == nic.ProviderNone {
			return nil
		}
		if time.Now().After(end) {
			return &stream.Error{Op: fmt.Sprintf("RX %v of %s is still bound %v after the ring was closed", q, r.dev.Name, unboundWithin),
				How: "if no process holds it, this is a bug of the kernel: ip link set " + r.dev.Name + " down and up frees it"}
		}
	}
}
