// SPDX-License-Identifier: MIT

package sock

import (
	"encoding/binary"
	"strconv"
	"structs"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// mmsghdr mirrors struct mmsghdr of include/linux/socket.h.
type mmsghdr struct {
	_   structs.HostLayout
	hdr unix.Msghdr
	n   uint32 // bytes that came
	_   uint32
}

// Batch is messages that one system call sends or receives. It keeps the kernel's structures, so
// that calls do not allocate. It must not be copied after first use: the kernel gets pointers into
// it.
type Batch struct {
	msgs    []mmsghdr
	iovs    []unix.Iovec
	control []byte // controlBytes of each, where control messages are wanted
}

// controlBytes has room for one control message of an int.
const controlBytes = 32

// NewBatch makes a batch of at most n messages. With control, received ones bring UDP_GRO.
func NewBatch(n int, control bool) *Batch {
	b := &Batch{msgs: make([]mmsghdr, n), iovs: make([]unix.Iovec, n)}
	if control {
		b.control = make([]byte, n*controlBytes)
	}
	for i := range b.msgs {
		h := &b.msgs[i].hdr
		h.Iov, h.Iovlen = &b.iovs[i], 1
	}
	return b
}

// Set makes p message i, or the memory it is received into.
func (b *Batch) Set(i int, p []byte) {
	v := &b.iovs[i]
	v.Base = unsafe.SliceData(p)
	v.SetLen(len(p))
}

// Send calls sendmmsg(2) for the first n messages. sent is how many the kernel took; it is valid
// when errno is 0, and may be less than n.
func (b *Batch) Send(fd, n, flags int) (sent int, errno unix.Errno) {
	return b.SendFrom(fd, 0, n, flags)
}

// SendFrom sends as [Batch.Send] does, messages from one on, up to n.
func (b *Batch) SendFrom(fd, from, n, flags int) (sent int, errno unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.msgs[from])), uintptr(n-from),
		uintptr(flags), 0, 0)
	return int(r), e
}

// Recv calls recvmmsg(2) for up to n messages, without a time limit of its own: with MSG_WAITFORONE
// it sleeps for the first alone, as [Blocking] says. got is valid when errno is 0.
func (b *Batch) Recv(fd, n, flags int) (got int, errno unix.Errno) {
	for i := range b.msgs[:n] {
		h := &b.msgs[i].hdr
		h.Flags = 0
		if b.control != nil { // the kernel has shortened it
			h.Control = &b.control[i*controlBytes]
			h.SetControllen(controlBytes)
		}
	}
	r, _, e := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b.msgs))),
		uintptr(n), uintptr(flags), 0, 0)
	return int(r), e
}

// Len returns how many bytes message i brought.
func (b *Batch) Len(i int) int { return int(b.msgs[i].n) }

// Segment returns the length of the datagrams that GRO made message i of, except the last; 0 where
// it is one datagram.
func (b *Batch) Segment(i int) int {
	const header = unix.SizeofCmsghdr
	h := &b.msgs[i].hdr
	if b.control == nil || h.Controllen < header+4 {
		return 0
	}
	c := (*unix.Cmsghdr)(unsafe.Pointer(&b.control[i*controlBytes]))
	if c.Level != unix.IPPROTO_UDP || c.Type != unix.UDP_GRO {
		return 0
	}
	return int(int32(binary.NativeEndian.Uint32(b.control[i*controlBytes+header:])))
}

// SegmentUDP lets every call on the socket that sends more than size bytes send datagrams of so
// many, but for the last one (UDP_SEGMENT, 4.18).
func SegmentUDP(fd, size int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT, size); err != nil {
		return remedy.Error(remedy.SetSegment, "setsockopt UDP_SEGMENT", err,
			remedy.On{FD: fd, Value: strconv.Itoa(size)})
	}
	return nil
}

// GatherUDP lets a call that receives bring several datagrams that GRO has made one packet
// (UDP_GRO, 5.0).
func GatherUDP(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1); err != nil {
		return remedy.Error(remedy.SetGather, "setsockopt UDP_GRO", err, remedy.On{FD: fd})
	}
	return nil
}
