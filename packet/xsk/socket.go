// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// Sizes of a socket's memory. All frames of the UMEM are in one of the rings, or in the
// application's hands: the fill ring has room for all of them.
const (
	frames  = 4096 // of the UMEM
	rxRing  = 2048 // descriptors
	cqRing  = 64   // of what was sent, which is nothing
	batch   = 64   // frames that are taken at a time
	headers = unix.XDP_PACKET_HEADROOM
)

// chunks are the sizes of a frame's memory, bytes.
var chunks = [2]int{2048, 4096}

// maxFrameBytes is the longest frame that comes in one piece.
var maxFrameBytes = chunks[1] - headers

// Options of [open].
type Options struct {
	Dev      string // in the calling thread's network namespace
	Queue    int    // RX queue that frames come by
	ZeroCopy bool   // the NIC writes frames into the UMEM; else the kernel copies them there
	Longest  int    // bytes of the longest frame that is to come, without a VLAN's tag; 0: as the interface's MTU says
}

// Socket is one of AF_XDP, bound to an RX queue, with a UMEM of its own. Its methods are for one
// thread.
type Socket struct {
	Options
	FD    int
	umem  *stream.Buffer
	chunk int
	fill  ring
	rx    ring
}

// open makes the socket and gives the kernel all its memory. Where zero copy is asked for the XDP
// program that redirects has to be there before: drivers want it.
func open(o Options) (_ *Socket, err error) {
	dev, err := rtnl.LinkNamed(o.Dev)
	if err != nil {
		return nil, err
	}
	s := &Socket{Options: o, FD: -1}
	if s.chunk, err = chunkFor(o, dev.MTU); err != nil {
		return nil, err
	}
	if err := s.open(dev.Index); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// vlanBytes is a VLAN's tag.
const vlanBytes = 4

// chunkFor chooses the size of a frame's memory. A driver that writes there itself takes frames as
// long as the MTU; where the kernel copies, no longer ones than come.
func chunkFor(o Options, mtu int) (int, error) {
	longest := o.Longest + vlanBytes // a NIC may leave the tag in the frame
	if o.ZeroCopy || o.Longest == 0 {
		longest = mtu + 14 + vlanBytes // 14: Ethernet's header
	}
	for _, c := range chunks {
		if longest <= c-headers {
			return c, nil
		}
	}
	if o.ZeroCopy {
		return 0, &fault.Error{Op: fmt.Sprintf(
			"AF_XDP zero copy on %s: frames of %d bytes, as its MTU allows, do not fit into %d", o.Dev, longest,
			maxFrameBytes), Err: unix.EMSGSIZE,
			How: fmt.Sprintf("set a smaller MTU (--mtu %d), or use udp-xsk, which copies", maxFrameBytes-18)}
	}
	return 0, &fault.Error{Op: fmt.Sprintf("AF_XDP on %s: frames of %d bytes do not fit into %d", o.Dev, longest,
		maxFrameBytes), Err: unix.EMSGSIZE,
		How: "use a smaller message"}
}

func (s *Socket) open(dev int) (err error) {
	if s.FD, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		s.FD = -1
		return socketError(err)
	}
	if s.umem, err = stream.NewBuffer(frames * s.chunk); err != nil {
		return err
	}
	if err := setUMEM(s.FD, s.umem.Bytes(), s.chunk); err != nil {
		return s.failed(remedy.XSKMemory, "register its memory (XDP_UMEM_REG)", err)
	}
	if err := s.makeRings(); err != nil {
		return err
	}
	if err := s.mapRings(); err != nil {
		return err
	}
	for i := range uint32(frames) {
		s.fill.set(i, uint64(i)*uint64(s.chunk))
	}
	s.fill.produced(frames)
	return s.bind(dev)
}

func (s *Socket) makeRings() error {
	for _, r := range []struct {
		option, entries int
	}{{unix.XDP_UMEM_FILL_RING, frames}, {unix.XDP_UMEM_COMPLETION_RING, cqRing}, {unix.XDP_RX_RING, rxRing}} {
		if err := unix.SetsockoptInt(s.FD, unix.SOL_XDP, r.option, r.entries); err != nil {
			return s.failed(remedy.XSKRing, fmt.Sprintf("make a ring of %d entries", r.entries), err)
		}
	}
	return nil
}

func (s *Socket) mapRings() error {
	off, err := getOption[unix.XDPMmapOffsets](s.FD, unix.XDP_MMAP_OFFSETS)
	if err != nil {
		return s.failed(remedy.XSKAsk, "ask where its rings are (XDP_MMAP_OFFSETS)", err)
	}
	if s.fill, err = mapRing(s.FD, unix.XDP_UMEM_PGOFF_FILL_RING, off.Fr, frames, 8); err != nil {
		return err
	}
	s.rx, err = mapRing(s.FD, unix.XDP_PGOFF_RX_RING, off.Rx, rxRing, 16)
	return err
}

