// SPDX-License-Identifier: MIT

package sock

import (
	"structs"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Recv calls recvfrom(2) without an address. It sleeps as [Blocking] says, or never with
// MSG_DONTWAIT in flags. n is valid when errno is 0; 0 means end of stream.
func Recv(fd int, p []byte, flags int) (n int, errno unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))),
		uintptr(len(p)), uintptr(flags), 0, 0)
	return int(r), e
}

// Discard receives with MSG_TRUNC: the kernel drops up to n bytes of a TCP stream without copying
// them (net/ipv4/tcp.c, tcp_recvmsg_locked).
func Discard(fd, n, flags int) (int, unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(n), uintptr(flags|unix.MSG_TRUNC), 0, 0)
	return int(r), e
}

// Send calls sendto(2) without an address.
func Send(fd int, p []byte, flags int) (n int, errno unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))),
		uintptr(len(p)), uintptr(flags), 0, 0)
	return int(r), e
}

// Sendfile calls sendfile(2) from in at *off, which it advances, to the non-blocking socket out.
func Sendfile(out, in int, off *int64, n int) (int, unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_SENDFILE, uintptr(out), uintptr(in), uintptr(unsafe.Pointer(off)), uintptr(n),
		0, 0)
	return int(r), e
}

// Splice calls splice(2): it moves up to n bytes from in to out, one of which is a pipe.
func Splice(in, out, n, flags int) (int, unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_SPLICE, uintptr(in), 0, uintptr(out), 0, uintptr(n), uintptr(flags))
	return int(r), e
}

// pollFd mirrors struct pollfd of include/uapi/asm-generic/poll.h.
type pollFd struct {
	_       structs.HostLayout
	fd      int32
	events  int16
	revents int16
}

// Waiter sleeps until one socket is ready. It keeps its kernel structures so
// that waiting does not allocate.
type Waiter struct {
	pfd pollFd
	ts  unix.Timespec
}

// Wait sleeps until fd has one of events (unix.POLLIN...) or timeoutMs have
// passed, and returns what it has; 0 is a time-out. A signal counts as one.
//
// The Go scheduler is not told that the thread sleeps: it would hand the
// thread's P on and have to find another one for it at the end of every sleep.
// When it wants the thread it sends a signal, which ends the sleep; noinline
// leaves the caller a place where it can be had.
//
//go:noinline
func (w *Waiter) Wait(fd int, events int16, timeoutMs int) (revents int16, errno unix.Errno) {
	return w.WaitFor(fd, events, time.Duration(timeoutMs)*time.Millisecond)
}

// WaitFor does what Wait does, with a finer time-out.
//
//go:noinline
func (w *Waiter) WaitFor(fd int, events int16, timeout time.Duration) (revents int16, errno unix.Errno) {
	w.pfd = pollFd{fd: int32(fd), events: events}
	w.ts = unix.NsecToTimespec(timeout.Nanoseconds())
	_, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&w.pfd)), 1, uintptr(unsafe.Pointer(&w.ts)), 0,
		0, 0)
	if e == unix.EINTR {
		return 0, 0
	}
	return w.pfd.revents, e
}

// sockExtendedErr mirrors struct sock_extended_err of
// include/uapi/linux/errqueue.h.
type sockExtendedErr struct {
	_      structs.HostLayout
	errno  uint32
	origin uint8
	typ    uint8
	code   uint8
	pad    uint8
	info   uint32
	data   uint32
}

// Zero-copy notification constants of include/uapi/linux/errqueue.h.
const (
	soEEOriginZerocopy     = 5
	soEECodeZerocopyCopied = 1
)

// ErrQueue reads MSG_ZEROCOPY notifications (kernel 4.14,
// Documentation/networking/msg_zerocopy.rst) without allocating. It must not be
// copied after first use: the kernel gets pointers into it.
type ErrQueue struct {
	msg     unix.Msghdr
	control [128]byte
}

// Notification says that the calls Lo..Hi with MSG_ZEROCOPY (counted from 0 on
// this socket, wrapping at 2^32) have let go of their memory.
type Notification struct {
	Lo, Hi uint32
	Copied bool // the kernel copied after all
}

// Next takes one notification. EAGAIN: there is none now. ok is false for an
// error-queue message that is no zero-copy notification.
func (q *ErrQueue) Next(fd int) (n Notification, ok bool, errno unix.Errno) {
	q.msg = unix.Msghdr{Control: &q.control[0], Controllen: uint64(len(q.control))}
	_, _, e := unix.RawSyscall6(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&q.msg)),
		unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT, 0, 0, 0)
	if e != 0 {
		return n, false, e
	}
	const hdr = unix.SizeofCmsghdr
	if q.msg.Controllen < uint64(hdr+int(unsafe.Sizeof(sockExtendedErr{}))) {
		return n, false, 0
	}
	c := (*unix.Cmsghdr)(unsafe.Pointer(&q.control[0]))
	v4 := c.Level == unix.SOL_IP && c.Type == unix.IP_RECVERR
	v6 := c.Level == unix.SOL_IPV6 && c.Type == unix.IPV6_RECVERR
	ee := (*sockExtendedErr)(unsafe.Pointer(&q.control[hdr]))
	if !(v4 || v6) || ee.errno != 0 || ee.origin != soEEOriginZerocopy {
		return n, false, 0
	}
	return Notification{Lo: ee.info, Hi: ee.data, Copied: ee.code&soEECodeZerocopyCopied != 0}, true, 0
}
