// SPDX-License-Identifier: MIT

//go:build giouring

package uring

import (
	"errors"
	"reflect"
	"syscall"
	"time"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"
)

// builtIn are the engines of this program, the default first.
var builtIn = []made{ours, {name: Giouring, module: "github.com/pawelgaczynski/giouring", open: openGiouring,
	lacks: []lack{
		// It writes the index array all the same, to where the offset 0 points: over
		// the queue's head and tail. It also maps too little.
		{setupNoSQArray, lackNoSQArray},
		// It does not map its queues a second time and frees what it had.
		{0, lackResize},
		// Its waits take no flags; 6.15 came after it.
		{0, lackNoIowait},
		// It fills in the waits' argument itself, all but a minimum.
		{0, lackGather},
	}}}

// gio is the engine on a ring of giouring: set up, mapped, submitted to, entered,
// peeked at and closed by it. It knows liburing's interface of 2023, so what is
// newer goes through its Register. What it gets wrong is not called, see the
// comments; requests are written by the methods of [sqe], because its own
// Prepare functions leave fields of the entry's last request, and several give
// the kernel the address of a slice's header.
type gio struct {
	ring *giouring.Ring
	cq   *completionQueue // the Ring's
	all  []*CQE           // room for cq.batch
	// same is all, as giouring calls it.
	same []*giouring.CompletionQueueEvent
}

func openGiouring(r *Ring, entries uint32, p *params) error {
	ring := giouring.NewRing()
	// Its Params have no setters; ours have the same layout, which a test checks.
	if err := ring.QueueInitParams(entries, (*giouring.Params)(unsafe.Pointer(p))); err != nil {
		if p.sqEntries != 0 { // filled in by io_uring_setup
			return opError(remedy.UringMap, "mmap of the ring", errnoOf(err), remedy.On{})
		}
		return setupFailed{errnoOf(err)}
	}
	e := &gio{ring: ring, cq: &r.cq, all: make([]*CQE, p.cqEntries)}
	e.same = *(*[]*giouring.CompletionQueueEvent)(unsafe.Pointer(&e.all))
	r.engine, r.other, r.fd = e, e, ring.RingFd()
	r.cq.describe(p)
	r.cq.batch = e.all[:0]
	r.words = ringWords{sqFlags: e.word("sqRing", "flags"), sqDropped: e.word("sqRing", "dropped"),
		cqOverflow: e.word("cqRing", "overflow")}
	return nil
}

// word finds one of the kernel's words that giouring gives no access to. It panics when the field
// is not there: the module's version is fixed.
func (e *gio) word(queue, field string) *uint32 {
	q := reflect.ValueOf(e.ring).Elem().FieldByName(queue)
	return (*uint32)(q.Elem().FieldByName(field).UnsafePointer())
}

// errnoOf extracts the errno from one of giouring's errors, 0 for none.
func errnoOf(err error) unix.Errno {
	switch e := err.(type) {
	case nil:
		return 0
	case syscall.Errno: // of a call on the data path: nothing is allocated
		return e
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return unix.EINVAL // its own words for an answer it did not expect
	}
	return errno
}

func (e *gio) getSQE() *sqe { return (*sqe)(unsafe.Pointer(e.ring.GetSQE())) }

func (e *gio) unsubmitted() uint32 { return e.ring.SQReady() }

// enterNow enters with the scheduler's knowledge, unlike the native engine: giouring has no other
// way.
func (e *gio) enterNow(getEvents bool) (int, unix.Errno) {
	submit := e.ring.Submit
	if getEvents {
		submit = e.ring.SubmitAndGetEvents
	}
	n, err := submit()
	return int(n), errnoOf(err)
}

// longest is a wait without an end: giouring enters more than once in a call that
// has no timeout, and then counting is impossible.
const longest = 3600 // s

func (e *gio) enterWait(n int, w *waitArg) (int, unix.Errno) {
	forever := w.arg.ts == 0
	if forever {
		w.ts = timespec{sec: longest}
	}
	before, began := e.ring.SQReady(), time.Now()
	// The time is outside of the Go heap: giouring gives the kernel its address as
	// a number, which keeps nothing alive or in place.
	_, err := e.ring.SubmitAndWaitTimeout(uint32(n), (*syscall.Timespec)(unsafe.Pointer(&w.ts)), nil)
	submitted := int(before - e.ring.SQReady())
	return submitted, endOfWait(errnoOf(err), submitted, forever || time.Since(began) < w.ts.duration())
}

// endOfWait works out how a wait ended. ETIME is giouring's word for every one that ended without a
// completion, also when the kernel said nothing of the time: after a signal that came when requests
// were submitted, or where the call returned 0.
func endOfWait(errno unix.Errno, submitted int, early bool) unix.Errno {
	switch {
	case errno == unix.ETIME && submitted > 0:
		return 0
	case errno == unix.ETIME && early:
		return unix.EINTR // to be called again
	}
	return errno
}

// ready collects where the completions are. PeekBatchCQE is asked for those that
// are there and no more: with more room it would fill all of it, and with no
// completion there it would enter the kernel.
func (e *gio) ready() int {
	n := int(e.ring.CQReady())
	if n > len(e.cq.batch) {
		e.ring.PeekBatchCQE(e.same[:n])
		e.cq.batch = e.all[:n]
	}
	return n
}

func (e *gio) advance(n int) {
	e.ring.CQAdvance(uint32(n))
	e.cq.batch = e.cq.batch[n:]
	e.cq.next += uint32(n)
}

// register takes the plain descriptor: giouring's own Register functions use the
// registered one where there is one, without asking whether the kernel can
// (6.3), and RegisterFiles passes int where the kernel reads int32.
func (e *gio) register(op uintptr, arg unsafe.Pointer, n int) (int, unix.Errno) {
	k, errno := e.ring.Register(e.ring.RingFd(), uint32(op), arg, uint32(n))
	return int(k), errno
}

func (e *gio) registerFD() unix.Errno {
	_, err := e.ring.RegisterRingFd()
	return errnoOf(err)
}

// unregisterFD does what UnregisterRingFd refuses to do on a ring whose
// descriptor is registered: its condition is the wrong way round. The thread
// would run out of its 16 places, and the ring would live on. What giouring
// believes is not changed, so nothing but close may follow.
func (e *gio) unregisterFD() unix.Errno {
	up := rsrcUpdate{offset: uint32(e.enterFD())}
	_, errno := e.register(unregisterRingFDs, unsafe.Pointer(&up), 1)
	return errno
}

// enterFD returns the descriptor that giouring enters by, or its index.
func (e *gio) enterFD() int {
	return int(reflect.ValueOf(e.ring).Elem().FieldByName("enterRingFd").Int())
}

func (e *gio) resize(*params, uint32) error { return unix.EINVAL } // never asked: see lacks

func (e *gio) close() error {
	*e.cq = completionQueue{}
	clear(e.all)       // addresses that may soon be the Go heap's
	e.ring.QueueExit() // tells nothing
	return nil
}

func (t timespec) duration() time.Duration {
	return time.Duration(t.sec)*time.Second + time.Duration(t.nsec)
}
