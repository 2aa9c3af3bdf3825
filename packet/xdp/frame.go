// SPDX-License-Identifier: MIT

package xdp

import (
	"encoding/binary"
	"net"
)

// frame builds a frame of the first flow: its headers, number 0 and tag.
func (t Tuples) frame(source, dest net.HardwareAddr, n int, tag uint32) []byte {
	b := make([]byte, n)
	copy(b, dest)
	copy(b[6:], source)
	ip, udp := b[ethernetBytes:], b[t.HeaderBytes()-udpBytes:]
	s, d := t.Source.Unmap().AsSlice(), t.Dest.Unmap().AsSlice()
	if t.v6() {
		binary.BigEndian.PutUint16(b[12:], 0x86dd)
		ip[0], ip[6], ip[7] = 0x60, 17, 64
		binary.BigEndian.PutUint16(ip[4:], uint16(len(udp)))
		copy(ip[8:], s)
		copy(ip[24:], d)
	} else {
		binary.BigEndian.PutUint16(b[12:], 0x0800)
		ip[0] = 0x45
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		binary.BigEndian.PutUint16(ip[6:], 0x4000) // not to be fragmented
		ip[8], ip[9] = 64, 17
		copy(ip[12:], s)
		copy(ip[16:], d)
		binary.BigEndian.PutUint16(ip[10:], ^uint16(onesSum(ip[:20])))
	}
	binary.BigEndian.PutUint16(udp, t.FirstPort)
	binary.BigEndian.PutUint16(udp[2:], t.DestPort)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	binary.BigEndian.PutUint32(udp[udpBytes+8:], tag)
	if t.v6() {
		// That of IPv4 may be left out (RFC 768), that of IPv6 not (RFC 8200, 8.1).
		binary.BigEndian.PutUint16(udp[6:], notZero(^uint16(t.udpSum(udp))))
	}
	return b
}

// udpSum sums an IPv6 datagram and its pseudo header for the checksum.
func (t Tuples) udpSum(udp []byte) uint32 {
	pseudo := append(t.Source.Unmap().AsSlice(), t.Dest.Unmap().AsSlice()...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(udp)))
	pseudo = append(pseudo, 0, 0, 0, 17)
	return onesSum(pseudo, udp)
}

// baseSum sums what all frames like this one share, as the machine reads it: without port, number
// and checksum, which differ. It is 0 for IPv4.
func (t Tuples) baseSum(frame []byte) uint32 {
	if !t.v6() {
		return 0
	}
	udp := append([]byte(nil), frame[Header6Bytes-udpBytes:]...)
	clear(udp[:2])
	clear(udp[6 : udpBytes+8])
	return uint32(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, uint16(t.udpSum(udp)))))
}

func notZero(sum uint16) uint16 {
	if sum == 0 {
		return 0xffff
	}
	return sum
}

// onesSum adds 16-bit words in ones' complement (RFC 1071), at most 0xffff.
func onesSum(parts ...[]byte) (sum uint32) {
	for _, b := range parts {
		for ; len(b) > 1; b = b[2:] {
			sum += uint32(binary.BigEndian.Uint16(b))
		}
		if len(b) == 1 {
			sum += uint32(b[0]) << 8
		}
		for sum>>16 != 0 {
			sum = sum&0xffff + sum>>16
		}
	}
	return sum
}
