// SPDX-License-Identifier: MIT

package bpf

import (
	"encoding/binary"
	"net/netip"
	"os"
	"testing"
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
				t.Errorf("%v: protocol %d to %v, %d bytes of options: %d, %v, want %d", at, x.protocol, to, x.options, got,
					err, want)
			}
		}
	}
}
