// SPDX-License-Identifier: MIT

package gvnic

import (
	"encoding/binary"
	"math/bits"
)

// packetKind is what the device makes out of a packet's headers.
type packetKind uint16

const (
	kindOther packetKind = iota
	kindTCP4
	kindUDP4
	kindTCP6
	kindUDP6
)

func (k packetKind) tcp() bool { return k == kindTCP4 || k == kindTCP6 }
func (k packetKind) v4() bool  { return k == kindTCP4 || k == kindUDP4 }

const (
	etherBytes = 14
	protoTCP   = 6
	protoUDP   = 17
)

// packet is one on its way, whole or still to be cut into segments.
type packet struct {
	data        []byte
	kind        packetKind
	l4, payload int // where its headers are; the first one's at etherBytes
	end         int // of the payload: what follows is padding
}

// parse finds the headers of a packet. One whose headers are not all there, fragments, and what is
// neither TCP nor UDP are of no kind, and all payload.
func parse(b []byte) packet {
	p := packet{data: b, end: len(b)}
	if len(b) < etherBytes {
		return p
	}
	var proto byte
	l4, end, v6 := 0, 0, packetKind(0)
	switch ip := b[etherBytes:]; binary.BigEndian.Uint16(b[12:]) {
	case 0x0800:
		if len(ip) < 20 || ip[0]>>4 != 4 || ip[0]&15 < 5 || be.Uint16(ip[6:])&0x3fff != 0 {
			return p
		}
		proto, l4, end = ip[9], etherBytes+4*int(ip[0]&15), int(be.Uint16(ip[2:]))
		if end > 0 {
			end += etherBytes
		}
	case 0x86dd:
		if len(ip) < 40 || ip[0]>>4 != 6 {
			return p
		}
		proto, l4, end = ip[6], etherBytes+40, int(be.Uint16(ip[4:]))
		if v6 = kindTCP6 - kindTCP4; end > 0 {
			end += l4
		}
	default:
		return p
	}
	payload, kind := 0, kindOther
	switch {
	case proto == protoTCP && len(b) >= l4+20 && b[l4+12]>>4 >= 5:
		payload, kind = l4+4*int(b[l4+12]>>4), kindTCP4
	case proto == protoUDP && len(b) >= l4+8:
		payload, kind = l4+8, kindUDP4
	}
	if end == 0 {
		end = len(b) // big TCP, whose length the field cannot say
	}
	if kind == kindOther || payload > end || end > len(b) || payload > maxHeaders {
		return p
	}
	return packet{data: b, kind: kind + v6, l4: l4, payload: payload, end: end}
}

// maxHeaders is the most that the driver asks to be repeated in segments (GVE_TX_MAX_HDR_SIZE_DQO).
const maxHeaders = 255

// header writes into to the headers of the segment of n bytes of payload, off bytes after the
// packet's first, and returns them. cut: the packet is cut into segments of mss bytes. sums:
// checksums are to be computed.
func (p *packet) header(to *[maxHeaders]byte, off, n, mss int, sums bool) []byte {
	h := to[:copy(to[:], p.data[:p.payload])]
	if p.kind == kindOther {
		return h
	}
	ip, l4 := h[etherBytes:p.l4], h[p.l4:]
	if mss > 0 {
		if p.kind.v4() {
			be.PutUint16(ip[2:], uint16(len(h)-etherBytes+n))
			be.PutUint16(ip[4:], be.Uint16(ip[4:])+uint16(off/mss))
		} else {
			be.PutUint16(ip[4:], uint16(len(l4)+n))
		}
		if p.kind.tcp() {
			p.segmentTCP(l4, off, n)
		} else {
			be.PutUint16(l4[4:], uint16(len(l4)+n))
		}
	}
	if !sums {
		return h
	}
	if p.kind.v4() && mss > 0 {
		be.PutUint16(ip[10:], 0)
		be.PutUint16(ip[10:], ^fold(sum(ip)))
	}
	at := l4[6:8]
	if p.kind.tcp() {
		at = l4[16:18]
	}
	be.PutUint16(at, 0)
	v := ^fold(p.pseudo(ip, len(l4)+n) + sum(l4) + sum(p.data[p.payload+off:][:n]))
	if v == 0 && !p.kind.tcp() {
		v = 0xffff // RFC 768
	}
	be.PutUint16(at, v)
	return h
}

// segmentTCP gives a segment its sequence number, and the flags that belong to the first or last.
func (p *packet) segmentTCP(l4 []byte, off, n int) {
	const fin, push, cwr = 0x01, 0x08, 0x80
	be.PutUint32(l4[4:], be.Uint32(l4[4:])+uint32(off))
	if p.payload+off+n < p.end {
		l4[13] &^= fin | push
	}
	if off > 0 {
		l4[13] &^= cwr
	}
}

// pseudo sums the pseudo header of TCP or UDP with n bytes.
func (p *packet) pseudo(ip []byte, n int) uint64 {
	proto := uint64(protoUDP)
	if p.kind.tcp() {
		proto = protoTCP
	}
	addrs := ip[8:]
	if p.kind.v4() {
		addrs = ip[12:20]
	}
	return sum(addrs) + proto + uint64(n)
}

// sum adds up b as numbers of 16 bits.
func sum(b []byte) (s uint64) {
	var carry uint64
	for ; len(b) >= 8; b = b[8:] {
		s, carry = bits.Add64(s, be.Uint64(b), carry)
	}
	var last [8]byte
	copy(last[:], b)
	s, carry = bits.Add64(s, be.Uint64(last[:]), carry)
	s, carry = bits.Add64(s, 0, carry)
	s += carry
	return s&0xffff + s>>16&0xffff + s>>32&0xffff + s>>48
}

// fold makes 16 bits of a sum.
func fold(s uint64) uint16 {
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}
