// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// What the kernel counts twice is in one line; what a driver could not get is no frame.
func TestLost(t *testing.T) {
	st := unix.XDPStatistics{Rx_dropped: 10, Rx_ring_full: 3, Rx_fill_ring_empty_descs: 7}
	if got, want := lostOf(st, false), (Lost{RingFull: 3, FillEmpty: 7, Dropped: 3}); got != want {
		t.Errorf("copied: %+v, want %+v", got, want)
	}
	if got, want := lostOf(st, true), (Lost{RingFull: 3, FillEmpty: 7, Dropped: 10}); got != want {
		t.Errorf("not copied: %+v, want %+v", got, want)
	}
	st.Rx_dropped = 2 // read before the other
	if got := lostOf(st, false).Dropped; got != 0 {
		t.Errorf("fewer dropped than without memory: %d", got)
	}
	sum := func(zero bool) (n float64) {
		for _, x := range (Lost{1, 2, 4}).Lines(zero) {
			n += x.Value
		}
		return n
	}
	if sum(false) != 7 || sum(true) != 5 {
		t.Errorf("lines: %v and %v", sum(false), sum(true))
	}
}

// The memory of a frame is as small as the longest frame allows: that of the datagrams where the
// kernel copies, of the MTU where the driver writes.
func TestChunkFor(t *testing.T) {
	for _, x := range []struct {
		o    Options
		mtu  int
		want int
	}{
		{Options{Longest: 60}, 9000, 2048}, {Options{Longest: 1788}, 9000, 2048}, {Options{Longest: 1789}, 9000, 4096},
		{Options{Longest: 3836}, 9000, 4096}, {Options{Longest: 3837}, 9000, 0},
		{Options{Longest: 60, ZeroCopy: true}, 1500, 2048}, {Options{Longest: 60, ZeroCopy: true}, 3000, 4096},
		{Options{Longest: 60, ZeroCopy: true}, 9000, 0}, {Options{}, 1500, 2048},
	} {
		got, err := chunkFor(x.o, x.mtu)
		if got != x.want || (err != nil) != (x.want == 0) || err != nil && fault.Fix(err) == "" {
			t.Errorf("%+v, MTU %d: %d, %v; want %d", x.o, x.mtu, got, err, x.want)
		}
	}
}

// Queues that a driver has for the program alone are told, with the channels that leave none.
func TestMoreQueues(t *testing.T) {
	for most, want := range map[int]string{4: "--channels 4", 2: "copy mode", 0: "copy mode"} {
		err := moreQueues("eth0", 2, 4, nic.Channels{Combined: 2, CombinedMax: most})
		if !errors.Is(err, unix.EOPNOTSUPP) ||
			!strings.Contains(err.Error(), "it has 4 RX queues, and without 2") || !strings.Contains(fault.Fix(err),
			want) || most <= 2 && strings.Contains(fault.Fix(err), "channels") {
			t.Errorf("at most %d: %v (%s)", most, err, fault.Fix(err))
		}
	}
	if n, err := withProgram(Options{Dev: "lo"}, 1); n < 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// pretend is a ring in memory that both ends of are here.
func pretend(n int) (r *ring, entries []unix.XDPDesc) {
	entries = make([]unix.XDPDesc, n)
	return &ring{producer: new(uint32), consumer: new(uint32), flags: new(uint32), entries: unsafe.Pointer(&entries[0]),
		mask: uint32(n - 1)}, entries
}

// Indices only count up, also past 2^32; entries are found modulo the ring's size.
func TestRingGoesRound(t *testing.T) {
	r, entries := pretend(8)
	*r.producer, *r.consumer, r.own = 1<<32-3, 1<<32-3, 1<<32-3
	for i := range uint32(100) {
		entries[*r.producer&r.mask].Addr = uint64(i)
		*r.producer++
		if i%3 != 2 {
			continue
		}
		if n := r.ready(); n != 3 {
			t.Fatalf("after %d: %d are ready", i, n)
		}
		for k := range uint32(3) {
			if got := r.desc(k).Addr; got != uint64(i-2+k) {
				t.Fatalf("entry %d is %d", i-2+k, got)
			}
		}
		if r.consumed(3); *r.consumer != *r.producer {
			t.Fatalf("consumed up to %d of %d", *r.consumer, *r.producer)
		}
	}
}

// A ring that is filled has room again for what was taken.
func TestRingHasRoom(t *testing.T) {
	r, _ := pretend(8)
	if r.room() != 8 {
		t.Fatalf("an empty ring has room for %d", r.room())
	}
	for i := range uint32(5) {
		r.set(i, uint64(i))
	}
	r.produced(5)
	*r.consumer = 2
	if r.room() != 5 || r.wants() {
		t.Errorf("room for %d, wants to be told %v", r.room(), r.wants())
	}
	if *r.flags = unix.XDP_RING_NEED_WAKEUP; !r.wants() {
		t.Error("does not want to be told")
	}
}

// What the kernel refuses is explained.
func TestBindError(t *testing.T) {
	for errno, want := range map[unix.Errno]string{unix.EBUSY: "ss --xdp", unix.EOPNOTSUPP: "copy mode",
		unix.EINVAL: "ethtool -l"} {
		s := &Socket{Options: Options{Dev: "eth0", Queue: 3, ZeroCopy: true}}
		err := s.failed(remedy.XSKBind, "bind it", errno)
		if !strings.Contains(fault.Fix(err), want) || !strings.Contains(err.Error(), "queue 3 of eth0") {
			t.Errorf("%v: %v (%s), want %q", errno, err, fault.Fix(err), want)
		}
	}
}

// What waits is taken, and its memory given back where it came from, without allocations.
func TestTakeAndGiveDoNotAllocate(t *testing.T) {
	const n, chunk = 8, 2048
	mem, err := stream.NewBuffer(n * chunk)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	rx, descs := pretend(n)
	fill, _ := pretend(n)
	addrs := make([]uint64, n)
	fill.entries = unsafe.Pointer(&addrs[0])
	s := &Socket{FD: -1, umem: mem, chunk: chunk, rx: *rx, fill: *fill}
	var given, at, lengths uint64
	if a := testing.AllocsPerRun(100, func() {
		for i := range uint64(3) { // as the kernel: behind the headroom
			descs[(at+i)%n] = unix.XDPDesc{Addr: (at+i)%n*chunk + 256, Len: uint32(60 + i)}
		}
		*s.rx.producer += 3
		ready := s.Ready()
		for i := range ready {
			lengths += uint64(len(s.Frame(i)))
		}
		s.Give(ready)
		for i := range uint64(3) {
			if addrs[(at+i)%n] == (at+i)%n*chunk {
				given++
			}
		}
		at += 3
		*s.fill.consumer = uint32(at)
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if given != at || lengths != at/3*(60+61+62) || s.Ready() != 0 || *s.rx.consumer != uint32(at) ||
		*s.fill.producer != uint32(at) {
		t.Errorf("%d frames: %d given back, %d bytes; consumed %d, produced %d", at, given, lengths, *s.rx.consumer,
			*s.fill.producer)
	}
	for _, d := range []unix.XDPDesc{{Addr: n * chunk, Len: 1}, {Addr: 1<<64 - 1, Len: 60}, {Addr: 0, Len: n*chunk + 1},
		{Addr: n*chunk - 59, Len: 60}} {
		if descs[at%n] = d; s.Frame(0) != nil {
			t.Errorf("%+v is a frame", d)
		}
	}
}
