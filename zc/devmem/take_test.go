// SPDX-License-Identifier: MIT

package devmem

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"golang.org/x/sys/unix"
)

const binding = 7

// inMemory is a receiver whose memory holds the pattern's first 64 KiB, and that
// gives back to nobody.
func inMemory(batch int) (*Receiver, *dmabuf.Memory, *stream.Meter) {
	mem := &dmabuf.Memory{FD: -1, Size: 64 << 10, Bytes: make([]byte, 64<<10), Plain: true}
	stream.WritePayload(mem.Bytes, 4096)
	linear, _ := stream.NewBuffer(4096)
	copy(linear.Bytes(), mem.Bytes)
	view, _ := dmabuf.NewView(mem, stream.TouchVerify)
	r := &Receiver{opt: stream.Options{Touch: stream.TouchVerify},
		bound:  &bound{mem: mem, binding: &nic.Binding{ID: binding}},
		view:   view,
		linear: linear,
		own:    &own{touch: stream.NewToucher(stream.TouchVerify, 31*4096), tokens: newTokens(0, batch)}}
	r.tokens.release = func(_ int, ranges []sock.TokenRange) (n int, _ unix.Errno) {
		for _, x := range ranges {
			n += int(x.Count)
		}
		return n, 0
	}
	return r, mem, new(stream.Meter)
}

// control lays fragments out as the kernel does.
func control(frags ...sock.DevmemFrag) (b []byte) {
	for _, f := range frags {
		typ := uint32(unix.SCM_DEVMEM_DMABUF)
		if f.Linear {
			typ = unix.SCM_DEVMEM_LINEAR
		}
		b = binary.NativeEndian.AppendUint64(b, sock.DevmemControlBytes)
		b = binary.NativeEndian.AppendUint32(b, unix.SOL_SOCKET)
		b = binary.NativeEndian.AppendUint32(b, typ)
		b = binary.NativeEndian.AppendUint64(b, f.Offset)
		for _, v := range []uint32{f.Size, f.Token, f.DMABuf, 0} {
			b = binary.NativeEndian.AppendUint32(b, v)
		}
	}
	return b
}

// Each byte is counted once, as what it was, and verified in flow order.
func TestTakeCounts(t *testing.T) {
	r, mem, m := inMemory(1)
	b := control(sock.DevmemFrag{Linear: true, Size: 100}, sock.DevmemFrag{Offset: 100, Size: 3996, Token: 1,
		DMABuf: binding}, sock.DevmemFrag{Offset: 4096, Size: 4096, Token: 2, DMABuf: binding})
	if err := r.take(8192, sock.Fragments(b), m); err != nil {
		t.Fatal(err)
	}
	copy(r.linear.Bytes(), mem.Bytes[8192:])
	if err := r.take(500, sock.Fragments(nil), m); err != nil { // by another queue
		t.Fatal(err)
	}
	c := m.Snapshot()
	if c.Bytes != 8692 || c.ZeroCopyBytes != 8092 || c.LinearBytes != 100 || c.CopiedBytes != 500 || c.Mismatches != 0 {
		t.Errorf("%+v", c)
	}
	if r.reads.frags != 2 || r.reads.some != 1 || r.tokens.received != 2 || r.tokens.freed != 2 {
		t.Errorf("%+v, %d of %d freed", r.reads, r.tokens.freed, r.tokens.received)
	}
}

func TestTakeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		n    int
		b    []byte
		want string
	}{
		"lost": {8192, control(sock.DevmemFrag{Size: 4096, DMABuf: binding}),
			"recvmsg returned 8192 bytes, but its control messages describe 4096"},
		"outside": {4096, control(sock.DevmemFrag{Offset: 64<<10 - 1, Size: 4096, DMABuf: binding}),
			"fragment of 4096 bytes at 65535, in memory of 65536"},
		"wrapped": {4096, control(sock.DevmemFrag{Offset: 1<<64 - 1, Size: 4096, DMABuf: binding}),
			"in memory of 65536"},
		"linear": {5000, control(sock.DevmemFrag{Linear: true, Size: 5000}), "5000 linear bytes"},
		"broken": {4096, control(sock.DevmemFrag{Size: 4096, DMABuf: binding})[:20], "control messages"},
	} {
		r, _, m := inMemory(1)
		if err := r.take(c.n, sock.Fragments(c.b), m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTakeDoesNotAllocate(t *testing.T) {
	r, _, m := inMemory(64)
	r.opt.Touch, r.touch = stream.TouchRead, stream.NewToucher(stream.TouchRead, 31*4096)
	var frags []sock.DevmemFrag
	for i := range uint64(16) {
		frags = append(frags, sock.DevmemFrag{Offset: i * 4096, Size: 4096, Token: uint32(i), DMABuf: binding})
	}
	b := control(frags...)
	if a := testing.AllocsPerRun(200, func() {
		if err := r.take(16*4096, sock.Fragments(b), m); err != nil {
			t.Fatal(err)
		}
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
