// SPDX-License-Identifier: MIT

package uring

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"sync/atomic"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/tape"

	"golang.org/x/sys/unix"
)

// ZcrxArea is the memory that a NIC writes payload into.
type ZcrxArea struct {
	// Bytes is the memory as the application sees it, page-aligned and a
	// multiple of the buffer size: of [NewMemory], or the mapping of the dmabuf.
	// It must live until the ring is closed. A buffer longer than a page needs
	// memory that is contiguous in pieces of its size: PagesHuge.
	Bytes []byte
	// DMABuf says that the kernel is to take the memory from the dmabuf FD, all
	// of it (6.16), rather than from Bytes. The kernel cannot write to it, so it
	// cannot fall back to copying. Bytes is nil where the CPU does not reach it,
	// and Size is then its length.
	DMABuf bool
	FD     int
	Size   int
}

// size returns the length of the memory in bytes.
func (a ZcrxArea) size() int {
	if a.DMABuf && a.Bytes == nil {
		return a.Size
	}
	return len(a.Bytes)
}

// ZcrxOptions describe an interface queue for zero-copy receive.
type ZcrxOptions struct {
	IfIndex int // the interface, in the calling thread's network namespace
	Queue   int // its RX queue, from 0
	// NoDevice makes one that belongs to no NIC: all payload is copied into the
	// area (ZCRX_REG_NODEV, 7.1). IfIndex and Queue must be 0.
	NoDevice bool

	Area ZcrxArea
	// Start is how much of the area the NIC gets at first, from its beginning; 0: all. [Zcrx.Grow]
	// gives it more.
	Start int
	// BufLen is the buffers' size in bytes, a power of two of at least a page; 0
	// is a page and asks nothing of the driver. Else 7.0.
	BufLen int
	// RefillEntries is the size of the ring by which buffers go back, rounded up
	// to a power of two, at most 32768 or with Options.Clamp lowered to it.
	RefillEntries int
	// Shared lets other rings join, here and in other processes: see [Zcrx.Share].
	Shared bool

	// Stats asks the kernel to count what it copies: see Zcrx.Copies (7.2).
	Stats bool
	// Events are told by completions with user data EventUser, the event in
	// their result, each once until Zcrx.ArmEvent (7.2).
	Events    []ZcrxEvent
	EventUser uint64
}

// Zcrx is a registered interface queue: from [Ring.NewZcrx] until the ring is
// closed, the NIC's queue takes its buffers from the area. Kernel side:
// io_uring/zcrx.c.
type Zcrx struct {
	ring   *Ring
	id     uint32
	area   []byte // as this process sees it
	size   int    // of what the NIC has of it
	start  int    // of that, what it had at first
	bufLen int

	region   *Memory // of the refill ring, which the kernel shares
	regionFD int     // it as a file, where other processes can join; -1: they cannot
	statsOff int
	joined   bool // another ring registered the queue
	borrowed bool // region is that ring's
	head     *uint32
	tail     *uint32
	rqes     []zcrxRqe
	seen     uint32 // what *head was when the ring last seemed full
	next     uint32 // one past the last entry written; ahead of *tail until Publish
	stats    *zcrxStats
	flush    zcrxCtrl // argument of Flush

	// Where several rings share the queue: they take turns at the refill ring's tail.
	lock  *uint32   // 0: nobody is at it
	batch []zcrxRqe // what is yet to go there
}

// errToken is of a kernel that calls areas otherwise in completions than where buffers go back:
// none does (zcrx_area_id_to_token of io_uring/zcrx.c), and so what comes goes back as it is.
var errToken = errors.New("uring: the kernel calls the area otherwise than its completions do")

// zcrxArg is all that a registration points at, in memory that does not move.
type zcrxArg struct {
	reg    zcrxIfqReg
	area   zcrxAreaReg
	region regionDesc
	event  zcrxEventDesc
}

// refillHeader is room for what precedes the entries in a refill ring; the
// kernel says where they begin, 64 bytes in at most up to 7.2.
const refillHeader = 4096

