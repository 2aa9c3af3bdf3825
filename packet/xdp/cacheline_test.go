// SPDX-License-Identifier: MIT

package xdp

import "testing"

func TestToLine(t *testing.T) {
	for at, want := range map[int]int{0: 0, 64: 0, 368: 16, 1: 63, 63: 1} {
		if got := toLine(at); got != want {
			t.Errorf("from %d: %d, want %d", at, got, want)
		}
	}
}

// Frames that begin at a line of the cache are those that would begin elsewhere: of the same
// length, and with the tag where it belongs.
func TestIntegrationAtLine(t *testing.T) {
	for _, n := range []int{MinFrameBytes, MaxFrameBytes} {
		l := newLadder(t)
		s := in(t, l.pair.SUT.Netns, func() (*Socket, error) { return OpenSocket(l.Tuples, n, 1<<20, Tagged(0x7a6362)) })
		defer s.Close()
		if beforeLine() == 0 {
			t.Skip("this kernel does not tell where frames begin (BTF), or they begin at a line")
		}
		before := l.stats(l.pair.SUT)
		g := l.generator(GeneratorOptions{Frames: 64, FrameBytes: n, AtLine: true})
		in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
		var got Received
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
