// SPDX-License-Identifier: MIT

package uring

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// maxBufRing is the largest buffer ring: the kernel's head and tail have 16 bits.
const maxBufRing = 32768

// BufRingOptions describe the buffers of a group.
type BufRingOptions struct {
	Group       uint16 // the group's number, unique on the ring
	Entries     int    // how many buffers: a power of two, at most 32768
	Size        int    // bytes of each
	Pages       Pages  // what backs them
	Incremental bool   // the kernel fills each buffer piece by piece (IOU_PBUF_RING_INC, 6.12)
}

// BufRing is a group of buffers that receive requests take from, in the order in
// which they were added (5.19). All buffers start out added.
//
// Each completion with HasBuffer must go through [BufRing.Spans], which keeps
// account of what the kernel took; each buffer that Spans calls done goes back
// with Add, and Advance shows the kernel what was added.
type BufRing struct {
	ring  *Ring
	group uint16
	mask  uint16
	size  int
	inc   bool
	tail  uint16 // one past the last buffer added; runs over 65535 to 0
	shown uint16 // the tail that the kernel was shown

	descMem *Memory
	bufMem  *Memory
	descs   []bufDesc
	first   uint16 // identifier in descs[0], beside which the tail is kept

	order  []uint16 // place in the ring -> buffer
	place  []uint16 // buffer -> place in the ring
	used   []uint32 // bytes of a buffer that came already (incremental)
	inRing []bool   // the kernel has the buffer
	ready  int      // how many it has
}

// NewBufRing makes a group of buffers and adds all of them. It fails with an
// [*fault.Error]: EEXIST when the group is taken, EINVAL where the kernel does not
// know buffer rings (5.19) or incremental ones (6.12), ENOMEM.
func (r *Ring) NewBufRing(o BufRingOptions) (*BufRing, error) {
	if r.closed {
		return nil, errClosed
	}
	if o.Entries < 1 || o.Entries > maxBufRing || o.Entries&(o.Entries-1) != 0 {
		return nil, fmt.Errorf("uring: %d buffers: must be a power of two up to %d", o.Entries, maxBufRing)
	}
	if o.Size < 1 || o.Size > 1<<30 {
		return nil, fmt.Errorf("uring: buffers of %d bytes: must be 1 to %d", o.Size, 1<<30)
	}
	b := &BufRing{ring: r, group: o.Group, mask: uint16(o.Entries - 1), size: o.Size, inc: o.Incremental}
	if err := b.open(o); err != nil {
		_ = b.unmap()
		return nil, err
	}
	r.bufRings = append(r.bufRings, b)
	return b, nil
}

func (b *BufRing) open(o BufRingOptions) (err error) {
	if b.descMem, err = NewMemory(o.Entries*int(unsafe.Sizeof(bufDesc{})), PagesBase); err != nil {
		return err
	}
	if b.bufMem, err = NewMemory(o.Entries*o.Size, o.Pages); err != nil {
		return err
	}
	b.descs = unsafe.Slice((*bufDesc)(unsafe.Pointer(&b.descMem.bytes[0])), o.Entries)
	b.order, b.place = make([]uint16, o.Entries), make([]uint16, o.Entries)
	b.used, b.inRing = make([]uint32, o.Entries), make([]bool, o.Entries)

	reg := bufReg{addr: address(b.descMem.bytes), entries: uint32(o.Entries), bgid: o.Group}
	if o.Incremental {
		reg.flags = pbufRingInc
	}
	if _, errno := b.ring.register(registerPbufRing, unsafe.Pointer(&reg), 1); errno != 0 {
		return b.ring.bufRingError(o, errno)
	}
	for i := range o.Entries {
		b.Add(uint16(i))
	}
	b.Advance()
	return nil
}

// bufRingError explains why there is no group.
func (r *Ring) bufRingError(o BufRingOptions, errno unix.Errno) error {
	call := remedy.UringBufRing
	if o.Incremental {
		call = remedy.UringBufInc
	}
	return r.failed(call, fmt.Sprintf("register pbuf ring %d", o.Group), errno, o.Entries*int(unsafe.Sizeof(bufDesc{})))
}

// Group returns the number by which requests name the buffers.
func (b *BufRing) Group() uint16 { return b.group }

// Entries returns how many buffers there are.
func (b *BufRing) Entries() int { return len(b.order) }

// Size returns the length of a buffer in bytes.
func (b *BufRing) Size() int { return b.size }

// Ready returns how many buffers the kernel has, as far as completions told.
func (b *BufRing) Ready() int { return b.ready }

// Bytes returns all of buffer id.
func (b *BufRing) Bytes(id uint16) []byte {
	i := int(id) * b.size
	return b.bufMem.bytes[i : i+b.size : i+b.size]
}

// Add puts buffer id at the end of the ring, to be used again; the kernel sees
// it after Advance. It panics when the ring has the buffer already, because the
// kernel would then write to memory that somebody reads.
func (b *BufRing) Add(id uint16) {
	if b.inRing[id] {
		panic(fmt.Sprintf("uring: buffer %d of group %d added twice", id, b.group))
	}
	b.inRing[id] = true
	b.ready++
	at := b.tail & b.mask
	b.order[at], b.place[id] = id, at
	d := &b.descs[at]
	d.addr = address(b.bufMem.bytes) + uint64(id)*uint64(b.size)
	d.len = uint32(b.size)
	if at == 0 {
		b.first = id // its other half is the tail, as the kernel knows it until Advance
		atomic.StoreUint32(&d.bidTail, pair(id, b.shown))
	} else {
		d.bidTail = pair(id, 0)
	}
	b.tail++
}

// Advance shows the kernel the buffers added.
func (b *BufRing) Advance() {
	b.shown = b.tail
	atomic.StoreUint32(&b.descs[0].bidTail, pair(b.first, b.shown))
}

// Recycle adds one buffer and shows it to the kernel: Add and Advance.
func (b *BufRing) Recycle(id uint16) {
	b.Add(id)
	b.Advance()
}

// pair packs bid and tail into a word: bid is the half that comes first in memory.
func pair(bid, tail uint16) uint32 {
	var w [4]byte
	binary.NativeEndian.PutUint16(w[:2], bid)
	binary.NativeEndian.PutUint16(w[2:], tail)
	return binary.NativeEndian.Uint32(w[:])
}

// Close unregisters the group and unmaps its buffers. No request may use it:
// cancel them first. Ring.Close does it for all groups.
func (b *BufRing) Close() error {
	i := slices.Index(b.ring.bufRings, b)
	if i < 0 {
		return nil
	}
	b.ring.bufRings = slices.Delete(b.ring.bufRings, i, i+1)
	return b.free()
}

func (b *BufRing) free() error {
	reg := bufReg{bgid: b.group}
	_, errno := b.ring.register(unregisterPbufRing, unsafe.Pointer(&reg), 1)
	if err := b.unmap(); err != nil {
		return err
	}
	// From a thread that does not own the ring, closing it does this.
	if errno == unix.EEXIST {
		return nil
	}
	return b.ring.failed(remedy.UringBufRing, fmt.Sprintf("unregister pbuf ring %d", b.group), errno, 0)
}

func (b *BufRing) unmap() error {
	b.descs = nil
	err := b.descMem.Close()
	if err2 := b.bufMem.Close(); err == nil {
		err = err2
	}
	return err
}
