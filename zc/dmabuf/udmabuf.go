// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"fmt"
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

// udmabufs make ordinary memory that is dressed up as a dmabuf (drivers/dma-buf/udmabuf.c, 4.20): a
// memfd whose pages the kernel pins.
var udmabufs = Provider{Name: Udmabuf, Help: "base pages behind a dmabuf",
	Open: func(_ string, size int) (*Memory, error) { return NewUdmabuf(size) }}

// NewUdmabuf makes a udmabuf of size bytes, a multiple of the page size, all
// pages present. It needs /dev/udmabuf. Above the limit of the module parameter
// size_limit_mb it fails with [ErrLimit], and without enough huge pages with
// ENOMEM.
func NewUdmabuf(size int, opts ...Option) (*Memory, error) {
	u := &udmabuf{size: size, huge: slices.Contains(opts, HugePages), memfd: -1}
	u.mem = &Memory{FD: -1, Size: int64(size), replayed: tape.Replaying()}
	var err error
	if u.mem.replayed {
		u.mem.FD = replayedFD
	} else {
		err = u.open()
	}
	if err = tape.Note(fmt.Sprintf("udmabuf of %d bytes %v", size, opts), err); err != nil {
		return nil, errors.Join(err, u.mem.Close())
	}
	return u.mem, nil
}

// udmabuf is one that is being made.
type udmabuf struct {
	mem   *Memory
	size  int
	huge  bool
	memfd int
}

func (u *udmabuf) open() (err error) {
	size, huge := u.size, u.huge
	op := fmt.Sprintf("make a udmabuf of %d bytes", size)
	// Looked at first: the kernel itself says only EINVAL, after all pages were made.
	limit, known := sizeLimit()
	if mb := (size + 1<<20 - 1) >> 20; known && mb > limit {
		return &fault.Error{Op: op, Err: fmt.Errorf("%w of %d MiB (%s)", ErrLimit, limit, limitFile),
			How: fmt.Sprintf("echo %d > %s, or choose a smaller --area-size", mb, limitFile)}
	}
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
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
	u.mem.Closes(func() error { return unix.Close(u.memfd) })
	if err = unix.Ftruncate(u.memfd, int64(size)); err != nil {
		return failed("ftruncate", err)
	}
	// The size of what is pinned must not shrink: udmabuf insists.
	if _, err = unix.FcntlInt(uintptr(u.memfd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		return failed("fcntl F_ADD_SEALS", err)
	}
	if err = u.populate(); err != nil {
		return failed("mmap", err)
	}
	return u.export(op)
}

// populate maps the memfd, with all its pages. Huge ones may be on their way back from a flow
// before.
func (u *udmabuf) populate() error {
	var b []byte
	mmap := func() (err error) {
		b, err = unix.Mmap(u.memfd, 0, u.size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
		return err
	}
	err := mmap
	if u.huge {
		err = func() error { return hugepages.Await(u.size, mmap) }
	}
	if err := err(); err != nil {
		return err
	}
	u.mem.Bytes = b
	u.mem.Closes(func() error { return unix.Munmap(b) })
	return nil
}

// export makes the dmabuf of the memfd.
func (u *udmabuf) export(op string) error {
	dev, err := unix.Open("/dev/udmabuf", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return remedy.Error(remedy.UdmabufOpen, op+": open /dev/udmabuf", err, remedy.On{Path: "/dev/udmabuf"})
	}
	defer unix.Close(dev)
	fd, errno := createUdmabuf(dev, &udmabufCreate{memfd: uint32(u.memfd), flags: udmabufCloexec, size: uint64(u.size)})
	if errno != 0 {
		return remedy.Error(remedy.UdmabufCreate, op+": ioctl UDMABUF_CREATE", errno, remedy.On{Bytes: int64(u.size)})
	}
	u.mem.keep(fd)
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
