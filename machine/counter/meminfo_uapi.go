// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MemInfo is what a socket's buffers hold now, in bytes, and what it has dropped: SK_MEMINFO_* of
// include/uapi/linux/sock_diag.h, in its order, which ss -m shows as skmem.
type MemInfo struct {
	_ structs.HostLayout

	RmemAlloc  uint32 // received, not read yet
	RcvBuf     uint32 // the limit of that
	WmemAlloc  uint32 // sent, held by the stack and the NIC
	SndBuf     uint32
	FwdAlloc   uint32 // allotted to it and not in use
	WmemQueued uint32 // written, not acknowledged yet
	OptMem     uint32
	Backlog    uint32 // came while a system call held the socket
	Drops      uint32 // packets
}

// ReadMemInfo asks a socket of this process (SO_MEMINFO, net/core/sock.c: sk_get_meminfo,
// Linux 7.3.4).
func ReadMemInfo(fd int) (m MemInfo, err error) {
	size := uint32(unsafe.Sizeof(m))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&size)), 0)
	switch {
	case e != 0:
		return m, fmt.Errorf("read the memory of a socket: getsockopt(SO_MEMINFO): %w", e)
	case size < uint32(unsafe.Sizeof(m)):
		return m, fmt.Errorf("read the memory of a socket: the kernel reports %d bytes of %d: use Linux 4.12 or later",
			size, unsafe.Sizeof(m))
	}
	return m, nil
}
