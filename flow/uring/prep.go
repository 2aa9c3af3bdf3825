// SPDX-License-Identifier: MIT

package uring

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The methods of SQE that begin a request assign every field, then return the
// entry for FixedFile, Link and PollFirst to add to. user is handed back in the
// completion. Kernel side: io_uring/net.c, poll.c, timeout.c, cancel.c.

// Nop does nothing and completes with 0.
func (s *sqe) Nop(user uint64) *sqe {
	*s = sqe{Opcode: opNop, FD: -1, UserData: user}
	return s
}

// Recv reads once into buf. The result is a byte count, 0 at the end of the flow.
func (s *sqe) Recv(fd int, buf []byte, msgFlags int, user uint64) *sqe {
	*s = sqe{Opcode: opRecv, FD: int32(fd), Addr: address(buf), Len: uint32(len(buf)), OpFlags: uint32(msgFlags),
		UserData: user}
	return s
}

// RecvMultishot reads again and again into the buffers of a group (6.0). Each
// completion has HasBuffer set and goes through [BufRing.Spans]. One without
// More ends the request: 0 at the end of the flow, -ENOBUFS when the group ran
// dry or, with a byte count, when the completion queue was full, after which it
// is to be issued again: a queue of a few thousand entries avoids it. With bundle (6.10) one
// completion covers as many consecutive buffers as there was data for.
func (s *sqe) RecvMultishot(fd int, group uint16, bundle bool, user uint64) *sqe {
	ioprio := uint16(recvMultishot)
	if bundle {
		ioprio |= recvsendBundle
	}
	*s = sqe{Opcode: opRecv, Flags: sqeBufferSelect, Ioprio: ioprio, FD: int32(fd), UserData: user, BufIndex: group}
	return s
}

// RecvMsgMultishot receives datagrams again and again, each into a buffer of a group (6.0), as
// RecvMultishot does. What it brings goes through [Datagram]. h says how much room name and control
// have before the payload; the kernel reads it when the request is submitted.
func (s *sqe) RecvMsgMultishot(fd int, h *unix.Msghdr, group uint16, user uint64) *sqe {
	*s = sqe{Opcode: opRecvMsg, Flags: sqeBufferSelect, Ioprio: recvMultishot, FD: int32(fd),
		Addr: uint64(uintptr(unsafe.Pointer(h))), Len: 1, UserData: user, BufIndex: group}
	return s
}

// DatagramHeader is how many bytes stand before a datagram without name and control, in the buffer
// that RecvMsgMultishot has filled: struct io_uring_recvmsg_out.
const DatagramHeader = 16

// Datagram extracts what a completion of RecvMsgMultishot brought, without name and control; false
// where it is none. One that was longer than its buffer is cut.
func Datagram(b []byte) (p []byte, ok bool) {
	if len(b) < DatagramHeader {
		return nil, false
	}
	return b[DatagramHeader:], true
}

// RecvZC reads again and again from a TCP socket into the buffers of the
// interface queue zcrx (6.15). Each completion with More brings the bytes that
// [Zcrx.Bytes] shows, and each must be refilled. One without More ends the
// request: 0 at the end of the flow; -ENOSPC when the completion queue was full
// and -ENOMEM when there was no buffer to copy to, after which it is to be issued
// again and nothing is lost; EPROTONOSUPPORT for a socket that is not TCP.
func (s *sqe) RecvZC(fd int, zcrx uint32, user uint64) *sqe {
	*s = sqe{Opcode: opRecvZC, Ioprio: recvMultishot, FD: int32(fd), UserData: user, FileIndex: zcrx}
	return s
}

// RecvZCUpTo does what RecvZC does, for at most n bytes (6.15): its last completion, with 0, also
// comes when so many have come.
func (s *sqe) RecvZCUpTo(fd int, zcrx uint32, n int, user uint64) *sqe {
	s.RecvZC(fd, zcrx, user)
	s.Len = uint32(n)
	return s
}

// AcceptMultishot takes connections again and again (5.19). Each completion has a descriptor, whose
// calls sleep unless they are told not to. One without More ends the request, which is to be issued
// again.
func (s *sqe) AcceptMultishot(fd int, user uint64) *sqe {
	*s = sqe{Opcode: opAccept, Ioprio: acceptMultishot, FD: int32(fd), OpFlags: unix.SOCK_CLOEXEC, UserData: user}
	return s
}

// Send writes buf, with flags as of send(2): MSG_WAITALL sends all of it before
// it completes. The result is a byte count.
func (s *sqe) Send(fd int, buf []byte, msgFlags int, user uint64) *sqe {
	*s = sqe{Opcode: opSend, FD: int32(fd), Addr: address(buf), Len: uint32(len(buf)), OpFlags: uint32(msgFlags),
		UserData: user}
	return s
}

