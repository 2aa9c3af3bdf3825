package dmabuf

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Error is memory that could not be had, with what to do about it.
type Error struct {
	Op  string
	Err error
	How string
}

func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Fix says what the user can do about it.
func (e *Error) Fix() string { return e.How }

// Udmabuf is ordinary memory dressed up as a dmabuf (drivers/dma-buf/udmabuf.c,
// 4.20): a memfd whose pages the kernel pins.
type Udmabuf struct {
	FD    int // the dmabuf
	bytes []byte
	memfd int
}

// NewUdmabuf makes a udmabuf of size bytes, a multiple of the page size, all
// pages present. It needs /dev/udmabuf, and fails with EINVAL above the limit
// of the module parameter size_limit_mb.
func NewUdmabuf(size int) (*Udmabuf, error) {
	u := &Udmabuf{FD: -1, memfd: -1}
	if err := u.open(size); err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return u, nil
}

func (u *Udmabuf) open(size int) (err error) {
	op := fmt.Sprintf("make a udmabuf of %d bytes", size)
	if u.memfd, err = unix.MemfdCreate("zcbench-udmabuf", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err != nil {
		return &Error{op + ": memfd_create", err, ""}
	}
	if err = unix.Ftruncate(u.memfd, int64(size)); err != nil {
		return &Error{op + ": ftruncate", err, "choose a multiple of the page size"}
	}
	// The size of what is pinned must not shrink: udmabuf insists.
	if _, err = unix.FcntlInt(uintptr(u.memfd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		return &Error{op + ": fcntl F_ADD_SEALS", err, ""}
	}
	if u.bytes, err = unix.Mmap(u.memfd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return &Error{op + ": mmap", err, "not enough free memory: choose a smaller area"}
	}
	dev, err := unix.Open("/dev/udmabuf", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &Error{op + ": open /dev/udmabuf", err, "modprobe udmabuf (CONFIG_UDMABUF), and run as root or in the group of /dev/udmabuf"}
	}
	defer unix.Close(dev)
	fd, errno := createUdmabuf(dev, &udmabufCreate{memfd: uint32(u.memfd), flags: udmabufCloexec, size: uint64(size)})
	if errno != 0 {
		return &Error{op + ": ioctl UDMABUF_CREATE", errno, fixCreate(size)}
	}
	u.FD = fd
	return nil
}

// fixCreate tells whether the size is above the module's limit.
func fixCreate(size int) string {
	const file = "/sys/module/udmabuf/parameters/size_limit_mb"
	mb := (size + 1<<20 - 1) >> 20
	limit := "unknown"
	if b, err := os.ReadFile(file); err == nil {
		limit = strings.TrimSpace(string(b))
	}
	return fmt.Sprintf("the limit is %s MiB: echo %d > %s", limit, mb, file)
}

// Bytes is the memory as this process sees it.
func (u *Udmabuf) Bytes() []byte { return u.bytes }

// Close gives this process's part of the memory back; who imported the dmabuf
// keeps theirs.
func (u *Udmabuf) Close() error {
	var errs []error
	if u.bytes != nil {
		errs = append(errs, unix.Munmap(u.bytes))
		u.bytes = nil
	}
	for _, fd := range []*int{&u.FD, &u.memfd} {
		if *fd >= 0 {
			errs = append(errs, unix.Close(*fd))
			*fd = -1
		}
	}
	return errors.Join(errs...)
}
