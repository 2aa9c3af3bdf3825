// SPDX-License-Identifier: MIT

package dmabuf

import (
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// udmabufCreate is struct udmabuf_create of include/uapi/linux/udmabuf.h (4.20).
type udmabufCreate struct {
	_      structs.HostLayout
	memfd  uint32
	flags  uint32
	offset uint64
	size   uint64
}

const (
	udmabufCloexec = 1          // UDMABUF_FLAGS_CLOEXEC
	udmabufIoctl   = 0x40187542 // UDMABUF_CREATE: _IOW('u', 0x42, struct udmabuf_create)
)

// createUdmabuf calls the ioctl on /dev/udmabuf that makes a dmabuf, and returns the dmabuf.
func createUdmabuf(dev int, c *udmabufCreate) (int, unix.Errno) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(dev), udmabufIoctl, uintptr(unsafe.Pointer(c)))
	return int(fd), errno
}

// dmaBufSync is struct dma_buf_sync of include/uapi/linux/dma-buf.h (4.6).
type dmaBufSync struct {
	_     structs.HostLayout
	flags uint64
}

const (
	syncStart = 0          // DMA_BUF_SYNC_START
	syncEnd   = 1 << 2     // DMA_BUF_SYNC_END
	syncIoctl = 0x40086200 // DMA_BUF_IOCTL_SYNC: _IOW('b', 0, struct dma_buf_sync)
)

// syncDMABuf calls the sync ioctl on a dmabuf. The scheduler does not know of it: on coherent
// machines it only takes a lock that nobody else wants.
func syncDMABuf(fd int, flags uint64) unix.Errno {
	s := dmaBufSync{flags: flags}
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), syncIoctl, uintptr(unsafe.Pointer(&s)))
		if errno != unix.EINTR && errno != unix.EAGAIN {
			return errno
		}
	}
}
