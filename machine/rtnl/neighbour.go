// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// usable are the states of a neighbour whose address on the link is known (NUD_VALID of
// include/net/neighbour.h).
const usable = unix.NUD_PERMANENT | unix.NUD_NOARP | unix.NUD_REACHABLE | unix.NUD_PROBE |
	unix.NUD_STALE | unix.NUD_DELAY

// Neighbour looks up the link address of a host that an interface reaches without a router;
// unix.ENOENT where the kernel does not know it, or not yet: who sends something there makes it
// ask.
func (c *Conn) Neighbour(index int, ip netip.Addr) (net.HardwareAddr, error) {
	ip = ip.WithZone("").Unmap()
	h := make([]byte, unix.SizeofNdMsg)
	h[0] = family(ip)
	binary.NativeEndian.PutUint32(h[4:], uint32(index))
	msgs, err := c.ask(unix.RTM_GETNEIGH, 0, h,
		func(ae *netlink.AttributeEncoder) { ae.Bytes(unix.NDA_DST, ip.AsSlice()) })
	op, on := fmt.Sprintf("find %v on the link of interface number %d", ip, index),
		remedy.On{Remote: netip.AddrPortFrom(ip, 0)}
	if err != nil {
		return nil, remedy.Error(remedy.NeighGet, op, err, on)
	}
	for _, m := range msgs {
		mac, err := parseNeighbour(m.Data)
		if err != nil || mac != nil {
			return mac, err
		}
	}
	return nil, remedy.Error(remedy.NeighGet, op, unix.ENOENT, on)
}

// parseNeighbour reads the body of an RTM_NEWNEIGH message; nil is one whose address is not
// known.
func parseNeighbour(b []byte) (net.HardwareAddr, error) {
	if len(b) < unix.SizeofNdMsg {
		return nil, fmt.Errorf("the kernel's message of a neighbour has %d bytes", len(b))
	}
	if binary.NativeEndian.Uint16(b[8:])&usable == 0 {
		return nil, nil
	}
	ad, err := netlink.NewAttributeDecoder(b[unix.SizeofNdMsg:])
	if err != nil {
		return nil, fmt.Errorf("the kernel's message of a neighbour: %w", err)
	}
	var mac net.HardwareAddr
	for ad.Next() {
		if a := ad.Bytes(); ad.Type() == unix.NDA_LLADDR && len(a) == 6 {
			mac = a
		}
	}
	return mac, ad.Err()
}
