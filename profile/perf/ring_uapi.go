// SPDX-License-Identifier: MIT

package perf

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is the memory that the kernel writes an event's records into: a page with the ends of
// what is written and read (struct perf_event_mmap_page), and behind it a power of two of bytes.
type ring struct {
	mem        []byte // all of it
	data       []byte
	head, tail *uint64
}

// mapRing maps the ring of an event.
func mapRing(fd, bytes int) (*ring, error) {
	page := unix.Getpagesize()
	mem, err := unix.Mmap(fd, 0, page+bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	p := (*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(mem)))
	return &ring{mem, mem[page:], &p.Data_head, &p.Data_tail}, nil
}

// take hands over what is new, in one or two pieces, and frees it. The kernel's write of the
// head comes after those of the records, ours of the tail after all reads of them
// (kernel/events/ring_buffer.c: perf_output_put_handle).
func (r *ring) take(to func(first, second []byte)) {
	head, tail := atomic.LoadUint64(r.head), atomic.LoadUint64(r.tail)
	if n := head - tail; n > 0 && n <= uint64(len(r.data)) {
		from := tail & uint64(len(r.data)-1)
		first := r.data[from:min(from+n, uint64(len(r.data)))]
		to(first, r.data[:n-uint64(len(first))])
	}
	atomic.StoreUint64(r.tail, head)
}

func (r *ring) unmap() error { return unix.Munmap(r.mem) }
