// SPDX-License-Identifier: MIT

package dmabuf

import (
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
	dropMasterIoctl = 0x641f     // DRM_IOCTL_DROP_MASTER: _IO('d', 0x1f)
	createDumbIoctl = 0xc02064b2 // DRM_IOCTL_MODE_CREATE_DUMB: _IOWR('d', 0xb2, struct drm_mode_create_dumb)
	primeIoctl      = 0xc00c642d // DRM_IOCTL_PRIME_HANDLE_TO_FD: _IOWR('d', 0x2d, struct drm_prime_handle)

	dumbRow = 4096 // bytes, of 32 bits a pixel
)

func drmIoctl(dev int, nr uintptr, arg unsafe.Pointer) unix.Errno {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(dev), nr, uintptr(arg))
		if errno != unix.EINTR && errno != unix.EAGAIN {
			return errno
		}
	}
}

// dropMaster gives up what the first who opens a node gets.
func dropMaster(dev int) { _ = drmIoctl(dev, dropMasterIoctl, nil) }

// createDumb makes a dumb buffer of size bytes or more.
func createDumb(dev int, size int64) (handle uint32, got int64, errno unix.Errno) {
	d := drmDumb{height: uint32((size + dumbRow - 1) / dumbRow), width: dumbRow / 4, bpp: 32}
	errno = drmIoctl(dev, createDumbIoctl, unsafe.Pointer(&d))
	return d.handle, int64(d.size), errno
}

// exportGEM makes a dmabuf of an object.
func exportGEM(dev int, handle uint32) (int, unix.Errno) {
	p := drmPrime{handle: handle, flags: unix.O_RDWR | unix.O_CLOEXEC, fd: -1}
	errno := drmIoctl(dev, primeIoctl, unsafe.Pointer(&p))
	return int(p.fd), errno
}
