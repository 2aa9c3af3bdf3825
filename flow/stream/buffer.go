// SPDX-License-Identifier: MIT

package stream

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// Buffer is memory outside the Go heap, page-aligned and with all pages
// present, so that the data path neither faults nor concerns the collector.
type Buffer struct{ mapping, mem []byte }

// NewBuffer maps n bytes, in huge pages where the kernel has them ready.
func NewBuffer(n int) (*Buffer, error) {
	mem, err := unix.Mmap(-1, 0, pageUp(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, remedy.Error(remedy.Mmap, fmt.Sprintf("map a buffer of %d bytes", n), err,
			remedy.On{Bytes: int64(n)})
	}
	unix.Madvise(mem, unix.MADV_HUGEPAGE) // a wish: the buffer works without
	// MADV_POPULATE_WRITE came with 5.14; before it the pages come on first use.
	unix.Madvise(mem, unix.MADV_POPULATE_WRITE)
	return &Buffer{mem, mem[:n:n]}, nil
}

// Bytes returns the memory.
func (b *Buffer) Bytes() []byte { return b.mem }

// Close unmaps it.
func (b *Buffer) Close() error {
	if b.mapping == nil {
		return nil
	}
	err := unix.Munmap(b.mapping)
	b.mapping, b.mem = nil, nil
	return err
}
