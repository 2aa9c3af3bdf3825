// SPDX-License-Identifier: MIT

package uring

import (
	"fmt"
	"unsafe"

	"github.com/zcbench/zcbench/internal/hugepages"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// Pages says which pages back a [Memory].
type Pages int

const (
	PagesBase        Pages = iota // the machine's base page
	PagesTransparent              // asks for transparent huge pages; the kernel may decline silently
	PagesHuge                     // 2 MiB pages of hugetlbfs; ENOMEM where too few are free
)

// hugePage is the size of the pages asked for with PagesHuge, in bytes.
const hugePage = hugepages.Size

// Memory is bytes outside of the Go heap, present from the start: no fault is
// taken on the data path.
type Memory struct {
	mapping []byte // as mapped
	bytes   []byte // the part handed out
}

// NewMemory maps size bytes (at least 1) of zeros. It fails with an [*fault.Error]:
// ENOMEM where there is not that much memory, or not that many huge pages ([hugepages.Short]).
// Those that are on their way back are waited for.
func NewMemory(size int, pages Pages) (*Memory, error) {
	if size <= 0 {
		return nil, fmt.Errorf("uring: memory of %d bytes", size)
	}
	length, flags := roundUp(size, unix.Getpagesize()), unix.MAP_PRIVATE|unix.MAP_ANONYMOUS
	switch pages {
	case PagesTransparent:
		length += hugePage // room to begin at a huge page
	case PagesHuge:
		length = roundUp(size, hugePage)
		flags |= unix.MAP_HUGETLB | unix.MAP_HUGE_2MB | unix.MAP_POPULATE
	default:
		flags |= unix.MAP_POPULATE
	}
	if pages != PagesHuge { // those have a pool of their own
		err := remedy.Room(remedy.Mmap, fmt.Sprintf("mmap of %d bytes", size), remedy.On{Bytes: int64(length)})
		if err != nil {
			return nil, err
		}
	}
	var b []byte
	mmap := func() (err error) {
		b, err = unix.Mmap(-1, 0, length, unix.PROT_READ|unix.PROT_WRITE, flags)
		return err
	}
	var err error
	if pages == PagesHuge {
		err = hugepages.Await(length, mmap)
	} else {
		err = mmap()
	}
	if err != nil {
		return nil, mapError(err, size, pages)
	}
	m := &Memory{mapping: b, bytes: b[:size:size]}
	if pages == PagesTransparent {
		m.alignHuge(size)
	}
	return m, nil
}

// NewSharedMemory makes memory as NewMemory does, of base pages, that other processes can map by
// its descriptor, which the caller closes.
func NewSharedMemory(size int) (m *Memory, fd int, err error) {
	if fd, err = unix.MemfdCreate("zcbench", unix.MFD_CLOEXEC); err != nil {
		return nil, -1, mapError(err, size, PagesBase)
	}
	if err = unix.Ftruncate(fd, int64(roundUp(size, unix.Getpagesize()))); err == nil {
		err = remedy.Room(remedy.Mmap, fmt.Sprintf("mmap of %d bytes", size), remedy.On{Bytes: int64(size)})
	}
	if err == nil {
		m, err = MapShared(fd, size)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, -1, err
	}
	return m, fd, nil
}

// MapShared maps memory of [NewSharedMemory].
func MapShared(fd, size int) (*Memory, error) {
	b, err := unix.Mmap(fd, 0, roundUp(size, unix.Getpagesize()), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, mapError(err, size, PagesBase)
	}
	return &Memory{mapping: b, bytes: b[:size:size]}, nil
}

// Words returns the memory as numbers that several threads or processes write atomically.
func (m *Memory) Words() []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(m.bytes))), len(m.bytes)/8)
}

// alignHuge moves bytes to a huge page boundary, asks for huge pages and
// touches each page: populating at mmap would have come before the advice.
func (m *Memory) alignHuge(size int) {
	skip := -int(uintptr(unsafe.Pointer(&m.mapping[0]))) & (hugePage - 1)
	m.bytes = m.mapping[skip : skip+size : skip+size]
	// Refused where the kernel has no transparent huge pages: base pages do.
	_ = unix.Madvise(m.bytes, unix.MADV_HUGEPAGE)
	for i := 0; i < size; i += unix.Getpagesize() {
		m.bytes[i] = 0
	}
}

// Bytes returns the memory. It must not be touched after Close.
func (m *Memory) Bytes() []byte { return m.bytes }

// Close unmaps the memory; no request may use it any more.
func (m *Memory) Close() error {
	if m == nil || m.mapping == nil {
		return nil
	}
	b := m.mapping
	m.mapping, m.bytes = nil, nil
	return unix.Munmap(b)
}

// mapError keeps the fix of huge pages that are short.
func mapError(err error, size int, pages Pages) error {
	call := remedy.Mmap
	if pages == PagesHuge {
		call = remedy.MmapHuge
	}
	return remedy.Error(call, fmt.Sprintf("mmap of %d bytes", size), err, remedy.On{Bytes: int64(size)})
}

// roundUp rounds n up to a multiple of unit, a power of two.
func roundUp(n, unit int) int { return (n + unit - 1) &^ (unit - 1) }

// address returns what the kernel is told of b: the address of its first byte, 0 for an empty one.
func address(b []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}
