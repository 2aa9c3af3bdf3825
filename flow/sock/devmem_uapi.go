// SPDX-License-Identifier: MIT

package sock

import (
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Limits of SO_DEVMEM_DONTNEED (net/core/sock.c, sock_devmem_dontneed): a call
// with more ranges is refused, and one with more fragments frees that many.
const (
	MaxTokenRanges = 128
	MaxTokenFrags  = 1024
)

// ETOOSMALL is the kernel's own errno of a recvmsg whose control space is too
// small for one fragment (include/linux/errno.h).
const ETOOSMALL = unix.Errno(525)

// DevmemReader receives from a socket whose payload is in a dmabuf
// (MSG_SOCK_DEVMEM, 6.12, Documentation/networking/devmem.rst) without
// allocating. It must not be copied after first use: the kernel gets pointers into
// it.
type DevmemReader struct {
	msg     unix.Msghdr
	iov     unix.Iovec
	linear  []byte
	control []byte
}

// NewDevmemReader makes a reader. linear gets the bytes that are not in the
// dmabuf; its length is the most that one call asks for. control holds so many
// fragments as it has times [DevmemControlBytes].
func NewDevmemReader(linear, control []byte) *DevmemReader {
	return &DevmemReader{linear: linear, control: control}
}

// Recv calls recvmsg(2) with MSG_SOCK_DEVMEM. It sleeps as [Blocking] says, or never with
// MSG_DONTWAIT in flags. n counts all payload: where frags has any, n is their sum; else the bytes
// are ordinary ones, in linear[:n]. truncated: control messages were lost (MSG_CTRUNC). n of 0
// without an error is the end of the stream.
//
//go:noinline
func (r *DevmemReader) Recv(fd, flags int) (n int, frags DevmemFrags, truncated bool, errno unix.Errno) {
	r.iov = unix.Iovec{Base: unsafe.SliceData(r.linear), Len: uint64(len(r.linear))}
	r.msg = unix.Msghdr{Iov: &r.iov, Iovlen: 1, Control: unsafe.SliceData(r.control),
		Controllen: uint64(len(r.control))}
	k, _, e := unix.RawSyscall6(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.msg)),
		uintptr(unix.MSG_SOCK_DEVMEM|flags), 0, 0, 0)
	if e != 0 {
		return 0, DevmemFrags{}, false, e
	}
	return int(k), Fragments(r.control[:r.msg.Controllen]), r.msg.Flags&unix.MSG_CTRUNC != 0, 0
}

// TokenRange is struct dmabuf_token of include/uapi/linux/uio.h: fragments with
// consecutive tokens.
type TokenRange struct {
	_     structs.HostLayout
	Start uint32
	Count uint32
}

// ReleaseTokens gives fragments back (SO_DEVMEM_DONTNEED): at most
// [MaxTokenRanges] ranges of [MaxTokenFrags] fragments in all. It returns how many
// the kernel freed.
func ReleaseTokens(fd int, ranges []TokenRange) (freed int, errno unix.Errno) {
	n, _, e := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_DEVMEM_DONTNEED,
		uintptr(unsafe.Pointer(unsafe.SliceData(ranges))), uintptr(len(ranges))*unsafe.Sizeof(TokenRange{}), 0)
	return int(n), e
}

// offsetIovec is struct iovec whose base is no address.
type offsetIovec struct {
	_    structs.HostLayout
	base uintptr
	len  uint64
}

// idMessage is a control message of one 32-bit number, padded.
type idMessage struct {
	_     structs.HostLayout
	len   uint64
	level int32
	typ   int32
	id    uint32
	_     uint32
}

// msghdr is struct user_msghdr with pointers to the above.
type msghdr struct {
	_          structs.HostLayout
	name       unsafe.Pointer
	nameLen    uint32
	_          uint32
	iov        *offsetIovec
	iovLen     uint64
	control    *idMessage
	controlLen uint64
	flags      int32
	_          uint32
}

// DevmemWriter sends from a dmabuf without allocating (6.16). It must not be
// copied after first use.
type DevmemWriter struct {
	msg msghdr
	iov offsetIovec
	id  idMessage
}

// Send calls sendmsg(2) with MSG_ZEROCOPY for n bytes at offset off of the dmabuf that is bound for
// sending as number id. The socket needs SO_ZEROCOPY; what the kernel takes is notified like
// MSG_ZEROCOPY.
func (w *DevmemWriter) Send(fd int, id uint32, off, n int) (int, unix.Errno) {
	w.iov = offsetIovec{base: uintptr(off), len: uint64(n)}
	w.id = idMessage{len: unix.SizeofCmsghdr + 4, level: unix.SOL_SOCKET, typ: unix.SCM_DEVMEM_DMABUF, id: id}
	w.msg = msghdr{iov: &w.iov, iovLen: 1, control: &w.id, controlLen: uint64(unsafe.Sizeof(w.id))}
	k, _, e := unix.RawSyscall6(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&w.msg)),
		unix.MSG_ZEROCOPY|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0, 0)
	return int(k), e
}
