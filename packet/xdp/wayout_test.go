// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
)

// third is a veth link from the receiver's namespace to one of its own, where a program takes the
// frames.
type third struct {
	out, far string
	ns       *veth.Netns
}

func newThird(l *ladder) third {
	l.t.Helper()
	ns, err := veth.NewNetns()
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { ns.Close() })
	x := third{"zcout", "zcfar", ns}
	in(l.t, l.pair.SUT.Netns, func() (any, error) {
		c, err := rtnl.Dial()
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return nil, c.AddVeth(rtnl.VethEnd{Name: x.out, MTU: 1500}, rtnl.VethEnd{Name: x.far, MTU: 1500}, ns.Fd())
	})
	return x
}

// up sets an end up, and has it say nothing by itself.
func (x third) up(t testing.TB, ns *veth.Netns, dev string) {
	t.Helper()
	in(t, ns, func() (any, error) {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0o644)
		if errors.Is(err, os.ErrNotExist) {
			err = nil // a kernel without IPv6
		}
		c, derr := rtnl.Dial()
		if derr != nil {
			return nil, derr
		}
		defer c.Close()
		l, lerr := c.Named(dev)
		if lerr != nil {
			return nil, lerr
		}
		return nil, errors.Join(err, c.SetUp(l.Index, true))
	})
}

