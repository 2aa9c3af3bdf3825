// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Addr is an address of an interface.
type Addr struct {
	Index  int // of the interface
	Prefix netip.Prefix
}

func family(a netip.Addr) byte {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// AddAddr gives an interface an address. flags are IFA_F_*.
func (c *Conn) AddAddr(index int, p netip.Prefix, flags uint32) error {
	a := p.Addr()
	h := make([]byte, unix.SizeofIfAddrmsg)
	h[0], h[1], h[2] = family(a), byte(p.Bits()), byte(flags)
	binary.NativeEndian.PutUint32(h[4:], uint32(index))
	_, err := c.ask(unix.RTM_NEWADDR, netlink.Acknowledge|netlink.Create|netlink.Excl, h,
		func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.IFA_LOCAL, a.AsSlice())
			ae.Bytes(unix.IFA_ADDRESS, a.AsSlice())
			ae.Uint32(unix.IFA_FLAGS, flags)
			if a.Is4() && p.Bits() < 31 {
				ae.Bytes(unix.IFA_BROADCAST, broadcast(p))
			}
		})
	return err
}

// broadcast computes the last address of an IPv4 network.
func broadcast(p netip.Prefix) []byte {
	b := p.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])|(1<<(32-p.Bits())-1))
	return b[:]
}

// Addrs lists the addresses of all interfaces, IPv4 first.
func (c *Conn) Addrs() ([]Addr, error) {
	var out []Addr
	for _, f := range []byte{unix.AF_INET, unix.AF_INET6} {
		h := make([]byte, unix.SizeofIfAddrmsg)
		h[0] = f
		msgs, err := c.ask(unix.RTM_GETADDR, netlink.Dump, h, nil)
		if err != nil {
			return nil, remedy.Error(remedy.AddrGet, "list addresses", err, remedy.On{})
		}
		for _, m := range msgs {
			a, err := parseAddr(m.Data)
			if err != nil {
				return nil, err
			}
			// A kernel without a family answers for all that it has.
			if a.Prefix.IsValid() && family(a.Prefix.Addr()) == f {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// parseAddr reads the body of an RTM_NEWADDR message. The local address of a
// point-to-point link is ours, the other the peer's.
func parseAddr(b []byte) (Addr, error) {
	if len(b) < unix.SizeofIfAddrmsg {
		return Addr{}, fmt.Errorf("the kernel's message of an address has %d bytes", len(b))
	}
	a := Addr{Index: int(binary.NativeEndian.Uint32(b[4:]))}
	ad, err := netlink.NewAttributeDecoder(b[unix.SizeofIfAddrmsg:])
	if err != nil {
		return a, fmt.Errorf("the kernel's message of an address: %w", err)
	}
	var ip netip.Addr
	local := false
	for ad.Next() {
		switch t := ad.Type(); t {
		case unix.IFA_LOCAL, unix.IFA_ADDRESS:
			if x, ok := netip.AddrFromSlice(ad.Bytes()); ok && !local {
				ip, local = x, t == unix.IFA_LOCAL
			}
		}
	}
	a.Prefix = netip.PrefixFrom(ip, int(b[1]))
	return a, ad.Err()
}

// Addrs calls [Conn.Addrs] in the calling thread's network namespace.
func Addrs() ([]Addr, error) { return once((*Conn).Addrs) }
