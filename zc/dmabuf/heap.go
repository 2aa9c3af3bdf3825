// SPDX-License-Identifier: MIT

package dmabuf

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// heapDir has the kernel's dmabuf heaps (drivers/dma-buf/dma-heap.c, 5.6).
const heapDir = "/dev/dma_heap"

// systemHeap is the one of ordinary pages.
const systemHeap = "system"

var heaps = Provider{Name: "heap", Arg: "[:NAME]", Help: "a dmabuf heap of the kernel's (default: system)",
	Check: func(arg string) error {
		const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		if len(arg) > 63 || strings.Trim(arg, letters+"_-,.@") != "" || strings.HasPrefix(arg, ".") {
			return fmt.Errorf("%.40q is not a name of a heap, as ls %s shows them", arg, heapDir)
		}
		return nil
	},
	Have: haveHeaps,
	Open: func(arg string, size int) (*Memory, error) { return newHeap(cmp.Or(arg, systemHeap), size) }}

// newHeap makes memory of a heap, which the CPU sees too.
func newHeap(name string, size int) (*Memory, error) {
	m := &Memory{FD: -1, Size: int64(size), replayed: tape.Replaying()}
	var err error
	if m.replayed {
		m.FD = replayedFD
	} else {
		err = m.fromHeap(name)
	}
	if err = tape.Note(fmt.Sprintf("heap %s of %d bytes", name, size), err); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Memory) fromHeap(name string) error {
	op, path := fmt.Sprintf("make memory of %d bytes of the heap %s", m.Size, name), filepath.Join(heapDir, name)
	on := remedy.On{Path: path, Bytes: m.Size}
	if err := remedy.Room(remedy.HeapAlloc, op, on); err != nil {
		return err
	}
	dev, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return remedy.Error(remedy.HeapOpen, op+": open "+path, err, on)
	}
	defer unix.Close(dev)
	fd, errno := allocHeap(dev, uint64(m.Size))
	if errno != 0 {
		return remedy.Error(remedy.HeapAlloc, op+": ioctl DMA_HEAP_IOCTL_ALLOC", errno, on)
	}
	m.keep(fd)
	if err := m.see(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}
