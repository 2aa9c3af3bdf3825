// SPDX-License-Identifier: MIT

package dmabuf

import (
	"os"
	"testing"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// Each errno that the kernel may give has the table's words, and names the udmabuf.
func TestRefused(t *testing.T) {
	made := func() error {
		u, err := NewUdmabuf(1 << 20)
		if err == nil {
			err = u.Close()
		}
		return err
	}
	for nr, what := range map[uint32]string{unix.SYS_MEMFD_CREATE: "memfd_create", unix.SYS_FTRUNCATE: "ftruncate",
		unix.SYS_FCNTL: "fcntl F_ADD_SEALS"} {
		remedytest.Try(t, remedy.UdmabufMemory, "udmabuf of 1048576 bytes: "+what, remedytest.Denied(nr, made),
			remedytest.Repeated...)
	}
	remedytest.Try(t, remedy.UdmabufOpen, "/dev/udmabuf", remedytest.Denied(unix.SYS_OPENAT, made),
		remedytest.Repeated...)
	if _, err := os.Stat("/dev/udmabuf"); err == nil {
		remedytest.Try(t, remedy.UdmabufCreate, "UDMABUF_CREATE", remedytest.Denied(unix.SYS_IOCTL, made),
			remedytest.Repeated...)
	}
	u := &Memory{FD: -1}
	remedytest.Try(t, remedy.UdmabufSync, "DMA_BUF_IOCTL_SYNC", remedytest.Denied(unix.SYS_IOCTL,
		func() error { return u.Begin(Write) }), remedytest.Repeated...)
}

// So it does of heaps and of graphics drivers.
func TestOthersRefused(t *testing.T) {
	made := func(area string) func() error {
		return func() error {
			m, err := Make(area, 1<<20)
			if err == nil {
				err = m.Close()
			}
			return err
		}
	}
	remedytest.Try(t, remedy.HeapOpen, "/dev/dma_heap/system", remedytest.Denied(unix.SYS_OPENAT, made("heap")),
		remedytest.Repeated...)
	if _, err := os.Stat("/dev/dma_heap/system"); err == nil {
		remedytest.Try(t, remedy.HeapAlloc, "DMA_HEAP_IOCTL_ALLOC", remedytest.Denied(unix.SYS_IOCTL, made("heap")),
			remedytest.Repeated...)
	}
	remedytest.Try(t, remedy.DRMOpen, "/dev/dri/card0", remedytest.Denied(unix.SYS_OPENAT, made("drm:/dev/dri/card0")),
		remedytest.Repeated...)
	for request, call := range map[uintptr]remedy.Call{createDumbIoctl: remedy.DRMCreate,
		primeIoctl: remedy.DRMExport} {
		remedytest.Try(t, call, "at /dev/dri/card9", func(errno unix.Errno) error {
			d := &imitated{name: "vgem", fails: request, with: errno, t: t}
			return (&Memory{Size: 1 << 20, FD: -1}).fromNode(&drmNode{call: d.call}, 0, "make memory at /dev/dri/card9",
				remedy.On{Path: "/dev/dri/card9"})
		})
	}
}
