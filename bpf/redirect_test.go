// SPDX-License-Identifier: MIT

package bpf

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"golang.org/x/sys/unix"
)

// packetTo makes the headers of a packet to a port; options are bytes of IPv4's between them.
func packetTo(to netip.AddrPort, protocol byte, options int) []byte {
	eth := make([]byte, 12, 128)
	if to.Addr().Is4() {
		ip := make([]byte, 20+options)
		ip[0], ip[8], ip[9] = 0x40|byte(len(ip)/4), 64, protocol
		copy(ip[12:], []byte{10, 0, 0, 9})
		copy(ip[16:], to.Addr().AsSlice())
		eth = append(append(eth, 0x08, 0x00), ip...)
	} else {
		ip := make([]byte, 40)
		ip[0], ip[6], ip[7] = 0x60, protocol, 64
		copy(ip[24:], to.Addr().AsSlice())
		eth = append(append(eth, 0x86, 0xdd), ip...)
	}
	tcp := make([]byte, 20)
	binary.BigEndian.PutUint16(tcp, 40000)
	binary.BigEndian.PutUint16(tcp[2:], to.Port())
	return append(eth, tcp...)
}

// Only what is for the container's own address and port goes to it: the same port of another
// address is the host's, or of what the host forwards for.
func TestRedirected(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: loads eBPF programs")
	}
	const tcp, udp, next, redirect = 6, 17, 1<<32 - 1, 7 // TCX_NEXT, TCX_REDIRECT
	four, six := netip.MustParseAddrPort("10.0.0.1:7717"), netip.MustParseAddrPort("[fd00::1]:7717")
	for _, at := range []netip.AddrPort{four, six} {
		s, err := newSet(loadRedirect, RedirectOptions{NIC: 1, Primary: 2, At: at}.vars())
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		p, err := s.program("to_container", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			to       string
			protocol byte
			options  int
		}{{at.String(), tcp, 0}, {"10.0.0.1:7717", tcp, 40}, {"10.0.0.2:7717", tcp, 0}, {"[fd00::2]:7717", tcp, 0},
			{"[fd00:0:0:1::1]:7717", tcp, 0}, {"10.0.0.1:7718", tcp, 0}, {"[fd00::1]:7718", tcp, 0},
			{at.String(), udp, 0}, {"10.0.0.1:7717", tcp, 0}, {"[fd00::1]:7717", tcp, 0}} {
			to := netip.MustParseAddrPort(x.to)
			want := uint32(next)
			if to == at && x.protocol == tcp {
				want = redirect
			}
			if got, _, err := p.Test(packetTo(to, x.protocol, x.options)); err != nil || got != want {
				t.Errorf("%v: protocol %d to %v, %d bytes of options: %d, %v, want %d", at, x.protocol, to, x.options,
					got, err, want)
			}
		}
	}
}

// What comes tagged for a VLAN is of another network, where the container's address may be another
// host's: it stays. A tag that has a priority and no VLAN changes nothing.
func TestRedirectedOfVLAN(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: loads eBPF programs")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	ct, err := veth.NewNetns()
	if err != nil {
		t.Fatal(err)
	}
	defer ct.Close()
	const next = -1 // TCX_NEXT: a kernel without tcx is skipped here, by a program that does nothing
	vethtest.Attach(t, pair.SUT, ebpf.AttachTCXIngress, asm.Instructions{asm.Mov.Imm(asm.R0, next), asm.Return()})
	at := netip.MustParseAddrPort("10.0.0.1:7717")
	if err := pair.SUT.Netns.Do(func() error { return redirectInto(t, pair.SUT.Dev, ct, at) }); err != nil {
		t.Fatal(err)
	}
	got := capture(t, ct, "p1")
	for _, x := range []struct {
		tag  []byte
		from uint16
	}{{[]byte{0x81, 0, 0, 7}, 7}, {[]byte{0x81, 0, 0xa0, 0}, 8}, {[]byte{0x88, 0xa8, 0, 9}, 9}, {nil, 10}} {
		frame := packetTo(at, 6, 0)
		binary.BigEndian.PutUint16(frame[14+20:], x.from)
		sendFrame(t, pair.TG, slices.Concat(frame[:12], x.tag, frame[12:]))
	}
	for _, want := range []uint16{8, 10} { // those before them have come by then, if at all
		if from := got(); from != want {
			t.Errorf("the container got frame %d, want %d", from, want)
		}
	}
}

// redirectInto joins the calling thread's namespace to a container's, as a pair would that has the
// end p1 there, and passes on what comes by an interface.
func redirectInto(t *testing.T, dev string, ct *veth.Netns, at netip.AddrPort) error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddVeth(rtnl.VethEnd{Name: "p0", MTU: 1500}, rtnl.VethEnd{Name: "p1", MTU: 1500}, ct.Fd()); err != nil {
		return err
	}
	if err := ct.Do(func() error { return vethtest.Up("p1") }); err != nil {
		return err
	}
	if err := vethtest.Up("p0"); err != nil {
		return err
	}
	nic, err := c.Named(dev)
	if err != nil {
		return err
	}
	primary, err := c.Named("p0")
	if err != nil {
		return err
	}
	s, err := newSet(loadRedirect, RedirectOptions{NIC: nic.Index, Primary: primary.Index, At: at}.vars())
	if err != nil {
		return err
	}
	r := &Redirection{s}
	t.Cleanup(func() { r.Close() })
	return r.attach("to_container", r.toContainer(nic.Index))
}

// capture returns what waits for the next frame of ours that comes by an interface, and tells the
// port that it is from.
func capture(t *testing.T, ns *veth.Netns, dev string) func() uint16 {
	fd := -1
	err := ns.Do(func() error {
		l, err := rtnl.LinkNamed(dev)
		if err != nil {
			return err
		}
		const all = 0x0300 // ETH_P_ALL, as of the network
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all); err != nil {
			return err
		}
		return errors.Join(unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: l.Index}),
			unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 60}))
	})
	if fd >= 0 {
		t.Cleanup(func() { unix.Close(fd) })
	}
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2048)
	return func() uint16 {
		for {
			n, err := unix.Read(fd, b)
			if err != nil {
				t.Fatalf("no frame came: %v", err)
			}
			if n >= 54 && b[12] == 0x08 && b[13] == 0 && b[23] == 6 {
				return binary.BigEndian.Uint16(b[34:])
			}
		}
	}
}

func sendFrame(t *testing.T, from veth.End, frame []byte) {
	t.Helper()
	err := from.Netns.Do(func() error {
		l, err := rtnl.LinkNamed(from.Dev)
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: l.Index, Halen: 6})
	})
	if err != nil {
		t.Fatal(err)
	}
}
