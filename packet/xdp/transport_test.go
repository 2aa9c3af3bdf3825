// SPDX-License-Identifier: MIT

package xdp

import (
	"net/netip"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

// Both ends know the same tuples, and all ports exist.
func TestTuplesOfAConnection(t *testing.T) {
	receiver := netip.MustParseAddrPort("10.77.0.1:7719")
	for _, x := range []struct {
		port  uint16
		n     int
		first uint16
	}{{40000, 0, 40000}, {40000, 8, 40000}, {65535, 1, 65535}, {65535, 8, 65528}, {1, stream.MaxTuples, 1}} {
		got := TuplesOf(netip.AddrPortFrom(netip.MustParseAddr("10.77.0.2"), x.port), receiver, x.n)
		if err := got.check(); err != nil || got.FirstPort != x.first || got.ports() != max(x.n, 1) ||
			got.DestPort != 7719 {
			t.Errorf("%+v: %+v, %v", x, got, err)
		}
	}
	a, again, b := stream.Cookie{1}, stream.Cookie{1}, stream.Cookie{2}
	if tagOf(a) != tagOf(again) || tagOf(a) == tagOf(b) {
		t.Error("a tag is that of a cookie")
	}
}

// What a mode cannot do with frames is told before a flow is opened, with what to do.
func TestChoicesOfReceivers(t *testing.T) {
	for _, x := range []struct {
		mode stream.Mode
		f    stream.Frames
		size int
		ok   bool
	}{
		{DropMode, stream.Frames{}, 18, true}, {DropMode, stream.Frames{Touch: "swap-macs", Attach: "generic"}, 18,
			true},
		{DropMode, stream.Frames{}, 17, false}, {DropMode, stream.Frames{}, stream.MaxFramePayload + 1, false},
		{DropMode, stream.Frames{Touch: "look"}, 18, false}, {DropMode, stream.Frames{Attach: "offload"}, 18, false},
		{TXMode, stream.Frames{}, 18, true}, {TXMode, stream.Frames{Touch: "read"}, 18, false},
		{RedirectMode, stream.Frames{}, 18, true}, {RedirectMode, stream.Frames{Redirect: "dev"}, 18, true},
		{RedirectMode, stream.Frames{Redirect: "dev", Touch: "none"}, 18, false},
		{PassMode, stream.Frames{Touch: "swap-macs"}, 18, false}, {SinkMode, stream.Frames{}, 1400, true},
		{SinkMode, stream.Frames{Tuples: 2}, 18, false}, {RecvMode, stream.Frames{Tuples: 2}, 18, true},
		{PassMode, stream.Frames{Tuples: 2}, 18, true},
	} {
		r, err := x.mode.NewReceiver(stream.Options{MessageBytes: x.size, Frames: x.f})
		if (err == nil) != x.ok {
			t.Errorf("%s with %+v, %d bytes: %v", x.mode.Name, x.f, x.size, err)
		}
		if err == nil {
			r.Close()
		}
	}
}
