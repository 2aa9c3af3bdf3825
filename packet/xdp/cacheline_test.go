// SPDX-License-Identifier: MIT

package xdp

import (
	"bytes"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/zcbench/zcbench/internal/fault"
)

func TestToLine(t *testing.T) {
	for at, want := range map[int]int{0: 0, 64: 0, 368: 16, 1: 63, 63: 1} {
		if got := toLine(at); got != want {
			t.Errorf("from %d: %d, want %d", at, got, want)
		}
	}
}

// A kernel that does not tell where its frames begin is no reason to send others than were asked
// for.
func TestLineOfUnknownKernels(t *testing.T) {
	spec := func(all ...btf.Type) *btf.Spec {
		b, err := btf.NewBuilder(all, nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := b.Marshal(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if n, err := beforeLineOf(spec(&btf.Struct{Name: "xdp_page_head", Size: 112}), nil); n != 16 || err != nil {
		t.Errorf("as in 6.18: %d, %v", n, err)
	}
	for name, x := range map[string]struct {
		kernel *btf.Spec
		err    error
	}{"no such struct": {spec(&btf.Struct{Name: "xdp_buff", Size: 56}), nil}, "no BTF": {nil, btf.ErrNotSupported}} {
		if _, err := beforeLineOf(x.kernel, x.err); err == nil || fault.Fix(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Frames that begin at a line of the cache are those that would begin elsewhere: of the same
// length, and with the tag where it belongs.
func TestIntegrationAtLine(t *testing.T) {
	for _, n := range []int{MinFrameBytes, maxFrameBytes} {
		l := newLadder(t)
		s := in(t, l.pair.SUT.Netns,
			func() (*Socket, error) { return OpenSocket(l.Tuples, n, 1<<20, Tagged(0x7a6362)) })
		defer s.Close()
		if n, err := beforeLine(); err != nil || n == 0 {
			t.Skipf("they begin %d bytes before a line: %v", n, err)
		}
		before := l.stats(l.pair.SUT)
		g := l.generator(GeneratorOptions{Frames: 64, FrameBytes: n, AtLine: true})
		in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
		var got received
		waitFor(t, "datagrams", func() bool {
			if err := s.Drain(&got); err != nil {
				t.Fatal(err)
			}
			return got.Packets+got.Corrupted >= 64
		})
		after := l.stats(l.pair.SUT)
		if bytes := after.RxBytes - before.RxBytes; got.Packets != 64 || got.Corrupted != 0 || bytes != uint64(64*n) {
			t.Errorf("frames of %d bytes: %+v, %d bytes on the link", n, got, bytes)
		}
	}
}
