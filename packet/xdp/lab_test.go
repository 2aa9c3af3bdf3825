// SPDX-License-Identifier: MIT

package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
)

// inLab is the ladder between the lab's two hosts, whose NICs are no veths.
func inLab(t *testing.T) *ladder {
	t.Helper()
	p := &veth.Pair{}
	for i, e := range []*veth.End{&p.SUT, &p.TG} {
		ns, err := veth.OpenNetns("/run/netns/" + guest.Ends[i].NS)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ns.Close() })
		addr := netip.MustParsePrefix(guest.Ends[i].V4).Addr()
		*e = veth.End{Netns: ns, Dev: guest.Ends[i].Dev, IPv4: net.IP(addr.AsSlice())}
	}
	l := &ladder{t: t, pair: p, Tuples: Tuples{Source: addrOf(p.TG.IPv4), Dest: addrOf(p.SUT.IPv4), FirstPort: 40000,
		DestPort: 7719}}
	l.talk()
	return l
}

// labFrames is how many datagrams a rung of the lab gets: it is emulated.
const labFrames = 600

// datagrams sends some as sockets do, each with number and tag, a few at a time: no more than
// have come are on their way.
func (l *ladder) datagrams(n int, came func() uint64) {
	l.t.Helper()
	in(l.t, l.pair.TG.Netns, func() (any, error) {
		from, to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.Source, l.FirstPort)),
			net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.Dest, l.DestPort))
		c, err := net.DialUDP("udp", from, to)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		b := make([]byte, stream.MinDatagramBytes)
		binary.BigEndian.PutUint32(b[8:], 0x7a6362)
		for i := range n {
			binary.BigEndian.PutUint64(b, uint64(i))
			for { // what a rung sends back, this host refuses by ICMP
				if _, err = c.Write(b); !errors.Is(err, unix.ECONNREFUSED) {
					break
				}
			}
			if err != nil {
				return nil, err
			}
			if i%32 == 31 {
				if !await.So(func() bool { return came() >= uint64(i+1) }) {
					return nil, fmt.Errorf("of %d datagrams %d came", i+1, came())
				}
			}
		}
		return nil, nil
	})
}

// onEach tries every rung of an attachment: each counts each datagram, or hands it on.
func (l *ladder) onEach(t *testing.T, at Attach) {
	o := func(a Action, touch Touch) Options {
		return Options{Dev: l.pair.SUT.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes, Action: a, Touch: touch,
			Attach: at}
	}
	for _, o := range []Options{o(Drop, TouchRead), o(Drop, TouchParse), o(Pass, TouchRead), o(TX, TouchSwapMACs),
		o(toCPU, TouchRead)} {
		t.Run(fmt.Sprintf("%v %v", o.Action, o.Touch), func(t *testing.T) {
			r := in(t, l.pair.SUT.Netns, func() (*Rung, error) { return OpenRung(o) })
			defer r.Close()
			l.again()
			l.datagrams(labFrames, framesOf(r.Read))
			waitFor(t, "all datagrams", func() bool { return framesOf(r.Read)() == labFrames })
			if o.Action == toCPU {
				waitFor(t, "them on the other CPU", func() bool { return framesOf(r.Behind)() == labFrames })
			}
			if all := Sum(r.Read()); all.Missed != 0 || all.Bytes != labFrames*MinFrameBytes {
				t.Errorf("%+v", all)
			}
		})
	}
	t.Run("AF_XDP", func(t *testing.T) { l.bySockets(t, at, "xsk") })
}

