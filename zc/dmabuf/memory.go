// SPDX-License-Identifier: MIT

package dmabuf

// Memory is a dmabuf that a NIC can be bound to.
type Memory interface {
	// FD is the dmabuf, which Memory keeps.
	FD() int
	// Size is its length in bytes.
	Size() int
	// Bytes is the memory as the CPU sees it; nil where it cannot. What a device
	// writes is there for sure only between Begin and End.
	Bytes() []byte
	// Begin and End bracket access by the CPU (DMA_BUF_IOCTL_SYNC, Linux 4.6;
	// drivers/dma-buf/dma-buf.c): with caches that do not follow the device they
	// invalidate or write back. They do not allocate.
	Begin(Access) error
	End(Access) error
	Close() error
}

// Access is what the CPU does between Begin and End.
type Access uint64

// The kinds of access, DMA_BUF_SYNC_* of include/uapi/linux/dma-buf.h.
const (
	Read  Access = 1
	Write Access = 2
)