// NewZcrx registers an interface queue. The ring needs SingleIssuer, DeferTaskrun
// and CQE32 or CQEMixed (6.15), the caller CAP_NET_ADMIN in the initial user
// namespace. There is no way to unregister but closing the ring.
//
// It fails with an [*fault.Error] whose fix is what the errno alone can tell; the
// kernel gives no text with it. EPERM: no CAP_NET_ADMIN. ENODEV: no such
// interface. EOPNOTSUPP: driver or kernel without it, or the driver without
// BufLen. EINVAL: header split off, or its threshold not 0, or a bad size.
// ERANGE: no such queue, or memory not contiguous for BufLen. EEXIST: the queue
// has a provider, or an XDP program is attached. EBUSY: AF_XDP has the queue.
// ENOMEM: the limit on locked memory.
func (r *Ring) NewZcrx(o ZcrxOptions) (*Zcrx, error) {
	if r.replayed {
		return &Zcrx{}, tape.Note(o.asked(), nil)
	}
	z, err := r.newZcrx(o)
	return z, tape.Note(o.asked(), err)
}

func (r *Ring) newZcrx(o ZcrxOptions) (*Zcrx, error) {
	if r.closed {
		return nil, errClosed
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	z := &Zcrx{ring: r, area: o.Area.Bytes, size: o.Area.size(), regionFD: -1}
	if o.Start > 0 {
		z.size = o.Start
	}
	z.start = z.size
	if err := z.open(o); err != nil {
		return nil, errors.Join(err, z.unmap())
	}
	r.zcrx = append(r.zcrx, z)
	return z, nil
}

func (o ZcrxOptions) check() error {
	switch {
	case o.Area.size() == 0:
		return errors.New("uring: zcrx area of 0 bytes")
	case o.BufLen != 0 && (o.BufLen&(o.BufLen-1) != 0 || o.BufLen < unix.Getpagesize()):
		return fmt.Errorf("uring: zcrx buffers of %d bytes: must be a power of two of at least %d", o.BufLen,
			unix.Getpagesize())
	case o.Area.size()%max(o.BufLen, unix.Getpagesize()) != 0:
		return fmt.Errorf("uring: zcrx area of %d bytes is not a multiple of the buffer size", o.Area.size())
	case o.Start < 0 || o.Start > o.Area.size() || o.Start%max(o.BufLen, unix.Getpagesize()) != 0:
		return fmt.Errorf("uring: zcrx area of %d bytes that starts with %d: must be a multiple of the buffer size",
			o.Area.size(), o.Start)
	case o.Start > 0 && o.Area.DMABuf:
		return errors.New("uring: zcrx area that starts smaller: the kernel takes a dmabuf whole")
	case o.RefillEntries < 1 || o.RefillEntries > 1<<30:
		return fmt.Errorf("uring: refill ring of %d entries: must be 1 to %d", o.RefillEntries, maxRefillEntries)
	}
	return nil
}

// open maps the refill ring's memory and registers.
func (z *Zcrx) open(o ZcrxOptions) (err error) {
	entries := 1 << bits.Len(uint(o.RefillEntries-1))
	z.statsOff = refillHeader + min(entries, maxRefillEntries)*int(unsafe.Sizeof(zcrxRqe{}))
	if err = z.makeRegion(z.statsOff+unix.Getpagesize(), o.Shared); err != nil {
		return err
	}
	mem, err := NewMemory(int(unsafe.Sizeof(zcrxArg{})), PagesBase)
	if err != nil {
		return err
	}
	defer mem.Close()
	arg := (*zcrxArg)(unsafe.Pointer(&mem.bytes[0]))
	o.fill(arg, z.region, entries, z.statsOff)
	if _, errno := z.ring.register(registerZcrxIfq, unsafe.Pointer(&arg.reg), 1); errno != 0 {
		return o.explain(z.ring, errno)
	}
	if arg.area.token != 0 {
		return errToken
	}
	z.id, z.bufLen = arg.reg.zcrxID, int(arg.reg.rxBufLen)
	if z.bufLen == 0 { // a kernel that knows only pages
		z.bufLen = unix.Getpagesize()
	}
	z.find(arg.reg.offsets, arg.reg.rqEntries, o.Stats, o.Shared)
	return nil
}

// find finds the refill ring in its memory, and what lies behind it.
func (z *Zcrx) find(at zcrxOffsets, entries uint32, stats, shared bool) {
	base := unsafe.Pointer(&z.region.bytes[0])
	z.head, z.tail = (*uint32)(unsafe.Add(base, at.head)), (*uint32)(unsafe.Add(base, at.tail))
	z.rqes = unsafe.Slice((*zcrxRqe)(unsafe.Add(base, at.rqes)), entries)
	z.next, z.seen = atomic.LoadUint32(z.tail), atomic.LoadUint32(z.head)
	if stats {
		z.stats = (*zcrxStats)(unsafe.Add(base, z.statsOff))
	}
	if shared {
		z.lock = (*uint32)(unsafe.Add(base, z.statsOff+lockBehind))
		z.batch = make([]zcrxRqe, 0, refillBatch)
	}
}

// fill writes the registration; addresses in it are those of mapped memory.
func (o ZcrxOptions) fill(a *zcrxArg, region *Memory, entries, statsOff int) {
	at := func(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }
	a.region = regionDesc{userAddr: address(region.bytes), size: uint64(roundUp(len(region.bytes), unix.Getpagesize())),
		flags: memRegionUser}
	a.area = zcrxAreaReg{len: uint64(cmp.Or(o.Start, o.Area.size()))}
	if o.Area.DMABuf {
		a.area.flags, a.area.dmabufFD = zcrxAreaDMABuf, uint32(o.Area.FD)
	} else {
		a.area.addr = address(o.Area.Bytes)
	}
	a.reg = zcrxIfqReg{ifIdx: uint32(o.IfIndex), ifRxq: uint32(o.Queue), rqEntries: uint32(entries),
		rxBufLen: uint32(o.BufLen),
		areaPtr:  at(unsafe.Pointer(&a.area)), regionPtr: at(unsafe.Pointer(&a.region))}
	if o.NoDevice {
		a.reg.flags = zcrxRegNoDev
	}
	if o.Stats || len(o.Events) > 0 {
		a.event.userData = o.EventUser
		for _, e := range o.Events {
			a.event.typeMask |= 1 << e
		}
		if o.Stats {
			a.event.flags, a.event.statsOffset = zcrxEventDescStats, uint64(statsOff)
		}
		a.reg.eventDesc = at(unsafe.Pointer(&a.event))
	}
}

// explain makes of a refused registration's errno and options an error that says what may be wrong.
func (o ZcrxOptions) explain(r *Ring, errno unix.Errno) error {
	call := remedy.Zcrx
	switch {
	case o.NoDevice:
		call = remedy.ZcrxNoNIC
	case o.BufLen > unix.Getpagesize():
		call = remedy.ZcrxLong
	case o.Stats || len(o.Events) > 0:
		call = remedy.ZcrxStats
	}
	on := remedy.On{Thread: r.issuer, Bytes: int64(o.Area.size())}
	if i, err := net.InterfaceByIndex(o.IfIndex); err == nil {
		on.Dev = i.Name
	}
	return opError(call, "register zcrx interface queue", errno, on)
}

// ID returns the interface queue's number on its ring, for SQE.RecvZC.
func (z *Zcrx) ID() uint32 { return z.id }

// BufLen returns the size of the area's buffers in bytes.
func (z *Zcrx) BufLen() int { return z.bufLen }

// Buffers returns how many buffers the NIC has of the area.
func (z *Zcrx) Buffers() int { return z.size / z.bufLen }

// Where returns where in the area the payload of a completion of SQE.RecvZC begins: extra is its
// second half.
func (z *Zcrx) Where(extra *[2]uint64) uint64 {
	if n := extra[0] >> zcrxAreaShift; n > 0 { // what was added when it had grown n-1 times
		return extra[0]&^zcrxAreaMask + uint64(z.start)<<(n-1)
	}
	return extra[0]
}

// Bytes returns the payload that a completion of SQE.RecvZC brought, in place: extra is its second
// half. The bytes are the application's until they are refilled.
func (z *Zcrx) Bytes(c *CQE, extra *[2]uint64) []byte {
	at := z.Where(extra)
	end := at + uint64(c.Res)
	return z.area[at:end:end]
}

// unmap frees the refill ring's memory, which the kernel pins as long as it
// needs it.
func (z *Zcrx) unmap() error {
	z.head, z.tail, z.rqes, z.stats, z.lock, z.batch = nil, nil, nil, nil, nil, nil
	if z.borrowed {
		return nil
	}
	err := z.region.Close()
	if z.regionFD >= 0 {
		err = errors.Join(err, unix.Close(z.regionFD))
	}
	z.regionFD = -1
	return err
}

// Counts reports whether the kernel counts what it copies.
func (z *Zcrx) Counts() bool { return z.stats != nil }

// Copies returns how many pieces of payload and how many bytes the kernel has copied from other
// memory into the area since the registration, 0 without ZcrxOptions.Stats (struct zcrx_stats,
// 7.2). Payload in the linear part of a packet is copied too, but not counted.
func (z *Zcrx) Copies() (count, bytes uint64) {
	if z.stats == nil {
		return 0, 0
	}
	return atomic.LoadUint64(&z.stats.copyCount), atomic.LoadUint64(&z.stats.copyBytes)
}
