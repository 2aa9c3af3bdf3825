// SPDX-License-Identifier: MIT

package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// Sizes of frames, without the checksum that the NIC adds.
const (
	HeaderBytes   = 42 // Ethernet, IPv4, UDP
	MinFrameBytes = 60 // the shortest of Ethernet; number and tag fit
	MaxFrameBytes = stream.MaxFramePayload + HeaderBytes
)

// Tuples are the generator's flows: UDP over IPv4, told apart by their source ports.
type Tuples struct {
	Source, Dest netip.Addr
	FirstPort    uint16 // of the sources, which follow on each other
	Ports        int    // how many; 0: one
	DestPort     uint16
}

// check refuses what is no such flow, or none that one host sends to another.
func (t Tuples) check() error {
	for _, a := range []netip.Addr{t.Source, t.Dest} {
		switch {
		case !a.Unmap().Is4():
			return fmt.Errorf("frames from %v to %v: the generator makes IPv4: give the interfaces IPv4 addresses", t.Source, t.Dest)
		case a.IsUnspecified(), a.IsMulticast(), a.IsLoopback(), a.Unmap() == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
			return fmt.Errorf("frames from %v to %v: want the addresses of two hosts", t.Source, t.Dest)
		}
	}
	switch {
	case t.Source.Unmap() == t.Dest.Unmap():
		return fmt.Errorf("frames from %v to itself would never leave the host", t.Source)
	case t.FirstPort == 0 || t.DestPort == 0:
		return errors.New("frames from or to port 0: want another port")
	case t.Ports < 0 || t.Ports > stream.MaxTuples || int(t.FirstPort)+t.ports()-1 > 0xffff:
		return fmt.Errorf("%d flows from port %d on: want 1 to %d, and no port above 65535", t.Ports, t.FirstPort, stream.MaxTuples)
	}
	return nil
}

func (t Tuples) ports() int { return max(t.Ports, 1) }

// constants are those of frames.h.
func (t Tuples) constants() map[string]any {
	return map[string]any{
		framesVarTupleSource: network32(t.Source), framesVarTupleDest: network32(t.Dest),
		framesVarTupleDestPort:  binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, t.DestPort)),
		framesVarTupleFirstPort: t.FirstPort, framesVarTuplePorts: uint16(t.ports()),
	}
}

// network32 is an address as the machine reads it from a packet.
func network32(a netip.Addr) uint32 {
	b := a.Unmap().As4()
	return binary.NativeEndian.Uint32(b[:])
}

// filter is a program of a socket of UDP, which sees the datagram from the header of UDP on: by
// the source's address and port. The rest the socket's own address tells.
func (t Tuples) filter() *unix.SockFprog {
	const ipSource = 1<<32 - 0x100000 + 12 // SKF_NET_OFF (include/uapi/linux/filter.h)
	source := t.Source.Unmap().As4()
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: ipSource},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: binary.BigEndian.Uint32(source[:]), Jf: 4},
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: uint32(t.FirstPort), Jf: 2},
		{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: uint32(t.FirstPort) + uint32(t.ports()) - 1, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18}, // bytes: all of it
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	return &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
}

// frame is a frame of the first flow: its headers, number 0 and tag.
func (t Tuples) frame(source, dest net.HardwareAddr, n int, tag uint32) []byte {
	b := make([]byte, n)
	copy(b, dest)
	copy(b[6:], source)
	binary.BigEndian.PutUint16(b[12:], 0x0800)
	ip := b[14:34]
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[2:], uint16(n-14))
	binary.BigEndian.PutUint16(ip[6:], 0x4000) // not to be fragmented
	ip[8], ip[9] = 64, 17
	s, d := t.Source.Unmap().As4(), t.Dest.Unmap().As4()
	copy(ip[12:], s[:])
	copy(ip[16:], d[:])
	binary.BigEndian.PutUint16(ip[10:], checksum(ip))
	binary.BigEndian.PutUint16(b[34:], t.FirstPort)
	binary.BigEndian.PutUint16(b[36:], t.DestPort)
	binary.BigEndian.PutUint16(b[38:], uint16(n-34))
	binary.BigEndian.PutUint32(b[50:], tag)
	return b
}

// checksum is that of an IPv4 header whose own is 0.
func checksum(header []byte) uint16 {
	var sum uint32
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// checkFrameBytes refuses frames that the generator cannot make, or an interface not carry.
func checkFrameBytes(n, mtu int) error {
	switch {
	case n < MinFrameBytes || n > MaxFrameBytes:
		return fmt.Errorf("frames of %d bytes: want %d to %d", n, MinFrameBytes, MaxFrameBytes)
	case n-14 > mtu:
		return fmt.Errorf("frames of %d bytes: the interface's MTU %d carries %d", n, mtu, mtu+14)
	}
	return nil
}
