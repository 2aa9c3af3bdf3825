// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"io"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

const period = 31 * 4096

// far is a device's memory.
type far struct {
	bytes []byte
	reads []int // lengths
	fails error
}

func (f *far) ReadAt(p []byte, off int64) (int, error) {
	f.reads = append(f.reads, len(p))
	if f.fails != nil {
		return 0, f.fails
	}
	return copy(p, f.bytes[off:]), nil
}

func (f *far) WriteAt(p []byte, off int64) (int, error) { return copy(f.bytes[off:], p), nil }

// shown passes pieces of memory, {offset, length}, to a view, and returns what the meter counted.
func shown(t *testing.T, m *Memory, how stream.Touch, pieces [][2]int) (stream.Counters, error) {
	t.Helper()
	v, err := NewView(m, how)
	if err != nil {
		t.Fatal(err)
	}
	touch, meter := stream.NewToucher(how, period), new(stream.Meter)
	for _, p := range pieces {
		err = errors.Join(err, v.Next(touch, p[0], p[1], meter))
	}
	err = errors.Join(err, v.End(meter))
	return meter.Snapshot(), err
}

// Payload is compared by the device's copy: pieces that lie one behind the other by one call, in
// the order of the flow, and each wrong byte is found.
func TestViewOfDevice(t *testing.T) {
	dev := &far{bytes: make([]byte, 4*period)}
	stream.WritePayload(dev.bytes, period)
	m := &Memory{FD: -1, Size: int64(len(dev.bytes)), Device: dev}
	pieces := [][2]int{{0, 4096}, {4096, 4096}, {8192, 100}, {period + 8292, 500}, {8792, 8}}
	if c, err := shown(t, m, stream.TouchVerify, pieces); err != nil || c.Mismatches != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if len(dev.reads) != 3 || dev.reads[0] != 8292 {
		t.Errorf("copies of %v bytes", dev.reads)
	}
	dev.bytes[period+8300] ^= 1
	if c, err := shown(t, m, stream.TouchVerify, pieces); err != nil || c.Mismatches != 1 || c.FirstMismatch != 8301 {
		t.Errorf("a wrong byte: %+v, %v", c, err)
	}
	dev.reads = nil
	if c, err := shown(t, m, stream.TouchNone, pieces); err != nil || c.Mismatches != 0 || dev.reads != nil {
		t.Errorf("touch none: %+v, %v, %d copies", c, err, len(dev.reads))
	}
	dev.fails = io.ErrUnexpectedEOF
	if _, err := shown(t, m, stream.TouchVerify, pieces); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a copy that failed: %v", err)
	}
}

// inPieces is a device's memory that is copied by several pieces at once.
type inPieces struct {
	far
	calls []int // pieces
}

func (f *inPieces) ReadPieces(p []byte, pieces [][2]int64) error {
	f.calls = append(f.calls, len(pieces))
	for _, x := range pieces {
		p = p[copy(p[:x[1]], f.bytes[x[0]:]):]
	}
	return nil
}

// Pieces that lie apart are copied by as few calls as they fit into, those of several flows too.
func TestViewOfPieces(t *testing.T) {
	dev := &inPieces{far: far{bytes: make([]byte, 4<<20)}}
	m := &Memory{FD: -1, Size: int64(len(dev.bytes)), Device: dev}
	v, err := NewView(m, stream.TouchVerify)
	if err != nil {
		t.Fatal(err)
	}
	pattern, meter := make([]byte, 8<<20), new(stream.Meter)
	stream.WritePayload(pattern, period)
	touch := []*stream.Toucher{stream.NewToucher(stream.TouchVerify, period), stream.NewToucher(stream.TouchVerify,
		period)}
	pos := [2]int{}
	for i := range 400 { // backwards, so that no two are one piece
		off, flow := (399-i)*8192, i%2
		copy(dev.bytes[off:off+4096], pattern[pos[flow]:])
		pos[flow] += 4096
	}
	for i := range 400 {
		if err := v.Next(touch[i%2], (399-i)*8192, 4096, meter); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.End(meter); err != nil {
		t.Fatal(err)
	}
	long := 3 << 20 // more than is copied at once
	copy(dev.bytes, pattern[pos[0]:pos[0]+long])
	if err := errors.Join(v.Next(touch[0], 0, long, meter), v.End(meter)); err != nil {
		t.Fatal(err)
	}
	if c := meter.Snapshot(); c.Mismatches != 0 || len(dev.calls) != 5+3 || dev.calls[0] != 90 || dev.calls[5] != 1 {
		t.Errorf("%+v, calls of %v pieces", c, dev.calls)
	}
}

// What memory does not allow is refused, and says what to do.
func TestViewRefused(t *testing.T) {
	for name, c := range map[string]struct {
		mem  Memory
		how  stream.Touch
		want error
	}{
		"read":   {Memory{Device: &far{}}, stream.TouchRead, ErrUntouched},
		"verify": {Memory{}, stream.TouchVerify, ErrUnseen},
	} {
		if _, err := NewView(&c.mem, c.how); !errors.Is(err, c.want) || fault.Fix(err) == "" {
			t.Errorf("%s: %v; fix: %s", name, err, fault.Fix(err))
		}
	}
}

// Looking at a dmabuf is bracketed, once for all pieces, and only where there are some.
func TestViewSyncs(t *testing.T) {
	var flags []uint64
	m := &Memory{FD: 5, Size: 2 * period, Bytes: make([]byte, 2*period),
		syncs: func(_ int, f uint64) unix.Errno { flags = append(flags, f); return 0 }}
	stream.WritePayload(m.Bytes, period)
	if c, err := shown(t, m, stream.TouchVerify, [][2]int{{0, 10}, {10, 4096}}); err != nil || c.Mismatches != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if len(flags) != 2 || flags[0] != 1 || flags[1] != 1|syncEnd {
		t.Errorf("DMA_BUF_IOCTL_SYNC with %v", flags)
	}
	flags = nil
	if _, err := shown(t, m, stream.TouchVerify, nil); err != nil || flags != nil {
		t.Errorf("nothing came: DMA_BUF_IOCTL_SYNC with %v, %v", flags, err)
	}
	m.Plain = true
	if _, err := shown(t, m, stream.TouchVerify, [][2]int{{0, 10}}); err != nil || flags != nil {
		t.Errorf("pages of this process: DMA_BUF_IOCTL_SYNC with %v, %v", flags, err)
	}
}

// Where the CPU reaches the memory, nothing is allocated.
func TestViewDoesNotAllocate(t *testing.T) {
	dev := &far{bytes: make([]byte, 2*period), reads: make([]int, 0, 1000)}
	for name, m := range map[string]*Memory{"mapped": {Bytes: make([]byte, period), Plain: true},
		"device": {Device: dev}} {
		m.Size = period
		v, err := NewView(m, stream.TouchVerify)
		if err != nil {
			t.Fatal(err)
		}
		touch, meter := stream.NewToucher(stream.TouchVerify, period), new(stream.Meter)
		if n := testing.AllocsPerRun(100, func() {
			if err := errors.Join(v.Next(touch, 0, 4096, meter), v.End(meter)); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
