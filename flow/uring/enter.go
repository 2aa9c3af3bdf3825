// SPDX-License-Identifier: MIT

package uring

import (
	"time"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// Submit gives the kernel all entries handed out and does not sleep. It returns
// how many the kernel took: fewer than there were when one was refused (see
// Options.SubmitAll); the next submit continues behind it. With nothing to
// submit it makes no system call.
//
// It fails with an [*fault.Error]: EEXIST on the wrong thread, EBADFD before Enable,
// EAGAIN and ENOMEM for want of memory.
func (r *Ring) Submit() (int, error) {
	if r.closed {
		return 0, errClosed
	}
	if r.unsubmitted() == 0 {
		return 0, nil
	}
	return r.enterNow(false)
}

// SubmitAndGetEvents submits as Submit does, and also brings in completions: those that wait for
// this thread (DeferTaskrun, CoopTaskrun) and those that overflowed. It always makes a system call
// and never sleeps. It fails as Submit does, and with EBADR when completions were lost.
func (r *Ring) SubmitAndGetEvents() (int, error) {
	if r.closed {
		return 0, errClosed
	}
	return r.enterNow(true)
}

// SubmitAndWait does what SubmitAndGetEvents does, and sleeps until n completions can be taken or
// timeout has passed; a negative timeout is forever. A timeout is no error: CQReady tells. It makes
// no system call when there is nothing to submit and n completions are there. A signal does not end
// it.
func (r *Ring) SubmitAndWait(n int, timeout time.Duration) (int, error) {
	return r.submitAndWait(n, 0, timeout)
}

// SubmitAndGather works as SubmitAndWait(1, timeout) but, when it has to sleep, sleeps for at least
// gather, unless half of the completion queue fills before: what arrives meanwhile is taken
// together, at the cost of one wake-up. When gather passes with nothing there, the first completion
// ends the wait (struct io_uring_getevents_arg, min_wait_usec, 6.12); so do a signal and a timeout
// request once there is one. Where [Ring.Gathers] is false, it equals SubmitAndWait(1, timeout).
func (r *Ring) SubmitAndGather(gather, timeout time.Duration) (int, error) {
	if !r.Gathers() {
		gather = 0
	}
	return r.submitAndWait(1, gather, timeout)
}

// submitAndWait does the work of SubmitAndWait and, with a gather time, of SubmitAndGather.
func (r *Ring) submitAndWait(n int, gather, timeout time.Duration) (int, error) {
	if timeout == 0 || n <= 0 {
		return r.SubmitAndGetEvents()
	}
	if r.closed {
		return 0, errClosed
	}
	var deadline time.Time
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	submitted, n := 0, min(n, r.CQEntries()) // as the kernel does
	for {
		if r.unsubmitted() == 0 && r.CQReady() >= n {
			return submitted, nil
		}
		k, errno := r.enterWait(n, gather, timeout)
		submitted += k
		switch {
		case errno == unix.ETIME, errno == 0 && r.CQReady() >= n:
			return submitted, nil
		case errno != 0 && errno != unix.EINTR:
			return submitted, r.failed(remedy.UringEnter, "io_uring_enter", errno, 0)
		}
		if timeout > 0 {
			if timeout = time.Until(deadline); timeout <= 0 {
				return submitted, nil
			}
		}
	}
}

// enterNow calls io_uring_enter(2) without sleeping.
func (r *Ring) enterNow(getEvents bool) (int, error) {
	for {
		r.count()
		var n int
		var errno unix.Errno
		if r.other == nil {
			n, errno = r.core.enterNow(getEvents)
		} else {
			n, errno = r.other.enterNow(getEvents)
		}
		switch errno {
		case 0:
			return n, nil
		case unix.EINTR:
		default:
			return 0, r.failed(remedy.UringEnter, "io_uring_enter", errno, 0)
		}
	}
}

// enterWait calls io_uring_enter(2) and may sleep. A signal or timeout after a submission is not
// reported by the kernel, nor here. Noinline leaves the caller's loop a place where the scheduler
// can have the thread.
//
//go:noinline
func (r *Ring) enterWait(n int, gather, timeout time.Duration) (int, unix.Errno) {
	r.count()
	r.sleeps++
	w := r.wait
	w.arg = getEventsArg{minWaitUsec: uint32(gather / time.Microsecond)}
	if gather > 0 {
		r.gathered++
		n = max(n, r.CQEntries()/2)
	}
	if timeout > 0 {
		w.ts = durationSpec(timeout)
		w.arg.ts = uint64(uintptr(unsafe.Pointer(&w.ts)))
	}
	if r.other == nil {
		return r.core.enterWait(n, w)
	}
	return r.other.enterWait(n, w)
}

// count keeps the books for a call that is about to be made.
func (r *Ring) count() {
	r.enters++
	if r.Overflowed() {
		r.backlogs++
	}
}

// Enters counts the system calls made by Submit, SubmitAndGetEvents and
// SubmitAndWait.
func (r *Ring) Enters() uint64 { return r.enters }

// Sleeps counts those that could sleep.
func (r *Ring) Sleeps() uint64 { return r.sleeps }

// Gathered counts those that slept for a gather time.
func (r *Ring) Gathered() uint64 { return r.gathered }

func durationSpec(d time.Duration) timespec {
	return timespec{sec: int64(d / time.Second), nsec: int64(d % time.Second)}
}
