// SPDX-License-Identifier: MIT

package dmabuf

import (
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// heapAllocation is struct dma_heap_allocation_data of include/uapi/linux/dma-heap.h (5.6).
type heapAllocation struct {
	_         structs.HostLayout
	len       uint64
	fd        uint32
	fdFlags   uint32
	heapFlags uint64
}

const heapIoctl = 0xc0184800 // DMA_HEAP_IOCTL_ALLOC: _IOWR('H', 0, struct dma_heap_allocation_data)

// allocHeap calls the ioctl on a heap that makes a dmabuf, and returns the dmabuf.
func allocHeap(dev int, size uint64) (int, unix.Errno) {
	a := heapAllocation{len: size, fdFlags: unix.O_RDWR | unix.O_CLOEXEC}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(dev), heapIoctl, uintptr(unsafe.Pointer(&a)))
	return int(int32(a.fd)), errno
}
