// SPDX-License-Identifier: MIT

package sock

import (
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tcpZerocopyReceive mirrors struct tcp_zerocopy_receive of
// include/uapi/linux/tcp.h. Linux 4.18 knew the first three fields; inq and err
// came with 5.7, copybuf and flags with 5.11, the rest with 5.12.
type tcpZerocopyReceive struct {
	_              structs.HostLayout
	address        uint64 // in: of the mapping, page-aligned
	length         uint32 // in: bytes that may be mapped; out: that were
	recvSkipHint   uint32 // out: bytes that cannot be mapped and come next
	inq            uint32 // out: bytes left in the receive queue, or 1 at its end
	err            int32  // out: the socket's error, negative, which is thereby taken
	copybufAddress uint64
	copybufLen     int32 // in: bytes that may be copied there; out: that were, or an errno
	flags          uint32
	msgControl     uint64
	msgControllen  uint64
	msgFlags       uint32
	reserved       uint32
}

// zerocopyHasInq is the length that tcp_zerocopy_receive has at least where the
// kernel knows inq and err.
const zerocopyHasInq = 24

// tlbCleanHint is TCP_RECEIVE_ZEROCOPY_FLAG_TLB_CLEAN_HINT (5.11): nothing is
// mapped where the kernel is to map, so it need not look.
const tlbCleanHint = 1

// MapWindow reserves n bytes of address space, a multiple of the page size, that
// the kernel maps payload of the TCP socket fd into, for reading ([Mapper.Receive]).
// Until it is unmapped the connection stays open. ENODEV: a kernel before 4.18.
func MapWindow(fd, n int) ([]byte, error) {
	return unix.Mmap(fd, 0, n, unix.PROT_READ, unix.MAP_SHARED)
}

// Mapper makes the kernel map received pages into a window: getsockopt
// TCP_ZEROCOPY_RECEIVE (4.18, net/ipv4/tcp.c). It keeps the kernel's structure so
// that a call does not allocate, and must not be copied after first use.
type Mapper struct {
	zc   tcpZerocopyReceive
	size uint32 // of zc; the kernel cuts it to what it knows
}

// Mapped is what one call brought, in flow order: the mapped bytes, then Skip.
type Mapped struct {
	Mapped int // bytes mapped at the beginning of the window, whole pages
	Skip   int // bytes that come next, cannot be mapped and must be received otherwise
	// Left reports whether more can be had now, or the end of the stream; true
	// where the kernel does not say (before 5.7).
	Left bool
}

// Receive maps what is there of the socket fd, at most all of window. clean says
// that nothing is mapped in window; else what is there is taken out first, as
// kernels before 5.11 always do. An errno is that of the call or the socket's;
// EIO is the end of the stream.
//
// The copy buffer that the kernel has for pieces below a page is left out: where
// the window ends inside a packet, it would copy what the next call can map, and
// then all the rest of the packet.
func (m *Mapper) Receive(fd int, window []byte, clean bool) (Mapped, unix.Errno) {
	m.zc = tcpZerocopyReceive{address: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(window)))),
		length: uint32(len(window))}
	if clean {
		m.zc.flags = tlbCleanHint
	}
	m.size = uint32(unsafe.Sizeof(m.zc))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_ZEROCOPY_RECEIVE,
		uintptr(unsafe.Pointer(&m.zc)), uintptr(unsafe.Pointer(&m.size)), 0)
	tells := m.size >= zerocopyHasInq
	switch {
	case errno != 0:
		return Mapped{}, errno
	case tells && m.zc.err != 0:
		return Mapped{}, unix.Errno(-m.zc.err)
	}
	return Mapped{Mapped: int(m.zc.length), Skip: int(m.zc.recvSkipHint), Left: !tells || m.zc.inq > 0}, 0
}

// Unmap takes out what is mapped in a window, which stays (madvise
// MADV_DONTNEED): the kernel gets its pages back.
func Unmap(window []byte) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_MADVISE, uintptr(unsafe.Pointer(unsafe.SliceData(window))),
		uintptr(len(window)), unix.MADV_DONTNEED)
	return errno
}
