// SPDX-License-Identifier: MIT

package xsk

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// ring is memory that this process and the kernel share (struct xdp_ring of net/xdp/xsk_queue.h):
// the one writes entries and then the producer's index, the other reads entries and then writes
// the consumer's. Each keeps to its own index, and both only count up.
type ring struct {
	mapping            []byte
	producer, consumer *uint32
	flags              *uint32
	entries            unsafe.Pointer
	mask               uint32
	own                uint32 // our index: of the fill ring as producer, of the RX ring as consumer
}

// mapRing maps a ring of n entries of each bytes.
// mmap is the kernel's; tests have it refused.
var mmap = unix.Mmap

func mapRing(fd int, at int64, off unix.XDPRingOffset, n, each int) (r ring, err error) {
	size := int(off.Desc) + n*each
	if r.mapping, err = mmap(fd, at, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return r, remedy.Error(remedy.XSKMap, fmt.Sprintf("map a ring of an AF_XDP socket (%d bytes)", size), err,
			remedy.On{Bytes: int64(size)})
	}
	for _, o := range []uint64{off.Producer, off.Consumer, off.Flags} {
		if o%4 != 0 || o+4 > uint64(size) {
			_ = r.unmap()
			return ring{}, fmt.Errorf("the kernel puts an index of an AF_XDP ring at byte %d of %d", o, size)
		}
	}
	base := unsafe.Pointer(unsafe.SliceData(r.mapping))
	r.producer, r.consumer = (*uint32)(unsafe.Add(base, off.Producer)), (*uint32)(unsafe.Add(base, off.Consumer))
	r.flags, r.entries = (*uint32)(unsafe.Add(base, off.Flags)), unsafe.Add(base, off.Desc)
	r.mask = uint32(n - 1)
	return r, nil
}

func (r *ring) unmap() error {
	if r.mapping == nil {
		return nil
	}
	err := unix.Munmap(r.mapping)
	*r = ring{}
	return err
}

// ready returns how many entries the kernel has produced that were not consumed.
func (r *ring) ready() uint32 { return atomic.LoadUint32(r.producer) - r.own }

// desc returns entry i of those that are ready.
func (r *ring) desc(i uint32) unix.XDPDesc {
	return *(*unix.XDPDesc)(unsafe.Add(r.entries, uintptr((r.own+i)&r.mask)*unsafe.Sizeof(unix.XDPDesc{})))
}

// consumed gives the first n of them back.
func (r *ring) consumed(n uint32) {
	r.own += n
	atomic.StoreUint32(r.consumer, r.own)
}

// room returns how many entries there is room for.
func (r *ring) room() uint32 { return r.mask + 1 - (r.own - atomic.LoadUint32(r.consumer)) }

// set writes entry i of those that there is room for: the address of memory in the UMEM.
func (r *ring) set(i uint32, addr uint64) {
	*(*uint64)(unsafe.Add(r.entries, uintptr((r.own+i)&r.mask)*8)) = addr
}

// produced shows the kernel n more.
func (r *ring) produced(n uint32) {
	r.own += n
	atomic.StoreUint32(r.producer, r.own)
}

// wants reports whether the kernel wants to be told of new entries.
func (r *ring) wants() bool { return atomic.LoadUint32(r.flags)&unix.XDP_RING_NEED_WAKEUP != 0 }

// setUMEM registers the memory.
func setUMEM(fd int, mem []byte, chunk int) error {
	reg := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))), Len: uint64(len(mem)),
		Size: uint32(chunk)}
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, unix.XDP_UMEM_REG,
		uintptr(unsafe.Pointer(&reg)), unsafe.Sizeof(reg), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// getOption reads a structure of SOL_XDP; less than all of it is an error: of an older kernel.
func getOption[T any](fd, option int) (v T, err error) {
	n := uint32(unsafe.Sizeof(v))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option),
		uintptr(unsafe.Pointer(&v)), uintptr(unsafe.Pointer(&n)), 0)
	switch {
	case errno != 0:
		return v, errno
	case n != uint32(unsafe.Sizeof(v)):
		return v, &fault.Error{Op: fmt.Sprintf("the kernel tells %d bytes of %d", n, unsafe.Sizeof(v)),
			How: "this needs Linux 5.9 or later"}
	}
	return v, nil
}
