// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// native is this package's own engine: plain system calls on mapped queues.
type native struct {
	fd         int
	enterFD    uintptr // fd, or its index once registered
	enterFlags uintptr // IORING_ENTER_REGISTERED_RING once registered
	waitFlags  uintptr // of an enter that may sleep

	sq      submissionQueue
	cq      *completionQueue // the Ring's
	cqHead  *uint32
	cqTail  *uint32
	words   *ringWords // the Ring's
	queues  []byte     // both rings
	entries []byte     // submission queue entries
}

// submissionQueue is the kernel's ring of entries to submit. We write tail, the
// kernel writes head.
type submissionQueue struct {
	head, tail *uint32
	sqes       []sqe
	mask       uint32
	next       uint32 // one past the last entry handed out; ahead of *tail until a submit
}

func openNative(r *Ring, entries uint32, p *params) error {
	fd, errno := setup(entries, p)
	if errno != 0 {
		return setupFailed{errno}
	}
	e := &r.core
	*e = native{fd: fd, enterFD: uintptr(fd), cq: &r.cq, words: &r.words}
	e.waitFlags = enterGetEvents | enterExtArg
	if p.features.Has(featNoIowait) {
		e.waitFlags |= enterNoIowait
	}
	if err := e.mapQueues(p); err != nil {
		return errors.Join(err, e.close())
	}
	r.engine, r.fd = e, fd
	return nil
}

// setup calls io_uring_setup(2).
func setup(entries uint32, p *params) (int, unix.Errno) {
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(p)), 0)
	return int(fd), errno
}

// mapQueues maps what the kernel made and finds the fields in it.
func (e *native) mapQueues(p *params) error {
	q := e.cq
	q.describe(p)
	cqes := p.cqEntries << q.shift
	size := p.cqOff.cqes + cqes*uint32(unsafe.Sizeof(CQE{}))
	if p.flags&setupNoSQArray == 0 {
		size = max(size, p.sqOff.array+p.sqEntries*4)
	}
	var err error
	if e.queues, err = e.mapRing(offSQRing, int(size)); err != nil {
		return err
	}
	if e.entries, err = e.mapRing(offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{}))); err != nil {
		return err
	}
	base := unsafe.Pointer(&e.queues[0])
	word := func(off uint32) *uint32 { return (*uint32)(unsafe.Add(base, off)) }
	e.sq.head, e.sq.tail = word(p.sqOff.head), word(p.sqOff.tail)
	e.sq.mask = p.sqEntries - 1
	e.sq.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&e.entries[0])), p.sqEntries)
	e.cqHead, e.cqTail = word(p.cqOff.head), word(p.cqOff.tail)
	*e.words = ringWords{sqFlags: word(p.sqOff.flags), sqDropped: word(p.sqOff.dropped),
		cqOverflow: word(p.cqOff.overflow)}
	q.mask = p.cqEntries - 1
	q.cqes = unsafe.Slice((*CQE)(unsafe.Add(base, p.cqOff.cqes)), cqes)
	if p.flags&setupNoSQArray == 0 {
		// Entry i is always at place i, so the index array is written once.
		for i, a := uint32(0), unsafe.Slice(word(p.sqOff.array), p.sqEntries); i < p.sqEntries; i++ {
			a[i] = i
		}
	}
	return nil
}

func (e *native) mapRing(off int64, size int) ([]byte, error) {
	b, err := unix.Mmap(e.fd, off, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		errno, _ := err.(unix.Errno)
		return nil, opError(remedy.UringMap, fmt.Sprintf("mmap of %d bytes of the ring", size), errno,
			remedy.On{FD: e.fd, Bytes: int64(size)})
	}
	return b, nil
}

func (e *native) unmap() error {
	e.sq, e.cqHead, e.cqTail = submissionQueue{}, nil, nil
	*e.cq, *e.words = completionQueue{}, ringWords{}
	var errs []error
	for _, m := range []*[]byte{&e.entries, &e.queues} {
		if *m != nil {
			errs = append(errs, unix.Munmap(*m))
			*m = nil
		}
	}
	return errors.Join(errs...)
}

func (e *native) close() error { return errors.Join(e.unmap(), unix.Close(e.fd)) }

func (e *native) getSQE() *sqe {
	q := &e.sq
	if q.next-atomic.LoadUint32(q.head) > q.mask {
		return nil
	}
	s := &q.sqes[q.next&q.mask]
	q.next++
	return s
}

func (e *native) unsubmitted() uint32 { return e.sq.next - atomic.LoadUint32(e.sq.head) }

// flush shows the kernel all entries handed out; it returns how many it has yet
// to take, among them those that an earlier submit left.
func (q *submissionQueue) flush() uint32 {
	if n := q.next - atomic.LoadUint32(q.head); n != 0 {
		atomic.StoreUint32(q.tail, q.next)
		return n
	}
	return 0
}

// enterNow enters without telling the scheduler, because it cannot sleep.
func (e *native) enterNow(getEvents bool) (int, unix.Errno) {
	flags := e.enterFlags
	if getEvents {
		flags |= enterGetEvents
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, e.enterFD, uintptr(e.sq.flush()), 0, flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// enterWait does not tell the scheduler: it would hand the thread's P on and have
// to find one at the end of every sleep. When it wants the thread, its signal ends
// the sleep.
func (e *native) enterWait(n int, w *waitArg) (int, unix.Errno) {
	k, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, e.enterFD, uintptr(e.sq.flush()),
		uintptr(min(n, math.MaxUint32)), e.waitFlags|e.enterFlags,
		uintptr(unsafe.Pointer(&w.arg)), unsafe.Sizeof(w.arg))
	if errno != 0 {
		return 0, errno
	}
	return int(k), 0
}

func (e *native) ready() int { return int(atomic.LoadUint32(e.cqTail) - e.cq.next) }

func (e *native) advance(n int) {
	e.cq.next += uint32(n)
	atomic.StoreUint32(e.cqHead, e.cq.next)
}

func (e *native) register(op uintptr, arg unsafe.Pointer, n int) (int, unix.Errno) {
	k, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(e.fd), op, uintptr(arg), uintptr(n), 0, 0)
	return int(k), errno
}

func (e *native) registerFD() unix.Errno {
	up := rsrcUpdate{offset: anyIndex, data: uint64(e.fd)}
	if _, errno := e.register(registerRingFDs, unsafe.Pointer(&up), 1); errno != 0 {
		return errno
	}
	e.enterFD, e.enterFlags = uintptr(up.offset), enterRegisteredRing
	return 0
}

func (e *native) unregisterFD() unix.Errno {
	up := rsrcUpdate{offset: uint32(e.enterFD)}
	e.enterFD, e.enterFlags = uintptr(e.fd), 0
	_, errno := e.register(unregisterRingFDs, unsafe.Pointer(&up), 1)
	return errno
}

// resize maps the queues that the kernel makes. They have heads and tails as they
// were; the old mappings show memory that it no longer looks at.
func (e *native) resize(p *params, setup uint32) error {
	if _, errno := e.register(registerResizeRings, unsafe.Pointer(p), 1); errno != 0 {
		return errno
	}
	p.flags |= setup & (setupCQE32 | setupCQEMixed | setupNoSQArray)
	next := e.sq.next
	if err := errors.Join(e.unmap(), e.mapQueues(p)); err != nil {
		return err
	}
	e.sq.next, e.cq.next = next, atomic.LoadUint32(e.cqHead)
	return nil
}