// Frames leave by another interface that is named: what its tx counters say left has come, and what
// they say was dropped is lost, to the last frame. At its far end they are all there.
func TestIntegrationFramesLeaveByAnother(t *testing.T) {
	l := newLadder(t)
	x := newThird(l)
	r, err := newReceiver("xdp-redirect", way{xdp: true, action: toCPU})(stream.Options{MessageBytes: 18,
		Frames: stream.Frames{Redirect: "dev:" + x.out}, NIC: stream.NICQueue{Dev: l.pair.SUT.Dev}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.frameBytes = l.shortest()
	place := func() (err error) {
		in(t, l.pair.SUT.Netns, func() (any, error) {
			err = r.place(l.Tuples)
			return nil, nil
		})
		return err
	}
	refused := func(want string) {
		t.Helper()
		err := place()
		if err == nil || !strings.Contains(err.Error(), want) || fault.Fix(err) == "" {
			t.Errorf("%v (%s), want %q", err, fault.Fix(err), want)
		}
	}
	refused("it is down")
	x.up(t, l.pair.SUT.Netns, x.out)
	refused("it has no carrier")
	x.up(t, x.ns, x.far)
	refused("no frames redirected") // its peer has no NAPI
	far := in(t, x.ns, func() (*Rung, error) {
		return OpenRung(Options{Dev: x.far, Tuples: l.Tuples, FrameBytes: MinFrameBytes, Touch: TouchRead})
	})
	defer far.Close()
	if err := place(); err != nil {
		t.Fatal(err)
	}
	g, m := l.generator(GeneratorOptions{Frames: someFrames}), &stream.Meter{}
	in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
	if err := r.settle(&stream.Conn{Sent: someFrames}, m); err != nil {
		t.Fatal(err)
	}
	lost, came, there := uint64(0), m.Snapshot().Packets, framesOf(far.Read)()
	for _, f := range r.Evidence().Lost {
		lost += uint64(f.Value)
	}
	if came == 0 || came != there || came+lost != r.counted.Frames {
		t.Errorf("%d left, %d are at the far end, %d lost, of %d", came, there, lost, r.counted.Frames)
	}
	t.Logf("%d left, %d were dropped", came, lost)
}

// say sends packets that are nobody's frames by an interface of the calling thread's namespace.
func say(dev string, packets int) error {
	l, err := rtnl.LinkNamed(dev)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b := make([]byte, MinFrameBytes)
	copy(b, []byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5}) // EtherType for experiments
	for range packets {
		if err := unix.Sendto(fd, b, 0, &unix.SockaddrLinklayer{Ifindex: l.Index}); err != nil {
			return err
		}
	}
	return nil
}

// Packets of others that leave by the same interface stand for no frame that was lost there: a veth
// tells them apart, and where it is not asked, since generic XDP's frames leave as theirs do, it is
// said how many there were at least.
func TestIntegrationOthersLeaveByTheSame(t *testing.T) {
	const others = 1000
	for _, attach := range []string{"native", "generic"} {
		l := newLadder(t)
		x := newThird(l)
		x.up(t, l.pair.SUT.Netns, x.out)
		x.up(t, x.ns, x.far)
		far := in(t, x.ns, func() (*Rung, error) {
			return OpenRung(Options{Dev: x.far, Tuples: l.Tuples, FrameBytes: MinFrameBytes, Touch: TouchRead})
		})
		defer far.Close()
		r, err := newReceiver("xdp-redirect", way{xdp: true, action: toCPU})(stream.Options{MessageBytes: 18,
			Frames: stream.Frames{Redirect: "dev:" + x.out, Attach: attach}, NIC: stream.NICQueue{Dev: l.pair.SUT.Dev}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		r.frameBytes = l.shortest()
		in(t, l.pair.SUT.Netns, func() (any, error) { return nil, r.place(l.Tuples) })
		if attach == "native" {
			far.Close() // and its peer has no NAPI any more: what is redirected is gone, and nothing counts it
		}
		in(t, l.pair.SUT.Netns, func() (any, error) { return nil, say(x.out, others) })
		g, m := l.generator(GeneratorOptions{Frames: someFrames}), &stream.Meter{}
		in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
		if err := r.settle(&stream.Conn{Sent: someFrames}, m); err != nil {
			t.Fatal(err)
		}
		e, told := r.Evidence(), 0.
		for _, f := range e.Figures {
			if f.Name == stream.PacketsOfOthers {
				told = f.Value
			}
		}
		switch came := m.Snapshot().Packets; attach {
		case "native":
			if came != 0 || r.counted.Frames == 0 || r.after.left < others || told != 0 || len(e.Notes) != 1 ||
				!strings.Contains(e.Notes[0], x.out) {
				t.Errorf("%d of %d frames came; %+v, %q", came, r.counted.Frames, r.after, e.Notes)
			}
		default:
			if came == 0 || told == 0 || told > others || len(e.Notes) != 0 {
				t.Errorf("generic: %d of %d frames came; others %g of %d; %q", came, r.counted.Frames, told, others,
					e.Notes)
			}
		}
	}
}

// An interface by which frames cannot leave is refused, as is the one by which they come.
func TestWayOutRefused(t *testing.T) {
	for name, want := range map[string]string{"lo": "loopback", "zc-no-such": "zc-no-such"} {
		if _, err := wayOut(name); err == nil || !strings.Contains(err.Error(), want) || fault.Fix(err) == "" {
			t.Errorf("%s: %v (%s)", name, err, fault.Fix(err))
		}
	}
	_, err := newReceiver("xdp-redirect", way{xdp: true, action: toCPU})(stream.Options{MessageBytes: 18,
		Frames: stream.Frames{Redirect: "dev:eth0"}, NIC: stream.NICQueue{Dev: "eth0"}})
	if err == nil || !strings.Contains(fault.Fix(err), "xdp_redirect dev") {
		t.Errorf("the one by which they come: %v (%s)", err, fault.Fix(err))
	}
	for _, x := range []struct {
		out, touch string
		want       Touch
	}{{"dev", "", TouchSwapMACs}, {"dev:eth1", "", TouchRead}, {"dev:eth1", "swap-macs", TouchSwapMACs},
		{"dev:eth1", "none", TouchNone}} {
		r, err := newReceiver("xdp-redirect", way{xdp: true, action: toCPU})(stream.Options{MessageBytes: 18,
			Frames: stream.Frames{Redirect: x.out, Touch: x.touch}, NIC: stream.NICQueue{Dev: "eth0"}})
		if err != nil || r.touch != x.want {
			t.Errorf("%s, touch %q: %v, want %v (%v)", x.out, x.touch, r, x.want, err)
		}
	}
}
