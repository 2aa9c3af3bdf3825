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

// createUdmabuf is the ioctl on /dev/udmabuf; it returns the dmabuf.
func createUdmabuf(dev int, c *udmabufCreate) (int, unix.Errno) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(dev), udmabufIoctl, uintptr(unsafe.Pointer(c)))
	return int(fd), errno
}
