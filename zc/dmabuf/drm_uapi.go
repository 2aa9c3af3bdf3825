// SPDX-License-Identifier: MIT

package dmabuf

import (
	"bytes"
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// drmNode is an open node of a graphics driver.
type drmNode struct {
	fd int
	// call is ioctl, or what tests have in its place. What arg points to is on the heap, and so are
	// the parts of it that it points to itself.
	call func(fd int, nr uintptr, arg unsafe.Pointer) unix.Errno
}

// drmCall is the kernel's ioctl, which libdrm repeats in the same way.
func drmCall(fd int, nr uintptr, arg unsafe.Pointer) unix.Errno {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), nr, uintptr(arg))
		if errno != unix.EINTR && errno != unix.EAGAIN {
			return errno
		}
	}
}

func address(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// drmVersion is struct drm_version of include/uapi/drm/drm.h.
type drmVersion struct {
	_                   structs.HostLayout
	major, minor, patch int32
	_                   int32
	nameLen, name       uint64
	dateLen, date       uint64
	descLen, desc       uint64
}

// drmDumb is struct drm_mode_create_dumb of include/uapi/drm/drm_mode.h.
type drmDumb struct {
	_             structs.HostLayout
	height, width uint32
	bpp, flags    uint32
	handle, pitch uint32
	size          uint64
}

// drmPrime is struct drm_prime_handle of include/uapi/drm/drm.h.
type drmPrime struct {
	_      structs.HostLayout
	handle uint32
	flags  uint32
	fd     int32
}

const (
	versionIoctl    = 0xc0406400 // DRM_IOCTL_VERSION: _IOWR('d', 0, struct drm_version)
	dropMasterIoctl = 0x641f     // DRM_IOCTL_DROP_MASTER: _IO('d', 0x1f)
	createDumbIoctl = 0xc02064b2 // DRM_IOCTL_MODE_CREATE_DUMB: _IOWR('d', 0xb2, struct drm_mode_create_dumb)
	primeIoctl      = 0xc00c642d // DRM_IOCTL_PRIME_HANDLE_TO_FD: _IOWR('d', 0x2d, struct drm_prime_handle)

	dumbRow = 4096 // bytes, of 32 bits a pixel
)

// driver asks for the name of the driver.
func (d *drmNode) driver() (string, unix.Errno) {
	arg := &struct {
		version drmVersion
		name    [32]byte
	}{}
	arg.version.nameLen, arg.version.name = uint64(len(arg.name)), address(unsafe.Pointer(&arg.name))
	errno := d.call(d.fd, versionIoctl, unsafe.Pointer(arg))
	name := arg.name[:min(arg.version.nameLen, uint64(len(arg.name)))]
	return string(bytes.TrimRight(name, "\x00")), errno
}

// dropMaster gives up what the first who opens a node gets.
func (d *drmNode) dropMaster() { _ = d.call(d.fd, dropMasterIoctl, nil) }

// createDumb makes a dumb buffer of size bytes or more.
func (d *drmNode) createDumb(size int64) (handle uint32, got int64, errno unix.Errno) {
	arg := &drmDumb{height: uint32((size + dumbRow - 1) / dumbRow), width: dumbRow / 4, bpp: 32}
	errno = d.call(d.fd, createDumbIoctl, unsafe.Pointer(arg))
	return arg.handle, int64(arg.size), errno
}

// export makes a dmabuf of an object.
func (d *drmNode) export(handle uint32) (int, unix.Errno) {
	arg := &drmPrime{handle: handle, flags: unix.O_RDWR | unix.O_CLOEXEC, fd: -1}
	errno := d.call(d.fd, primeIoctl, unsafe.Pointer(arg))
	return int(arg.fd), errno
}
