// SPDX-License-Identifier: MIT

package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
)

// Sizes of frames, without the checksum that the NIC adds.
const (
	HeaderBytes   = 42 // Ethernet, IPv4, UDP
	Header6Bytes  = 62 // the same with IPv6
	MinFrameBytes = 60 // the shortest of Ethernet; number and tag fit
	maxFrameBytes = stream.MaxFramePayload + HeaderBytes

	ethernetBytes = 14
	udpBytes      = 8
	tagBytes      = 12 // number and tag, which stand behind the headers
)

// Tuples are the generator's flows: UDP over IPv4 or IPv6, told apart by their source ports.
type Tuples struct {
	Source, Dest netip.Addr
	FirstPort    uint16 // of the sources, which follow on each other
	Ports        int    // how many; 0: one
	DestPort     uint16
}

// twoHosts is what frames need.
const twoHosts = "frames need two hosts: namespaces joined by a veth, as zcbench demo makes them, or two machines"

// check refuses what is no such flow, or none that one host sends to another.
func (t Tuples) check() error {
	for _, a := range []netip.Addr{t.Source, t.Dest} {
		switch {
		case !a.IsValid() || a.Unmap().Is4() == t.v6():
			return &fault.Error{Op: fmt.Sprintf("frames from %v to %v: want two addresses of IPv4, or two of IPv6",
				t.Source, t.Dest), How: "give both hosts addresses of one family"}
		case t.v6() && a.IsLinkLocalUnicast():
			return &fault.Error{Op: fmt.Sprintf(
				"frames from %v to %v: addresses of a link alone are those of any of a host's interfaces", t.Source,
				t.Dest), How: "give them global or unique local ones"}
		case a.IsUnspecified(), a.IsMulticast(), a.IsLoopback(),
			a.Unmap() == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
			return &fault.Error{Op: fmt.Sprintf("frames from %v to %v: want the addresses of two hosts", t.Source,
				t.Dest), How: twoHosts}
		}
	}
	switch {
	case t.Source.Unmap() == t.Dest.Unmap():
		return &fault.Error{Op: fmt.Sprintf("frames from %v to itself would never leave the host", t.Source),
			How: twoHosts}
	case t.FirstPort == 0 || t.DestPort == 0:
		return errors.New("frames from or to port 0: want another port")
	case t.Ports < 0 || t.Ports > stream.MaxTuples || int(t.FirstPort)+t.ports()-1 > 0xffff:
		return fmt.Errorf("%d flows from port %d on: want 1 to %d, and no port above 65535", t.Ports, t.FirstPort,
			stream.MaxTuples)
	}
	return nil
}

func (t Tuples) ports() int { return max(t.Ports, 1) }

// v6 reports whether they are IPv6.
func (t Tuples) v6() bool { return t.Dest.IsValid() && !t.Dest.Unmap().Is4() }

// HeaderBytes returns how long the headers of a frame are.
func (t Tuples) HeaderBytes() int {
	if t.v6() {
		return Header6Bytes
	}
	return HeaderBytes
}

// constants sets those of frames.h.
func (t Tuples) constants() map[string]any {
	return map[string]any{
		framesVarTupleV6: boolByte(t.v6()), framesVarTupleAddresses: t.addresses(),
		framesVarTupleDestPort:  binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, t.DestPort)),
		framesVarTupleFirstPort: t.FirstPort, framesVarTuplePorts: uint16(t.ports()),
	}
}

// addresses packs the source and the destination as the machine reads them from a packet, where one
// stands behind the other; those of IPv4 fill the first word.
func (t Tuples) addresses() (w [4]uint64) {
	var b [32]byte
	copy(b[copy(b[:], t.Source.Unmap().AsSlice()):], t.Dest.Unmap().AsSlice())
	for i := range w {
		w[i] = binary.NativeEndian.Uint64(b[8*i:])
	}
	return w
}

func boolByte(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// checkFrameBytes refuses frames that the generator cannot make, or an interface not carry.
func (t Tuples) checkFrameBytes(n, mtu int) error {
	least := MinFrameBytes
	if t.v6() {
		least = Header6Bytes + stream.MinDatagramBytes
	}
	switch {
	case n < least || n > maxFrameBytes:
		return &fault.Error{Op: fmt.Sprintf("frames of %d bytes: want %d to %d", n, least, maxFrameBytes),
			How: "take another --message-size: the headers come to it"}
	case n-ethernetBytes > mtu:
		return &fault.Error{Op: fmt.Sprintf("frames of %d bytes: the interface's MTU %d carries %d", n, mtu,
			mtu+ethernetBytes), How: "take a smaller --message-size, or a larger --mtu"}
	}
	return nil
}
