// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"math/bits"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// Several rings can have one interface queue: one registers it, the others import it
// (ZCRX_REG_IMPORT, 6.19). The kernel gives each a number for its requests, and no more: area,
// refill ring and counts are those of the queue (import_zcrx of io_uring/zcrx.c). The kernel takes
// from the refill ring's head under a lock of its own; of those who write at its tail it knows
// nothing, so they have one in the same memory. What was given to any of the rings any may give
// back; what nobody gives back is lost to all until the last of them is closed.

// ZcrxShare is what a ring has to know of an interface queue that it joins.
type ZcrxShare struct {
	FD       int // the queue, of [Zcrx.Export]
	RegionFD int // memory of the refill ring; -1: that of the same process
	Bytes    int // of that memory
	StatsOff int
	Entries  uint32
	Start    int // see ZcrxOptions
	Size     int // of the area that the NIC had
	BufLen   int
	Stats    bool

	region *Memory
}

const (
	// lockBehind is where the lock is behind the statistics: on a line of its own.
	lockBehind = 64
	// refillBatch is how many pieces a ring of several gathers before it gives them back.
	refillBatch = 256
	// patience is how long a ring waits for the tail: others are at it for microseconds, but one
	// of another process may have been killed there.
	patience = 10 * time.Millisecond
)

// makeRegion makes the refill ring's memory.
func (z *Zcrx) makeRegion(size int, shared bool) (err error) {
	if shared {
		z.region, z.regionFD, err = NewSharedMemory(size)
		return err
	}
	z.region, err = NewMemory(size, PagesBase)
	return err
}

// Share exports an interface queue that was registered with ZcrxOptions.Shared, for other rings to
// join it; the caller closes FD, and rings of this process end before this one.
func (z *Zcrx) Share() (ZcrxShare, error) {
	if z.lock == nil {
		return ZcrxShare{}, errors.New("uring: the interface queue was registered for one ring")
	}
	fd, err := z.Export()
	return ZcrxShare{FD: fd, RegionFD: z.regionFD, Bytes: len(z.region.bytes), StatsOff: z.statsOff,
		Entries: uint32(len(z.rqes)), Start: z.start, Size: z.size, BufLen: z.bufLen, Stats: z.stats != nil,
		region: z.region}, err
}

// ImportZcrx joins an interface queue that another ring has registered; area is its memory as this
// process sees it. The descriptors may be closed then. The ring needs what [Ring.NewZcrx] says, the
// caller CAP_NET_ADMIN. EINVAL: before 6.19. EBADF: FD is no interface queue.
func (r *Ring) ImportZcrx(s ZcrxShare, area []byte) (*Zcrx, error) {
	if r.closed {
		return nil, errClosed
	}
	z := &Zcrx{ring: r, area: area, start: s.Start, size: s.Size, bufLen: s.BufLen, statsOff: s.StatsOff,
		region: s.region, regionFD: -1, joined: true, borrowed: s.region != nil}
	reg := &zcrxIfqReg{ifIdx: uint32(s.FD), flags: zcrxRegImport}
	if _, errno := r.register(registerZcrxIfq, unsafe.Pointer(reg), 1); errno != 0 {
		return nil, opError(remedy.ZcrxImport, "import the zcrx interface queue", errno, remedy.On{Thread: r.issuer})
	}
	if z.region == nil {
		var err error
		if z.region, err = MapShared(s.RegionFD, s.Bytes); err != nil {
			return nil, err
		}
	}
	z.id = reg.zcrxID
	z.find(reg.offsets, s.Entries, s.Stats, true)
	r.zcrx = append(r.zcrx, z)
	return z, nil
}

// enter waits for the tail of a refill ring that others have, too; false: somebody does not leave
// it.
func (z *Zcrx) enter() bool {
	if z.lock == nil {
		return true
	}
	var since time.Time
	for !atomic.CompareAndSwapUint32(z.lock, 0, 1) {
		if since.IsZero() {
			since = time.Now()
		} else if time.Since(since) > patience {
			return false
		}
		unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // who is there may want this CPU
	}
	z.next = atomic.LoadUint32(z.tail)
	return true
}

// leave shows the kernel what was written, where others write after it.
func (z *Zcrx) leave() {
	if z.lock != nil {
		atomic.StoreUint32(z.tail, z.next)
		atomic.StoreUint32(z.lock, 0)
	}
}

// put gathers a piece; false: there is no room for it.
func (z *Zcrx) put(e zcrxRqe) bool {
	if len(z.batch) == cap(z.batch) {
		if z.post(); len(z.batch) == cap(z.batch) {
			return false
		}
	}
	z.batch = append(z.batch, e)
	return true
}

// post gives back what was gathered, as far as the refill ring takes it.
func (z *Zcrx) post() {
	if len(z.batch) == 0 || !z.enter() {
		return
	}
	n := min(len(z.batch), len(z.rqes)-int(z.next-atomic.LoadUint32(z.head)))
	for _, e := range z.batch[:n] {
		z.rqes[z.next&uint32(len(z.rqes)-1)] = e
		z.next++
	}
	z.leave()
	z.batch = z.batch[:copy(z.batch, z.batch[n:])]
}

// Unposted returns how many pieces this ring has gathered and not given back yet.
func (z *Zcrx) Unposted() int { return len(z.batch) }

// Grow gives the NIC as much of the area again as it has, or what is left of it, as an area of its
// own (ZCRX_CTRL_ADD_AREA, 7.3), and returns how many bytes these were; 0: it has all. Only the
// ring that registered the queue does so.
func (z *Zcrx) Grow() (int, error) {
	n := min(z.size, len(z.area)-z.size)
	if n <= 0 || z.joined {
		return 0, nil
	}
	mem, err := NewMemory(int(unsafe.Sizeof(zcrxAreaReg{})), PagesBase)
	if err != nil {
		return 0, err
	}
	defer mem.Close()
	reg := (*zcrxAreaReg)(unsafe.Pointer(&mem.bytes[0]))
	*reg = zcrxAreaReg{addr: address(z.area[z.size:]), len: uint64(n)}
	c := &zcrxCtrl{op: zcrxCtrlAddArea}
	c.arg[0] = address(mem.bytes)
	if err := z.ctrl(remedy.ZcrxAddArea, "add an area to the zcrx interface queue", c); err != nil {
		return 0, err
	}
	if reg.token != z.parts()<<zcrxAreaShift {
		return 0, errToken
	}
	z.size += n
	return n, nil
}

// parts returns how many areas the NIC's memory is made of: it has doubled each time.
func (z *Zcrx) parts() uint64 { return uint64(bits.Len(uint(z.size / z.start))) }
