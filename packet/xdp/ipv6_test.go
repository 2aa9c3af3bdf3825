// SPDX-License-Identifier: MIT

package xdp

import (
	"bytes"
	"encoding/binary"
	"maps"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func tuples6() Tuples {
	return Tuples{Source: netip.MustParseAddr("fd00:77::2"), Dest: netip.MustParseAddr("fd00:77::1"), FirstPort: 40000,
		Ports: 4, DestPort: 7719}
}

func frame6(n int) []byte {
	return tuples6().frame(net.HardwareAddr{2, 0, 0, 0, 0, 2}, net.HardwareAddr{2, 0, 0, 0, 0, 1}, n, 0xdeadbeef)
}

// A frame of IPv6 has a checksum that is right, also of a payload of an odd length.
func TestFrameOfIPv6(t *testing.T) {
	for _, n := range []int{80, 81, 1514, maxFrameBytes} {
		b := frame6(n)
		udp := b[Header6Bytes-udpBytes:]
		if sum := tuples6().udpSum(udp); sum != 0xffff || len(b) != n ||
			int(binary.BigEndian.Uint16(b[18:])) != len(udp) || int(binary.BigEndian.Uint16(udp[4:])) != len(udp) {
			t.Errorf("%d bytes: sum %#x, headers % x", n, sum, b[:Header6Bytes])
		}
		if binary.BigEndian.Uint32(b[70:]) != 0xdeadbeef {
			t.Errorf("%d bytes: tag % x", n, b[70:74])
		}
	}
}

// Addresses of one kind are taken, and those that name no host of a link are not.
func TestTuplesOfIPv6(t *testing.T) {
	if err := tuples6().check(); err != nil {
		t.Fatal(err)
	}
	for bad, want := range map[string]string{"10.0.0.1": "two addresses", "fe80::1": "link", "ff02::1": "two hosts",
		"::1": "two hosts", "fd00:77::2": "to itself"} {
		x := tuples6()
		x.Dest = netip.MustParseAddr(bad)
		if err := x.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := (Options{Tuples: tuples6(), Action: Pass, Touch: TouchWrite}).check(); err == nil ||
		!strings.Contains(err.Error(), "checksum") {
		t.Errorf("a write that spoils the checksum: %v", err)
	}
	for _, x := range []struct {
		net, a string
		want   bool
	}{{"fd00:77::2/64", "fd00:77::", true}, {"fd00:77::2/64", "fd00:77::1", false}, {"fd00:77::2/127", "fd00:77::2",
		false}, {"10.77.0.2/24", "10.77.0.255", true}, {"10.77.0.2/24", "10.77.0.0", true},
		{"10.77.0.2/31", "10.77.0.2", false}} {
		if got := ofAll(netip.MustParsePrefix(x.net), netip.MustParseAddr(x.a)); got != x.want {
			t.Errorf("%s in %s: %v", x.a, x.net, got)
		}
	}
}

func rungOf6(t *testing.T, touch Touch) func(frame []byte) (uint32, []byte) {
	t.Helper()
	c, err := load(with(tuples6().constants(), map[string]any{framesVarAction: uint8(Drop),
		framesVarTouch: uint8(touch)}), nil, framesProgRung)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return func(frame []byte) (uint32, []byte) { return verdictOf(t, c.Programs[framesProgRung], frame) }
}

// Of IPv6, too, the generator's frames are dropped and all else goes on.
func TestOnlyTuplesOfIPv6Match(t *testing.T) {
	needRoot(t)
	ours := frame6(80)
	set := func(at int, v ...byte) []byte {
		b := bytes.Clone(ours)
		copy(b[at:], v)
		return b
	}
	others := map[string][]byte{
		"IPv4": set(12, 8, 0), "TCP": set(20, 6), "a fragment": set(20, 44), "ICMP": set(20, 58),
		"another source": set(37, 9), "its first word": set(22, 0xfe),
		"another dest": set(53, 9), "a port below": set(54, 0x9c, 0x3f), "a port above": set(54, 0x9c, 0x44),
		"another dest port": set(57, 0), "version 4": set(14, 0x45),
		"no whole header": ours[:Header6Bytes-1], "of the other family": tuples().frame(net.HardwareAddr{2, 0, 0, 0,
			0, 2}, net.HardwareAddr{2, 0, 0, 0, 0, 1}, 80, 1),
	}
	for _, touch := range []Touch{TouchNone, TouchRead, TouchWrite, TouchParse, TouchSwapMACs} {
		run := rungOf6(t, touch)
		if v, _ := run(ours); v != xdpDrop {
			t.Errorf("touch %v: verdict %d on ours", touch, v)
		}
		others := maps.Clone(others)
		unseen(touch, others, "IPv4", "version 4")
		for what, f := range others {
			if v, after := run(f); v != xdpPass || !bytes.Equal(after, f) {
				t.Errorf("touch %v: %s: verdict %d", touch, what, v)
			}
		}
	}
}

// Behind tags and extension headers it is found by who parses, up to two of each.
func TestParseFindsHeadersOfIPv6(t *testing.T) {
	needRoot(t)
	run := rungOf6(t, TouchParse)
	behind := func(next ...byte) []byte {
		b := bytes.Clone(frame6(120))
		for i := len(next) - 1; i >= 0; i-- {
			b = append(b[:54:54], append([]byte{b[20], 0, 1, 4, 0, 0, 0, 0}, b[54:]...)...)
			b[20] = next[i]
		}
		binary.BigEndian.PutUint16(b[18:], uint16(len(b)-54))
		return b
	}
	tagged := append(append(bytes.Clone(frame6(80)[:12]), 0x81, 0, 0, 7), frame6(80)[12:]...)
	long := bytes.Clone(frame6(80))
	binary.BigEndian.PutUint16(long[58:], 27) // longer than IPv6 says
	for what, x := range map[string]struct {
		frame []byte
		want  uint32
	}{"none": {behind(), xdpDrop}, "hop by hop": {behind(0), xdpDrop}, "two": {behind(0, 60), xdpDrop},
		"three": {behind(0, 43, 60), xdpPass}, "a fragment": {behind(44), xdpPass}, "a VLAN": {tagged, xdpDrop},
		"a wrong length": {long, xdpPass}} {
		if v, _ := run(x.frame); v != x.want {
			t.Errorf("%s: verdict %d, want %d", what, v, x.want)
		}
	}
}

// What the generator sends is a frame of IPv6 with the right checksum, whatever number and port it
// has: a socket takes each, and counts none whose sum is wrong.
func TestIntegrationFramesOfIPv6(t *testing.T) {
	for _, n := range []int{80, 81, 1400} {
		l := newLadder6(t)
		l.Ports = 3
		s := in(t, l.pair.SUT.Netns,
			func() (*Socket, error) { return OpenSocket(l.Tuples, n, 4<<20, Tagged(0x7a6362)) })
		defer s.Close()
		const frames, rounds = 2000, 20
		before, _ := inSender(l)
		refused, dropped, sent := uint64(0), uint64(0), uint64(0)
		var got received
		// A busy machine's link may refuse many of one round.
		for got.Packets < frames/2 && got.Corrupted == 0 && sent < rounds*frames {
			g := l.generator(GeneratorOptions{Frames: frames, FrameBytes: n, Rate: 100_000, Burst: 8})
			l.paced(g)
			after, _ := inSender(l)
			allTaken, had := after-before == refused, got.Packets
			refused, sent = after-before, sent+frames
			waitFor(t, "all frames", func() bool {
				if err := s.Drain(&got); err != nil {
					t.Fatal(err)
				}
				var err error
				if dropped, err = s.Dropped(); err != nil {
					t.Fatal(err)
				}
				return got.Corrupted != 0 || got.Packets+dropped+refused == sent
			})
			if allTaken && got.Packets == had {
				t.Errorf("%d bytes: none of %d came, and the link took all", n, frames)
				break
			}
		}
		// What has a wrong sum counts as dropped by the socket.
		if got.Packets < frames/2 || got.Packets < (sent-refused)/2 || got.Corrupted != 0 {
			t.Errorf("%d bytes: %+v of %d, %d refused by the link, %d dropped", n, got, sent, refused, dropped)
		}
	}
}

// inSender is how many frames the sender's interface has refused.
func inSender(l *ladder) (n uint64, ok bool) {
	l.t.Helper()
	_ = l.pair.TG.Netns.Do(func() error {
		c := redirected(l.pair.TG.Dev)
		n, ok = c.notTaken,
			c.countsNotTaken
		return nil
	})
	return n, ok
}

// On each rung the account closes with IPv6, too.
func TestIntegrationLedgerOfIPv6(t *testing.T) {
	type opened interface {
		Read() []Counts
		Close() error
	}
	for what, open := range map[string]func(l *ladder) (opened, error){
		"native":  func(l *ladder) (opened, error) { return openRung6(l, Options{Touch: TouchRead}) },
		"parse":   func(l *ladder) (opened, error) { return openRung6(l, Options{Touch: TouchParse}) },
		"generic": func(l *ladder) (opened, error) { return openRung6(l, Options{Attach: Generic}) },
		"tx": func(l *ladder) (opened,
			error) {
			return openRung6(l, Options{Action: TX, Touch: TouchSwapMACs})
		},
		"ingress":    func(l *ladder) (opened, error) { return openIngress(l.pair.SUT.Dev, l.Tuples) },
		"prerouting": func(l *ladder) (opened, error) { return openPrerouting(l.Tuples) },
	} {
		t.Run(what, func(t *testing.T) {
			l := newLadder6(t)
			l.Ports = 3
			r := in(t, l.pair.SUT.Netns, func() (opened, error) { return open(l) })
			defer r.Close()
			before, known := inSender(l)
			if !known {
				t.Skip("this kernel's veth does not count what it refuses")
			}
			g := l.generator(GeneratorOptions{Frames: someFrames})
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			after, _ := inSender(l)
			waitFor(t, "all frames", func() bool { return framesOf(r.Read)()+after-before == someFrames })
			l.talk() // others pass
			if all := Sum(r.Read()); all.Frames == 0 || all.Bytes != all.Frames*uint64(l.shortest()) ||
				all.Others == 0 {
				t.Errorf("%s", cmp.Diff(Counts{}, all))
			}
		})
	}
}

func openRung6(l *ladder, o Options) (*Rung, error) {
	o.Dev, o.Tuples, o.FrameBytes = l.pair.SUT.Dev, l.Tuples, l.shortest()
	return OpenRung(o)
}
