// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/hugepages"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// ErrLimit is a udmabuf above the kernel's limit for one.
var ErrLimit = errors.New("above the kernel's limit")

// Option is a choice of how a udmabuf's memory is had.
type Option int

// HugePages takes 2 MiB pages of hugetlbfs, which must be reserved.
const HugePages Option = 1

// Udmabuf is ordinary memory dressed up as a dmabuf (drivers/dma-buf/udmabuf.c,
// 4.20): a memfd whose pages the kernel pins.
type Udmabuf struct {
	fd    int
	bytes []byte
	memfd int

	replayed bool // a record answers (package tape): there is no memory
}

var _ Memory = (*Udmabuf)(nil)

// NewUdmabuf makes a udmabuf of size bytes, a multiple of the page size, all
// pages present. It needs /dev/udmabuf. Above the limit of the module parameter
// size_limit_mb it fails with [ErrLimit], and without enough huge pages with
// ENOMEM.
func NewUdmabuf(size int, opts ...Option) (*Udmabuf, error) {
	u := &Udmabuf{fd: -1, memfd: -1, replayed: tape.Replaying()}
	var err error
	if !u.replayed {
		err = u.open(size, opts)
	}
	if err = tape.Note(fmt.Sprintf("udmabuf of %d bytes %v", size, opts), err); err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return u, nil
}

func (u *Udmabuf) open(size int, opts []Option) (err error) {
	op := fmt.Sprintf("make a udmabuf of %d bytes", size)
	// Looked at first: the kernel itself says only EINVAL, after all pages were made.
	limit, known := sizeLimit()
	if mb := (size + 1<<20 - 1) >> 20; known && mb > limit {
		return &fault.Error{Op: op, Err: fmt.Errorf("%w of %d MiB (%s)", ErrLimit, limit, limitFile),
			How: fmt.Sprintf("echo %d > %s, or choose a smaller --area-size", mb, limitFile)}
	}
	flags, huge := unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING, slices.Contains(opts, HugePages)
	if huge {
		flags |= unix.MFD_HUGETLB | unix.MFD_HUGE_2MB
	}
	if !huge { // those have a pool of their own
		if err := remedy.Room(remedy.UdmabufMemory, op, remedy.On{Bytes: int64(size)}); err != nil {
			return err
		}
	}
	failed := func(what string, err error) error {
		return remedy.Error(remedy.UdmabufMemory, op+": "+what, err,
			remedy.On{Bytes: int64(size), Value: strconv.Itoa(hugepages.Pages(size)),
				Facts: func(f remedy.Fact) (string, bool) { return "", huge && f == remedy.HugeAsked }})
	}
	if u.memfd, err = unix.MemfdCreate("zcbench-udmabuf", flags); err != nil {
		return failed("memfd_create", err)
	}
	if err = unix.Ftruncate(u.memfd, int64(size)); err != nil {
		return failed("ftruncate", err)
	}
	// The size of what is pinned must not shrink: udmabuf insists.
	if _, err = unix.FcntlInt(uintptr(u.memfd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		return failed("fcntl F_ADD_SEALS", err)
	}
	if err = u.populate(size, huge); err != nil {
		return failed("mmap", err)
	}
	return u.export(op, size)
}

// populate maps the memfd, with all its pages. Huge ones may be on their way back from a flow
// before.
func (u *Udmabuf) populate(size int, huge bool) error {
	mmap := func() (err error) {
		u.bytes, err = unix.Mmap(u.memfd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
		return err
	}
	if huge {
		return hugepages.Await(size, mmap)
	}
	return mmap()
}

// export makes the dmabuf of the memfd.
func (u *Udmabuf) export(op string, size int) error {
	dev, err := unix.Open("/dev/udmabuf", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return remedy.Error(remedy.UdmabufOpen, op+": open /dev/udmabuf", err, remedy.On{Path: "/dev/udmabuf"})
	}
	defer unix.Close(dev)
	fd, errno := createUdmabuf(dev, &udmabufCreate{memfd: uint32(u.memfd), flags: udmabufCloexec, size: uint64(size)})
	if errno != 0 {
		return remedy.Error(remedy.UdmabufCreate, op+": ioctl UDMABUF_CREATE", errno, remedy.On{Bytes: int64(size)})
	}
	u.fd = fd
	return nil
}

// limitFile holds the largest size of a udmabuf, MiB.
const limitFile = "/sys/module/udmabuf/parameters/size_limit_mb"

func sizeLimit() (mb int, known bool) {
	b, err := os.ReadFile(limitFile)
	if err != nil {
		return 0, false
	}
	mb, err = strconv.Atoi(strings.TrimSpace(string(b)))
	return mb, err == nil
}

// FD returns the dmabuf's file descriptor.
func (u *Udmabuf) FD() int {
	if u.replayed {
		return math.MaxInt32 // it has none; less than 0 is asked for where none is meant
	}
	return u.fd
}

// Size returns the dmabuf's length in bytes.
func (u *Udmabuf) Size() int { return len(u.bytes) }

// Bytes returns the memory as this process sees it.
func (u *Udmabuf) Bytes() []byte { return u.bytes }

// Begin begins an access by the CPU.
func (u *Udmabuf) Begin(a Access) error { return u.sync(uint64(a) | syncStart) }

// End ends it.
func (u *Udmabuf) End(a Access) error { return u.sync(uint64(a) | syncEnd) }

func (u *Udmabuf) sync(flags uint64) error {
	if errno := syncDMABuf(u.fd, flags); errno != 0 {
		return remedy.Error(remedy.UdmabufSync, "ioctl DMA_BUF_IOCTL_SYNC on a udmabuf", errno, remedy.On{FD: u.fd})
	}
	return nil
}

// Close gives this process's part of the memory back; who imported the dmabuf
// keeps theirs.
func (u *Udmabuf) Close() error {
	var errs []error
	if u.bytes != nil {
		errs = append(errs, unix.Munmap(u.bytes))
		u.bytes = nil
	}
	for _, fd := range []*int{&u.fd, &u.memfd} {
		if *fd >= 0 {
			errs = append(errs, unix.Close(*fd))
			*fd = -1
		}
	}
	return errors.Join(errs...)
}