// bind binds the socket for the way frames are to come, and checks that they do come so.
func (s *Socket) bind(dev int) error {
	how := uint16(unix.XDP_COPY)
	if s.ZeroCopy {
		how = unix.XDP_ZEROCOPY
	}
	if err := unix.Bind(s.FD, &unix.SockaddrXDP{Flags: how | unix.XDP_USE_NEED_WAKEUP, Ifindex: uint32(dev),
		QueueID: uint32(s.Queue)}); err != nil {
		return s.failed(remedy.XSKBind, "bind it for "+copyWord(s.ZeroCopy), err)
	}
	zero, err := s.zeroCopied()
	if err == nil && zero != s.ZeroCopy {
		err = &fault.Error{Op: fmt.Sprintf(
			"AF_XDP on queue %d of %s was asked for %s, and the kernel says that it is %s (XDP_OPTIONS)", s.Queue,
			s.Dev, copyWord(s.ZeroCopy), copyWord(zero)),
			How: "this is a bug of the kernel or of zcbench: please report it"}
	}
	return err
}

// zeroCopied asks the kernel whether frames come without a copy.
func (s *Socket) zeroCopied() (bool, error) {
	flags, err := unix.GetsockoptInt(s.FD, unix.SOL_XDP, unix.XDP_OPTIONS)
	if err != nil {
		return false, s.failed(remedy.XSKAsk, "ask whether it copies (XDP_OPTIONS)", err)
	}
	return flags&unix.XDP_OPTIONS_ZEROCOPY != 0, nil
}

func copyWord(zero bool) string {
	if zero {
		return "zero copy"
	}
	return "copy mode"
}

// Ready returns how many frames wait, but no more than [batch].
func (s *Socket) Ready() int { return int(min(s.rx.ready(), batch)) }

// Frame returns frame i of those that wait, until Give. It is nil where the kernel says that it
// lies outside the UMEM, which it never does.
func (s *Socket) Frame(i int) []byte {
	d, mem := s.rx.desc(uint32(i)), s.umem.Bytes()
	if d.Addr > uint64(len(mem)) || uint64(d.Len) > uint64(len(mem))-d.Addr {
		return nil
	}
	return mem[d.Addr : d.Addr+uint64(d.Len) : d.Addr+uint64(d.Len)]
}

// Give gives the memory of the first n frames that wait back, and tells the kernel where it wants
// to be told: then it made a system call.
func (s *Socket) Give(n int) (called bool) {
	for i := range uint32(n) {
		s.fill.set(i, s.rx.desc(i).Addr&^uint64(s.chunk-1))
	}
	s.rx.consumed(uint32(n))
	s.fill.produced(uint32(n))
	if !s.fill.wants() {
		return false
	}
	_, _ = sock.Recv(s.FD, nil, unix.MSG_DONTWAIT) // a wake-up: what comes of it is in the ring
	return true
}

// Lost is what the kernel could not deliver, by why.
type Lost struct {
	RingFull  uint64 // the RX ring had no room
	FillEmpty uint64 // no memory was given: each is a frame in copy mode, and an attempt of the driver's in zero copy
	Dropped   uint64 // another reason, such as a frame that is too long
}

// Lost reads it (XDP_STATISTICS).
func (s *Socket) Lost() (Lost, error) {
	st, err := getOption[unix.XDPStatistics](s.FD, unix.XDP_STATISTICS)
	if err != nil {
		return Lost{}, s.failed(remedy.XSKAsk, "read what it lost (XDP_STATISTICS)", err)
	}
	return lostOf(st, s.ZeroCopy), nil
}

// lostOf: in copy mode the kernel counts a frame that found no memory in both (net/xdp/xsk.c:
// __xsk_rcv, net/xdp/xsk_buff_pool.c: __xp_alloc, Linux 6.18).
func lostOf(st unix.XDPStatistics, zero bool) Lost {
	l := Lost{RingFull: st.Rx_ring_full, FillEmpty: st.Rx_fill_ring_empty_descs, Dropped: st.Rx_dropped}
	if !zero {
		l.Dropped -= min(l.FillEmpty, l.Dropped)
	}
	return l
}

// ChunkBytes returns the memory of a frame.
func (s *Socket) ChunkBytes() int { return s.chunk }

// Memory returns the UMEM.
func (s *Socket) Memory() []byte { return s.umem.Bytes() }

// Close closes the socket and frees its memory. It may be called twice.
func (s *Socket) Close() (err error) {
	if s.FD >= 0 {
		err = unix.Close(s.FD)
		s.FD = -1
	}
	err = errors.Join(err, s.fill.unmap(), s.rx.unmap())
	if s.umem != nil {
		err = errors.Join(err, s.umem.Close())
		s.umem = nil
	}
	return err
}