// bySockets has sockets of AF_XDP take them. It reports whether they could be had.
func (l *ladder) bySockets(t *testing.T, at Attach, redirect string) bool {
	r, err := newReceiver("xdp-redirect", way{xdp: true, action: toCPU})(stream.Options{
		MessageBytes: stream.MinDatagramBytes, NIC: stream.NICQueue{Dev: l.pair.SUT.Dev},
		Frames: stream.Frames{Redirect: redirect, Attach: at.String()}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.frameBytes = MinFrameBytes
	if err := l.pair.SUT.Netns.Do(func() error { return r.place(l.Tuples) }); err != nil {
		if fault.Fix(err) == "" {
			t.Errorf("no fix: %v", err)
		}
		t.Logf("%v (%s)", err, fault.Fix(err))
		return false
	}
	l.again()
	m := &stream.Meter{}
	l.datagrams(labFrames, func() uint64 { r.takeFrames(m, 0); return m.Snapshot().Packets })
	waitFor(t, "all frames", func() bool { r.takeFrames(m, 0); return m.Snapshot().Packets == labFrames })
	e := r.Evidence()
	if len(e.Lost) != 0 {
		t.Errorf("lost: %+v", e.Lost)
	}
	for _, f := range e.Figures {
		if f.Name == "xsk_zero_copy" && (f.Value == 1) != (redirect == "xsk-zc") {
			t.Errorf("by %s the kernel says that zero copy is %v", redirect, f.Value)
		}
	}
	return true
}

// again waits until the link carries: some drivers begin anew for a program.
func (l *ladder) again() {
	l.t.Helper()
	for _, e := range []veth.End{l.pair.SUT, l.pair.TG} {
		in(l.t, e.Netns, func() (any, error) {
			d, err := nic.Open(e.Dev)
			if err != nil {
				return nil, err
			}
			defer d.Close()
			return nil, d.AwaitCarrier(await.Hang)
		})
	}
}

// The soft NIC's driver has no XDP: native is refused with the fix, generic works on every rung,
// also to AF_XDP.
func TestLabXDPGeneric(t *testing.T) {
	if os.Getenv(guest.Env) == "" || os.Getenv(guest.NICEnv) != "" {
		t.Skip(`needs the lab's soft NIC: go test -exec "$PWD/bin/zcbench lab exec --" -run TestLabXDP ./packet/xdp`)
	}
	long.Test(t)
	l := inLab(t)
	err := l.pair.SUT.Netns.Do(func() error {
		r, err := OpenRung(Options{Dev: l.pair.SUT.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes})
		if err == nil {
			r.Close()
		}
		return err
	})
	if err == nil || fault.Fix(err) == "" {
		t.Errorf("native on a driver without XDP: %v (%s)", err, fault.Fix(err))
	}
	l.onEach(t, Generic)
	for name, open := range map[string]func() (*filter, error){
		"ingress":    func() (*filter, error) { return openIngress(l.pair.SUT.Dev, l.Tuples) },
		"prerouting": func() (*filter, error) { return openPrerouting(l.Tuples) }} {
		t.Run(name, func(t *testing.T) {
			f := in(t, l.pair.SUT.Netns, open)
			defer f.Close()
			l.datagrams(labFrames, framesOf(f.Read))
			waitFor(t, "all datagrams", func() bool { return framesOf(f.Read)() == labFrames })
		})
	}
	t.Run("socket", func(t *testing.T) {
		s := in(t, l.pair.SUT.Netns, func() (*Socket, error) {
			return OpenSocket(l.Tuples, MinFrameBytes, 1<<20,
				Tagged(0x7a6362))
		})
		defer s.Close()
		var got received
		l.datagrams(labFrames, func() uint64 { _ = s.Drain(&got); return got.Packets })
		waitFor(t, "all datagrams", func() bool { _ = s.Drain(&got); return got.Packets == labFrames })
		if got.Corrupted != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// A real driver, of the NIC that QEMU has, runs programs itself.
func TestLabQEMUXDP(t *testing.T) {
	which := os.Getenv(guest.NICEnv)
	if which == "" {
		t.Skip(`needs a NIC of QEMU's: go test -exec "$PWD/bin/zcbench lab exec --nic qemu:virtio --" -run ` +
			`TestLabQEMUXDP ./packet/xdp`)
	}
	long.Test(t)
	l := inLab(t)
	if which != "qemu:virtio" {
		l.onEach(t, Generic) // its driver has no native XDP
		return
	}
	l.onEach(t, Native)
	t.Run("zero copy", func(t *testing.T) {
		for _, e := range []veth.End{l.pair.TG, l.pair.SUT} {
			l.borrow(t, e, "mtu", "1500")
		}
		l.allChannels(t)
		says := in(t, l.pair.SUT.Netns, func() (nic.XDPFeatures, error) {
			d, err := nic.Open(l.pair.SUT.Dev)
			if err != nil {
				return 0, err
			}
			defer d.Close()
			return d.XDPFeatures()
		})
		had := l.bySockets(t, Native, "xsk-zc")
		if had && says&nic.XDPZeroCopy == 0 {
			t.Errorf("its driver says %b, and does it", says)
		}
		bits := in(t, l.pair.SUT.Netns, func() (string, error) {
			d, err := nic.Open(l.pair.SUT.Dev)
			if err != nil {
				return "", err
			}
			defer d.Close()
			return d.SysFile("device/features")
		})
		const platform = 33 // VIRTIO_F_ACCESS_PLATFORM: it is behind an IOMMU, and asks for addresses
		if can := len(bits) > platform && bits[platform] == '1'; can != had {
			t.Errorf("zero copy %v, and the NIC is behind an IOMMU: %v", had, can)
		}
	})
}

// allChannels has the receiver's NIC have as many as it can, so that none is there for programs
// alone, without a socket.
func (l *ladder) allChannels(t *testing.T) {
	t.Helper()
	c := in(t, l.pair.SUT.Netns, func() (nic.Channels, error) {
		d, err := nic.Open(l.pair.SUT.Dev)
		if err != nil {
			return nic.Channels{}, err
		}
		defer d.Close()
		return d.Channels()
	})
	if c.Combined < c.CombinedMax {
		c.Combined = c.CombinedMax
		l.borrow(t, l.pair.SUT, "channels", c.String())
	}
}

// borrow sets what may be set of an end for the test.
func (l *ladder) borrow(t *testing.T, e veth.End, name, value string) {
	t.Helper()
	set := func(v string) (was string) {
		return in(t, e.Netns, func() (string, error) {
			d, err := nic.Open(e.Dev)
			if err != nil {
				return "", err
			}
			defer d.Close()
			s, err := d.Setting(name)
			if err != nil {
				return "", err
			}
			was, err := s.Get()
			return was, errors.Join(err, s.Set(v))
		})
	}
	was := set(value)
	t.Cleanup(func() { set(was) })
}
