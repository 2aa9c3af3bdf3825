// SPDX-License-Identifier: MIT

package xdp

import (
	"bytes"
	"encoding/binary"
	"maps"
	"net"
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// XDP verdicts.
const (
	xdpDrop = 1
	xdpPass = 2
	xdpTX   = 3
)

// verdictOf runs a program once on a frame, which need not come from anywhere.
func verdictOf(t *testing.T, p *ebpf.Program, frame []byte) (verdict uint32, after []byte) {
	t.Helper()
	out := make([]byte, len(frame)+256)
	o := ebpf.RunOptions{Data: frame, DataOut: out, Repeat: 1}
	verdict, err := p.Run(&o)
	if err != nil {
		t.Fatal(err)
	}
	return verdict, o.DataOut
}

// unseen are those of others that are nearly the generator's and differ in what touch none does not
// look at. No sender makes them but by intent: a frame of that kind has something else where the
// addresses and ports would be.
func unseen(touch Touch, others map[string][]byte, names ...string) {
	for _, name := range names {
		if touch == TouchNone {
			delete(others, name)
		}
	}
}

// asSent are frames of other kinds as they are sent.
func asSent() map[string][]byte {
	ours := tuples().frame(net.HardwareAddr{2, 0, 0, 0, 0, 2}, net.HardwareAddr{2, 0, 0, 0, 0, 1}, MinFrameBytes, 1)
	arp := append(bytes.Clone(ours[:12]), 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1)
	arp = append(append(append(arp, ours[26:30]...), make([]byte, 6)...), ours[30:34]...)
	tagged := append(append(bytes.Clone(ours[:12]), 0x81, 0, 0, 7), ours[12:]...)
	return map[string][]byte{
		"an ARP request":       append(arp, make([]byte, 18)...),
		"a datagram of IPv6":   frame6(80),
		"ours behind VLAN tag": tagged,
	}
}

// foreign are frames that differ from the generator's in one thing.
func foreign() map[string][]byte {
	own := func(change func(b []byte) []byte) []byte {
		b := tuples().frame(net.HardwareAddr{2, 0, 0, 0, 0, 2}, net.HardwareAddr{2, 0, 0, 0, 0, 1}, MinFrameBytes, 1)
		return change(b)
	}
	set := func(at int, v ...byte) []byte {
		return own(func(b []byte) []byte { copy(b[at:], v); return b })
	}
	return map[string][]byte{
		"ARP":               set(12, 0x08, 0x06),
		"IPv6":              set(12, 0x86, 0xdd),
		"TCP":               set(23, 6),
		"a fragment":        set(20, 0x00, 0x10),
		"more fragments":    set(20, 0x20, 0x00),
		"another source":    set(29, 9),
		"another dest":      set(33, 9),
		"a port below":      set(34, 0x9c, 0x3f),
		"a port above":      set(34, 0x9c, 0x44),
		"another dest port": set(37, 0),
		"ssh":               set(36, 0, 22),
		"options":           set(14, 0x46), // which are the ports
	}
}

// The generator's frames are dropped, all else goes on: also what looks nearly like them.
func TestOnlyTuplesMatch(t *testing.T) {
	needRoot(t)
	ours := tuples().frame(net.HardwareAddr{2, 0, 0, 0, 0, 2}, net.HardwareAddr{2, 0, 0, 0, 0, 1}, MinFrameBytes, 1)
	for _, touch := range []Touch{TouchNone, TouchRead, TouchWrite, TouchParse, TouchSwapMACs} {
		c := loadRung(t, Drop, touch)
		p := c.Programs[framesProgRung]
		for port := range 4 {
			f := bytes.Clone(ours)
			binary.BigEndian.PutUint16(f[34:], uint16(40000+port))
			if v, _ := verdictOf(t, p, f); v != xdpDrop {
				t.Errorf("touch %v: verdict %d on port %d", touch, v, port)
			}
		}
		others := foreign()
		unseen(touch, others, "ARP", "IPv6", "options")
		maps.Copy(others, asSent())
		if touch == TouchParse {
			delete(others, "ours behind VLAN tag") // it finds that
		}
		others["nothing but Ethernet"] = ours[:14]
		others["no whole header"] = ours[:HeaderBytes-1]
		if touch == TouchParse {
			bad := bytes.Clone(ours)
			bad[24] ^= 1
			others["a wrong checksum"] = bad
		}
		for what, f := range others {
			v, after := verdictOf(t, p, f)
			if v != xdpPass || !bytes.Equal(after, f) {
				t.Errorf("touch %v: %s: verdict %d, and % x of % x", touch, what, v, after, f)
			}
		}
		if all := countsIn(t, c); all.Frames != 4 || all.Bytes != 4*MinFrameBytes || all.Others != uint64(len(others)) {
			t.Errorf("touch %v: %+v; want 4 frames and %d others", touch, all, len(others))
		}
	}
}

// A parser that goes through all headers finds the frame behind tags and options, too.
func TestParseFindsHeaders(t *testing.T) {
	needRoot(t)
	p := loadRung(t, Drop, TouchParse).Programs[framesProgRung]
	ours := tuples().frame(net.HardwareAddr{2, 0, 0, 0, 0, 2}, net.HardwareAddr{2, 0, 0, 0, 0, 1}, MinFrameBytes, 1)
	tagged := append(append(bytes.Clone(ours[:12]), 0x81, 0, 0, 7), ours[12:]...)
	twice := append(append(bytes.Clone(ours[:12]), 0x88, 0xa8, 0, 7, 0x81, 0, 0, 8), ours[12:]...)
	thrice := append(append(bytes.Clone(ours[:12]), 0x81, 0, 0, 9), twice[12:]...)
	options := append(append(bytes.Clone(ours[:34]), 1, 1, 1, 0), ours[34:]...)
	options[14] = 0x46
	binary.BigEndian.PutUint16(options[16:], uint16(len(options)-14))
	options[24], options[25] = 0, 0
	binary.BigEndian.PutUint16(options[24:], ^uint16(onesSum(options[14:38])))
	for what, x := range map[string]struct {
		frame []byte
		want  uint32
	}{"a VLAN": {tagged, xdpDrop}, "two VLANs": {twice, xdpDrop}, "three VLANs": {thrice, xdpPass},
		"options": {options, xdpDrop}} {
		if v, _ := verdictOf(t, p, x.frame); v != x.want {
			t.Errorf("%s: verdict %d, want %d", what, v, x.want)
		}
	}
}

// What each touch does to a frame that goes on.
func TestTouches(t *testing.T) {
	needRoot(t)
	ours := tuples().frame(net.HardwareAddr{2, 0, 0, 0, 0, 2}, net.HardwareAddr{2, 0, 0, 0, 0, 1}, MinFrameBytes, 1)
	for _, x := range []struct {
		touch  Touch
		action Action
		want   uint32
		change func(b []byte)
	}{
		{TouchNone, Pass, xdpPass, nil}, {TouchRead, Pass, xdpPass, nil}, {TouchParse, Pass, xdpPass, nil},
		{TouchWrite, Pass, xdpPass, func(b []byte) { binary.NativeEndian.PutUint32(b[54:], 0x5a43) }},
		{TouchSwapMACs, TX, xdpTX, func(b []byte) {
			copy(b, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1})
		}},
	} {
		want := bytes.Clone(ours)
		if x.change != nil {
			x.change(want)
		}
		v, after := verdictOf(t, loadRung(t, x.action, x.touch).Programs[framesProgRung], ours)
		if v != x.want || !bytes.Equal(after, want) {
			t.Errorf("%v, %v: verdict %d, % x; want %d, % x", x.action, x.touch, v, after, x.want, want)
		}
	}
}

func loadRung(t *testing.T, a Action, touch Touch) *ebpf.Collection {
	t.Helper()
	c, err := load(with(tuples().constants(), map[string]any{framesVarAction: uint8(a), framesVarTouch: uint8(touch)}),
		nil, framesProgRung)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestActionsThatCannotBe(t *testing.T) {
	for _, x := range []Options{
		{Tuples: tuples(), Action: TX, Touch: TouchRead},
		{Tuples: tuples(), Action: toDev, Touch: TouchNone},
		{Tuples: tuples(), Action: Pass, Touch: TouchSwapMACs},
		{Action: Drop},
	} {
		if err := x.check(); err == nil {
			t.Errorf("%v with touch %v is taken", x.Action, x.Touch)
		}
	}
	if err := (Options{Tuples: tuples(), Action: toDev, Dev: "a", OutDev: "b"}).check(); err != nil {
		t.Error(err)
	}
}

// countsIn is what the programs of a collection have counted.
func countsIn(t *testing.T, c *ebpf.Collection) Counts {
	t.Helper()
	m, err := mapCounts(c.Maps[framesMapCounts])
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	return Sum(m.read(atRung))
}
