// SPDX-License-Identifier: MIT

package uring

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CQEAt returns completion i of those that CQReady counted, 0 being the oldest. It lies in the
// ring's memory: do not use it after Advance.
func (r *Ring) CQEAt(i int) *CQE { return r.cq.at(r.cq.next + uint32(i)) }

// extra returns what follows a completion of 32 bytes.
func (c *CQE) extra() *[2]uint64 {
	return (*[2]uint64)(unsafe.Add(unsafe.Pointer(c), unsafe.Sizeof(CQE{})))
}

// PeekCQE returns the oldest completion; false when there is none. Advance(1) takes it.
func (r *Ring) PeekCQE() (CQE, bool) {
	if r.CQReady() == 0 {
		return CQE{}, false
	}
	return *r.CQEAt(0), true
}

// Overflow counts the completions that were lost because the queue was full and
// the kernel had no memory to keep them aside. Anything but 0 spoils a run.
func (r *Ring) Overflow() uint32 {
	if r.closed {
		return 0
	}
	return atomic.LoadUint32(r.words.cqOverflow)
}

// Overflowed reports whether the kernel keeps completions aside because the
// queue was full. Taking some and calling SubmitAndGetEvents brings them.
func (r *Ring) Overflowed() bool { return atomic.LoadUint32(r.words.sqFlags)&sqCQOverflow != 0 }

// Backlogs counts the calls that found the ring Overflowed: a queue too small.
func (r *Ring) Backlogs() uint64 { return r.backlogs }

// Errno returns the errno in the result, 0 for success. A notification has none.
func (c CQE) Errno() unix.Errno {
	if c.Res < 0 && !c.Notif() {
		return unix.Errno(-c.Res)
	}
	return 0
}

// More reports that the request will post further completions: a multishot one
// that goes on, or a zero-copy send whose notification is to come.
func (c CQE) More() bool { return c.Flags&cqeMore != 0 }

// Notif reports that this is the notification of a zero-copy send: its memory
// is free again.
func (c CQE) Notif() bool { return c.Flags&cqeNotif != 0 }

// Copied reports of a notification that the kernel copied after all. It needs
// the report of SQE.SendZC (6.2).
func (c CQE) Copied() bool { return c.Notif() && uint32(c.Res)&notifCopied != 0 }

// HasBuffer reports that a provided buffer was used: BufferID names it.
func (c CQE) HasBuffer() bool { return c.Flags&cqeBuffer != 0 }

// BufferID returns the buffer used, the first one of a bundle.
func (c CQE) BufferID() uint16 { return uint16(c.Flags >> cqeBufferShift) }

// BufMore reports that the (last) buffer is not used up and that the kernel will
// go on filling it (6.12).
func (c CQE) BufMore() bool { return c.Flags&cqeBufMore != 0 }

// SockNonEmpty reports that the socket had more to read.
func (c CQE) SockNonEmpty() bool { return c.Flags&cqeSockNonEmpty != 0 }
