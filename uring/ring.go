package uring

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ring is an io_uring instance: see the package comment for its threads.
type Ring struct {
	fd         int
	enterFD    uintptr // fd, or its index once registered
	enterFlags uintptr // IORING_ENTER_REGISTERED_RING once registered
	setup      uint32
	features   FeatureBits
	closed     bool

	registerFD bool
	registered bool
	owner      int // thread that holds the registered descriptor

	sq submissionQueue
	cq completionQueue

	queues  []byte  // both rings
	entries []byte  // submission queue entries
	scratch *Memory // what the kernel is pointed at: wait, then timeouts
	wait    *waitArg
	times   []timespec // one for each submission queue entry

	enters, sleeps, backlogs uint64

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

// submissionQueue is the kernel's ring of entries to submit. We write tail, the
// kernel writes head.
type submissionQueue struct {
	head, tail, flags, dropped *uint32
	sqes                       []SQE
	mask                       uint32
	next                       uint32 // one past the last entry handed out; ahead of *tail until a submit
}

// completionQueue is the kernel's ring of completions. The kernel writes tail,
// we write head.
type completionQueue struct {
	head, tail, overflow *uint32
	cqes                 []CQE
	mask, shift          uint32
	mixed                bool   // completions of both sizes: see Drain
	next                 uint32 // our copy of *head
}

// mapQueues maps what the kernel made and finds the fields in it.
func (r *Ring) mapQueues(p *params) error {
	if p.flags&setupCQE32 != 0 {
		r.cq.shift = 1
	}
	r.cq.mixed = p.flags&setupCQEMixed != 0
	cqes := p.cqEntries << r.cq.shift
	size := p.cqOff.cqes + cqes*uint32(unsafe.Sizeof(CQE{}))
	if p.flags&setupNoSQArray == 0 {
		size = max(size, p.sqOff.array+p.sqEntries*4)
	}
	var err error
	if r.queues, err = r.mapRing(offSQRing, int(size)); err != nil {
		return err
	}
	if r.entries, err = r.mapRing(offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(SQE{}))); err != nil {
		return err
	}
	if err = r.mapScratch(p.sqEntries); err != nil {
		return err
	}
	base := unsafe.Pointer(&r.queues[0])
	word := func(off uint32) *uint32 { return (*uint32)(unsafe.Add(base, off)) }
	r.sq.head, r.sq.tail = word(p.sqOff.head), word(p.sqOff.tail)
	r.sq.flags, r.sq.dropped = word(p.sqOff.flags), word(p.sqOff.dropped)
	r.sq.mask = p.sqEntries - 1
	r.sq.sqes = unsafe.Slice((*SQE)(unsafe.Pointer(&r.entries[0])), p.sqEntries)
	r.cq.head, r.cq.tail, r.cq.overflow = word(p.cqOff.head), word(p.cqOff.tail), word(p.cqOff.overflow)
	r.cq.mask = p.cqEntries - 1
	r.cq.cqes = unsafe.Slice((*CQE)(unsafe.Add(base, p.cqOff.cqes)), cqes)
	if p.flags&setupNoSQArray == 0 {
		// Entry i is always at place i, so the index array is written once.
		for i, a := uint32(0), unsafe.Slice(word(p.sqOff.array), p.sqEntries); i < p.sqEntries; i++ {
			a[i] = i
		}
	}
	return nil
}

func (r *Ring) mapRing(off int64, size int) ([]byte, error) {
	b, err := unix.Mmap(r.fd, off, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		errno, _ := err.(unix.Errno)
		return nil, opError(fmt.Sprintf("mmap of %d bytes of the ring", size), errno)
	}
	return b, nil
}

// mapScratch makes room for what requests point at and the kernel reads while
// submitting or waiting.
func (r *Ring) mapScratch(sqEntries uint32) error {
	head := roundUp(int(unsafe.Sizeof(waitArg{})), 64)
	m, err := NewMemory(head+int(sqEntries)*int(unsafe.Sizeof(timespec{})), PagesBase)
	if err != nil {
		return err
	}
	r.scratch = m
	r.wait = (*waitArg)(unsafe.Pointer(&m.bytes[0]))
	r.times = unsafe.Slice((*timespec)(unsafe.Pointer(&m.bytes[head])), sqEntries)
	return nil
}

// FD is the ring's file descriptor.
func (r *Ring) FD() int { return r.fd }

// Features are the bits that the kernel reported for this ring.
func (r *Ring) Features() FeatureBits { return r.features }

// NoIowait reports whether sleeping in SubmitAndWait is booked as idle rather
// than as iowait (IORING_ENTER_NO_IOWAIT, 6.15).
func (r *Ring) NoIowait() bool { return r.features.Has(FeatNoIowait) }

// SQEntries is the size of the submission queue, as the kernel rounded it.
func (r *Ring) SQEntries() int { return len(r.sq.sqes) }

// CQEntries is the size of the completion queue, as the kernel rounded it.
func (r *Ring) CQEntries() int { return len(r.cq.cqes) >> r.cq.shift }

// Dropped counts the submission queue entries that the kernel found invalid.
func (r *Ring) Dropped() uint32 {
	if r.closed {
		return 0
	}
	return atomic.LoadUint32(r.sq.dropped)
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
	errs = append(errs, r.unregisterAll(), r.scratch.Close())
	r.sq, r.cq, r.wait, r.times = submissionQueue{}, completionQueue{}, nil, nil
	for _, m := range []*[]byte{&r.entries, &r.queues} {
		if *m != nil {
			errs = append(errs, unix.Munmap(*m))
			*m = nil
		}
	}
	errs = append(errs, unix.Close(r.fd))
	r.fd = -1
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