// SendZC writes buf without copying it (6.0; with report 6.2). Two completions
// come: the byte count, with More set, and a Notif, until which buf must not
// change. With report the notification tells by Copied whether the kernel did
// copy. EOPNOTSUPP where the protocol cannot.
func (s *sqe) SendZC(fd int, buf []byte, msgFlags int, report bool, user uint64) *sqe {
	s.Send(fd, buf, msgFlags, user)
	s.Opcode = opSendZC
	if report {
		s.Ioprio = sendZCReportUsage
	}
	return s
}

// SendZCFixed sends as SendZC does, from inside buffer index of RegisterBuffers: the pages are
// pinned already. EFAULT when buf is not inside.
func (s *sqe) SendZCFixed(fd int, index int, buf []byte, msgFlags int, report bool, user uint64) *sqe {
	s.SendZC(fd, buf, msgFlags, report, user)
	s.Ioprio |= recvsendFixedBuf
	s.BufIndex = uint16(index)
	return s
}

// SendVectorZC sends the pieces of v as SendZCFixed sends one: all lie in buffer index (6.15). The
// kernel reads v when the request is submitted.
func (s *sqe) SendVectorZC(fd int, index int, v *Vector, msgFlags int, report bool, user uint64) *sqe {
	v.header.Iov = unsafe.SliceData(v.pieces)
	v.header.Iovlen = uint64(len(v.pieces))
	*s = sqe{Opcode: opSendMsgZC, Ioprio: recvsendFixedBuf, FD: int32(fd),
		Addr: uint64(uintptr(unsafe.Pointer(&v.header))),
		Len:  1, OpFlags: uint32(msgFlags), UserData: user, BufIndex: uint16(index)}
	if report {
		s.Ioprio |= sendZCReportUsage
	}
	return s
}

// WriteVector writes the pieces of v to a file, at an offset of it. All lie in buffer index of
// RegisterBuffers (6.15), or with -1 anywhere. The result is a byte count. The kernel reads v when
// the request is submitted.
func (s *sqe) WriteVector(fd int, index int, v *Vector, off, user uint64) *sqe {
	*s = sqe{Opcode: opWritev, FD: int32(fd), Off: off, Len: uint32(len(v.pieces)),
		Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(v.pieces)))), UserData: user}
	if index >= 0 {
		s.Opcode, s.BufIndex = opWritevFixed, uint16(index)
	}
	return s
}

// PollAdd waits once for events as of poll(2): unix.POLLIN and so on. The result
// is the events seen.
func (s *sqe) PollAdd(fd int, events uint32, user uint64) *sqe {
	if !littleEndian { // poll32_events is word-reversed there
		events = events<<16 | events>>16
	}
	*s = sqe{Opcode: opPollAdd, FD: int32(fd), OpFlags: events, UserData: user}
	return s
}

// Cancel ends the requests with user data target, all of them. The result is how
// many, 0 for none; each of them completes with -ECANCELED (5.19).
func (s *sqe) Cancel(target, user uint64) *sqe {
	*s = sqe{Opcode: opAsyncCancel, FD: -1, Addr: target, OpFlags: cancelAll, UserData: user}
	return s
}

// CancelFD ends all requests on fd, as Cancel does (5.19).
func (s *sqe) CancelFD(fd int, user uint64) *sqe {
	*s = sqe{Opcode: opAsyncCancel, FD: int32(fd), OpFlags: cancelAll | cancelFD, UserData: user}
	return s
}

// PrepTimeout fills s, an entry that GetSQE just handed out, with a timer that
// completes with -ETIME after d, or with 0 after count other completions when
// count is not 0.
func (r *Ring) PrepTimeout(s *sqe, d time.Duration, count uint32, user uint64) *sqe {
	// The kernel reads the time while it submits: as many are in use as there are
	// entries, at most.
	t := &r.times[r.nextTime%uint32(len(r.times))]
	r.nextTime++
	*t = durationSpec(d)
	*s = sqe{Opcode: opTimeout, FD: -1, Off: uint64(count), Addr: uint64(uintptr(unsafe.Pointer(t))), Len: 1,
		UserData: user}
	return s
}

// FixedFile marks the descriptor given as an index into RegisterFiles.
func (s *sqe) FixedFile() *sqe { s.Flags |= sqeFixedFile; return s }

// Link lets the next entry of the same submission begin only when this one has succeeded; otherwise
// that one and what is linked to it are cancelled (5.3).
func (s *sqe) Link() *sqe { s.Flags |= sqeLink; return s }

// PollFirst makes send or recv wait for the socket before trying (5.19).
func (s *sqe) PollFirst() *sqe { s.Ioprio |= recvsendPollFirst; return s }

// littleEndian is how this machine stores words.
var littleEndian = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()
