// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"sync/atomic"
	"unsafe"
)

// Ring is an io_uring instance: see the package comment for its threads.
type Ring struct {
	engine   engine // nil once closed
	core     native // it stands on this...
	other    engine // ...or on this
	made     made   // which one it is
	fd       int
	setup    uint32
	features featureBits
	gathers  bool
	closed   bool
	replayed bool // a record answers, see record.go; closed from the start

	registerFD bool
	registered bool
	owner      int // thread that holds the registered descriptor
	issuer     int // thread that a ring for one issuer belongs to; 0: to none

	sqEntries, cqEntries int

	// The engine fills these in.
	cq    completionQueue
	words ringWords

	scratch  *Memory // what the kernel is pointed at: wait, then timeouts
	wait     *waitArg
	times    []timespec // as many as there are submission queue entries
	nextTime uint32

	enters, sleeps, gathered, backlogs uint64

	bufRings []*BufRing
	zcrx     []*Zcrx
	buffers  bool // fixed buffers are registered
	files    bool // fixed files are registered
}

// waitArg is the argument of a wait with its timeout, in memory that stays put.
type waitArg struct {
	arg getEventsArg
	ts  timespec
}

// completionQueue is the completions as an engine shows them: in place in the
// kernel's ring, or one by one. A Ring reads them without asking the engine.
type completionQueue struct {
	cqes        []CQE // the kernel's ring, of slots of 16 bytes
	mask, shift uint32
	// batch is where each completion is that ready counted, for an engine that does
	// not show its ring; else nil.
	batch []*CQE
	wide  bool   // completions have 32 bytes
	mixed bool   // completions of both sizes: see Drain
	next  uint32 // position of the oldest completion that was not given back
}

// describe sets what does not depend on the engine.
func (q *completionQueue) describe(p *params) {
	q.wide, q.mixed = p.flags&setupCQE32 != 0, p.flags&setupCQEMixed != 0
	if q.wide {
		q.shift = 1
	}
}

// at returns the completion (slot, on a ring of both sizes) at position pos.
func (q *completionQueue) at(pos uint32) *CQE {
	if q.batch != nil {
		return q.batch[pos-q.next]
	}
	return &q.cqes[(pos&q.mask)<<q.shift]
}

// newScratch is replaced by tests.
var newScratch = NewMemory

// mapScratch makes room for what requests point at and the kernel reads while
// submitting or waiting.
func (r *Ring) mapScratch(sqEntries uint32) error {
	head := roundUp(int(unsafe.Sizeof(waitArg{})), 64)
	m, err := newScratch(head+int(sqEntries)*int(unsafe.Sizeof(timespec{})), PagesBase)
	if err != nil {
		return err
	}
	r.scratch = m
	r.wait = (*waitArg)(unsafe.Pointer(&m.bytes[0]))
	r.times = unsafe.Slice((*timespec)(unsafe.Pointer(&m.bytes[head])), sqEntries)
	return nil
}

// FD returns the ring's file descriptor.
func (r *Ring) FD() int { return r.fd }

// Features returns the bits that the kernel reported for this ring.
func (r *Ring) Features() featureBits { return r.features }

// Engine returns the engine that made the ring.
func (r *Ring) Engine() Engine { return r.made.name }

// NoIowait reports whether sleeping in SubmitAndWait is booked as idle rather
// than as iowait (IORING_ENTER_NO_IOWAIT, 6.15, and an engine that can).
func (r *Ring) NoIowait() bool {
	return r.features.Has(featNoIowait) && r.made.cannot(lackNoIowait) == nil
}

// Gathers reports whether a wait can be told to let completions come together
// (IORING_FEAT_MIN_TIMEOUT, 6.12, and an engine that can).
func (r *Ring) Gathers() bool { return r.gathers }

// SQEntries returns the size of the submission queue, as the kernel rounded it.
func (r *Ring) SQEntries() int { return r.sqEntries }

// CQEntries returns the size of the completion queue, as the kernel rounded it.
func (r *Ring) CQEntries() int { return r.cqEntries }

// Dropped counts the submission queue entries that the kernel found invalid.
func (r *Ring) Dropped() uint32 {
	if r.closed {
		return 0
	}
	return atomic.LoadUint32(r.words.sqDropped)
}

// Close ends what is in flight, unregisters and unmaps all that the ring holds,
// the memory of its buffer rings included, and closes its descriptor. Closing
// again does nothing. On a SingleIssuer or RegisterFD ring it is to be called from
// the owning thread; from another one it fails for a registered descriptor, which
// then keeps the kernel's side of the ring until its thread ends.
func (r *Ring) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.cancelAll()
	var errs []error
	for _, b := range r.bufRings {
		errs = append(errs, b.free())
	}
	r.bufRings = nil
	errs = append(errs, r.unregisterAll(), r.scratch.Close(), r.engine.close())
	r.engine, r.other, r.core, r.cq, r.words, r.wait, r.times, r.fd = nil, nil, native{}, completionQueue{},
		ringWords{}, nil, nil, -1
	for _, z := range r.zcrx {
		errs = append(errs, z.unmap())
	}
	r.zcrx = nil
	return errors.Join(errs...)
}

// cancelAll ends requests before their memory goes: closing the descriptor
// alone ends them some time later. It is best effort: 6.0, and not from a thread
// that does not own the ring.
func (r *Ring) cancelAll() {
	c := syncCancelReg{flags: cancelAll | cancelAny, fd: -1, timeout: timespec{sec: 1}}
	_, _ = r.register(registerSyncCancel, unsafe.Pointer(&c), 1)
}
