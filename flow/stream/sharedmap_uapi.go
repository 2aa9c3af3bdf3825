// SPDX-License-Identifier: MIT

package stream

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of the huge pages that a payload is laid out for, bytes:
// that of x86-64 and of arm64 with 4 KiB pages.
const hugePage = 2 << 20

// sharedMap is a shared mapping of all of a file, aligned to huge pages.
type sharedMap struct {
	at  unsafe.Pointer
	len uintptr
}

// mapShared maps n bytes of fd, a multiple of hugePage. Only an aligned mapping can be made
// of huge pages, and the kernel aligns none on its own where they are switched off. No page is
// there yet: see [sharedMap.collapse].
func mapShared(fd, n int) (*sharedMap, error) {
	room, err := unix.MmapPtr(-1, 0, nil, uintptr(n+hugePage), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	pad := -uintptr(room) & (hugePage - 1)
	at, err := unix.MmapPtr(fd, 0, unsafe.Add(room, pad), uintptr(n), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil {
		unix.MunmapPtr(room, uintptr(n+hugePage))
		return nil, err
	}
	if pad > 0 {
		unix.MunmapPtr(room, pad)
	}
	unix.MunmapPtr(unsafe.Add(at, n), hugePage-pad) // at least a page: pad is less
	return &sharedMap{at, uintptr(n)}, nil
}

// bytes returns the memory. It must not be used after close.
func (m *sharedMap) bytes() []byte { return unsafe.Slice((*byte)(m.at), m.len) }

// collapse puts the memory into huge pages if the kernel can (MADV_COLLAPSE, 6.1;
// it works even where they are switched off for shared memory). Without, each
// 4 KiB page of a sendfile becomes a fragment of its own in the packet, which
// costs sender and receiver a sixth of the throughput.
//
// It comes before the memory is written, for then there are no pages to be copied
// into huge ones; but the kernel takes a huge page without any page for truncated
// (mm/khugepaged.c, collapse_file), so that each gets one.
func (m *sharedMap) collapse() {
	mem := m.bytes()
	for at := 0; at < len(mem); at += hugePage {
		mem[at] = 0
	}
	unix.Madvise(mem, unix.MADV_COLLAPSE)
}

func (m *sharedMap) close() error { return unix.MunmapPtr(m.at, m.len) }
