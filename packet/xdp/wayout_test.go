// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"os"
	"strings"
	"testing"

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
	r, err := newReceiver("xdp-redirect", way{xdp: true, action: ToCPU})(stream.Options{MessageBytes: 18, Frames: stream.Frames{Redirect: "dev:" + x.out}, NIC: stream.NICQueue{Dev: l.pair.SUT.Dev}})
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

// An interface by which frames cannot leave is refused, as is the one by which they come.
func TestWayOutRefused(t *testing.T) {
	for name, want := range map[string]string{"lo": "loopback", "zc-no-such": "zc-no-such"} {
		if _, err := wayOut(name); err == nil || !strings.Contains(err.Error(), want) || fault.Fix(err) == "" {
			t.Errorf("%s: %v (%s)", name, err, fault.Fix(err))
		}
	}
	_, err := newReceiver("xdp-redirect", way{xdp: true, action: ToCPU})(stream.Options{MessageBytes: 18, Frames: stream.Frames{Redirect: "dev:eth0"}, NIC: stream.NICQueue{Dev: "eth0"}})
	if err == nil || !strings.Contains(fault.Fix(err), "xdp_redirect dev") {
		t.Errorf("the one by which they come: %v (%s)", err, fault.Fix(err))
	}
	for _, x := range []struct {
		out, touch string
		want       Touch
	}{{"dev", "", TouchSwapMACs}, {"dev:eth1", "", TouchRead}, {"dev:eth1", "swap-macs", TouchSwapMACs}, {"dev:eth1", "none", TouchNone}} {
		r, err := newReceiver("xdp-redirect", way{xdp: true, action: ToCPU})(stream.Options{MessageBytes: 18, Frames: stream.Frames{Redirect: x.out, Touch: x.touch}, NIC: stream.NICQueue{Dev: "eth0"}})
		if err != nil || r.touch != x.want {
			t.Errorf("%s, touch %q: %v, want %v (%v)", x.out, x.touch, r, x.want, err)
		}
	}
}
