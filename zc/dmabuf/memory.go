// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Memory is what payload lies in: a dmabuf that a NIC can be bound to, or, where FD is -1, pages of
// this process.
type Memory struct {
	FD int // the dmabuf, which Memory keeps; -1: there is none

	// Offset and Size are the part of the dmabuf that is payload's, in bytes: of what a device's
	// allocator exports, only a part may be its caller's.
	Offset, Size int64

	Bytes  []byte // that part as the CPU sees it; nil where it cannot
	Device Device // copies, where Bytes is nil; nil: nobody can look at it

	Place string // the PCI address of the device that the memory is on; "": the host's, or not known
	Name  string // what people call that device; "": not known
	Plain bool   // the CPU's view needs no DMA_BUF_IOCTL_SYNC

	maker    int          // the process that made it; 0: this one
	stays    func() error // tells whether it is still on its device; nil: what made it, node, does
	closers  []func() error
	node     *drmNode                              // that it was made by
	syncs    func(fd int, flags uint64) unix.Errno // nil: the kernel's; of tests
	replayed bool                                  // a record answers (package tape): there is no memory
}

// Device copies between memory that the CPU cannot map, from its offset on, and the host's.
type Device interface {
	io.ReaderAt
	io.WriterAt
}

// Access is what the CPU does between Begin and End.
type Access uint64

// The kinds of access, DMA_BUF_SYNC_* of include/uapi/linux/dma-buf.h.
const (
	Read  Access = 1
	Write Access = 2
)

// ErrUnseen is memory whose bytes neither the CPU nor a device's copy shows.
var ErrUnseen = errors.New("the CPU cannot map this memory, and its provider copies nothing from it")

// Closes adds what [Memory.Close] does, before what was added earlier.
func (m *Memory) Closes(f func() error) { m.closers = append(m.closers, f) }

// Seen reports whether all bytes can be looked at, in place or by a copy.
func (m *Memory) Seen() bool { return m.Bytes != nil || m.Device != nil }

// Whole reports whether payload's part is all of the dmabuf: bind-rx gives a NIC all of it to write
// into (net_devmem_bind_dmabuf of net/core/devmem.c).
func (m *Memory) Whole() bool {
	if m.FD < 0 || m.replayed {
		return true
	}
	n, err := unix.Seek(m.FD, 0, io.SeekEnd)
	return err == nil && m.Offset == 0 && n == m.Size
}

// NotWhole refuses memory that is a part of its dmabuf.
func NotWhole(m *Memory) error {
	return &fault.Error{Op: fmt.Sprintf(
		"the memory is %d bytes at %d of a larger dmabuf, and a NIC would be given all "+
			"of that to write into", m.Size, m.Offset),
		How: "export the memory as a dmabuf of its own (of GPUs: a larger --area-size, in whole pages of the device)"}
}

// Read copies p's length of bytes from offset off. Where Bytes is nil the device copies.
func (m *Memory) Read(off int64, p []byte) error {
	if err := m.check(off, len(p)); err != nil {
		return err
	}
	if m.Bytes != nil {
		err := m.Begin(Read)
		if err == nil {
			copy(p, m.Bytes[off:])
			err = m.End(Read)
		}
		return err
	}
	return whole(m.Device.ReadAt(p, off))
}

// Write copies p to offset off.
func (m *Memory) Write(off int64, p []byte) error {
	if err := m.check(off, len(p)); err != nil {
		return err
	}
	if m.Bytes != nil {
		err := m.Begin(Write)
		if err == nil {
			copy(m.Bytes[off:], p)
			err = m.End(Write)
		}
		return err
	}
	return whole(m.Device.WriteAt(p, off))
}

func (m *Memory) check(off int64, n int) error {
	switch {
	case !m.Seen():
		return ErrUnseen
	case off < 0 || off > m.Size || int64(n) > m.Size-off:
		return fmt.Errorf("%d bytes at %d, in memory of %d", n, off, m.Size)
	}
	return nil
}

// whole passes on why a device copied less than it was asked for.
func whole(_ int, err error) error { return err }

// Begin and End bracket access to Bytes by the CPU (DMA_BUF_IOCTL_SYNC, Linux 4.6;
// drivers/dma-buf/dma-buf.c): with caches that do not follow the device they invalidate or write
// back. They do not allocate.
func (m *Memory) Begin(a Access) error { return m.sync(uint64(a) | syncStart) }

// End ends it.
func (m *Memory) End(a Access) error { return m.sync(uint64(a) | syncEnd) }

func (m *Memory) sync(flags uint64) error {
	if m.Plain {
		return nil
	}
	call := m.syncs
	if call == nil {
		call = syncDMABuf
	}
	if errno := call(m.FD, flags); errno != 0 {
		return remedy.Error(remedy.UdmabufSync, "ioctl DMA_BUF_IOCTL_SYNC", errno, remedy.On{FD: m.FD})
	}
	return nil
}

// Close gives this process's part of the memory back; who imported the dmabuf keeps theirs.
func (m *Memory) Close() error {
	var errs []error
	for _, f := range slices.Backward(m.closers) {
		errs = append(errs, f())
	}
	m.closers, m.Bytes, m.Device, m.FD = nil, nil, nil, -1
	return errors.Join(errs...)
}

// keep makes the memory own a descriptor, its dmabuf.
func (m *Memory) keep(fd int) {
	m.FD = fd
	m.Closes(func() error { return unix.Close(fd) })
}

// see maps the dmabuf, where its exporter lets the CPU.
func (m *Memory) see() error {
	b, err := unix.Mmap(m.FD, m.Offset, int(m.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mmap of the dmabuf: %w", err)
	}
	m.Bytes = b
	m.Closes(func() error { return unix.Munmap(b) })
	return nil
}

// seeIfShown maps the dmabuf where its exporter has a view for the CPU. No room for one is no
// reason to go on without.
func (m *Memory) seeIfShown() error {
	err := m.see()
	if errors.Is(err, unix.ENOMEM) {
		return &fault.Error{Op: fmt.Sprintf("a view of %d bytes for the CPU", m.Size), Err: err,
			How: "choose a smaller --area-size, or raise the limits of address space (ulimit -v) and of mappings " +
				"(sysctl vm.max_map_count)"}
	}
	return nil
}

// replayedFD stands for a dmabuf where a record answers: less than 0 is asked for where none is
// meant.
const replayedFD = math.MaxInt32

// notDMABuf is a descriptor of something else.
func notDMABuf(what, is string) error {
	return &fault.Error{Op: what + ": the descriptor is not a dmabuf but " + is,
		How: "export the memory as a dmabuf, and hand over that descriptor"}
}
