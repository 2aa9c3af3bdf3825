// SPDX-License-Identifier: MIT

package datagram

import (
	"encoding/binary"

	"github.com/zcbench/zcbench/flow/stream"
)

// Sizes of a datagram's payload, bytes.
const (
	// minBytes is that of the shortest frame of Ethernet: 60 bytes with the headers of Ethernet,
	// IPv4 and UDP. Sequence number and tag have room in it.
	minBytes = stream.MinDatagramBytes
	// maxBytes is what IPv4 has room for.
	maxBytes = stream.MaxDatagramBytes

	// headerBytes are the sequence number, 8, and the tag, 4, big-endian both.
	headerBytes = 12
)

// put writes number and tag into a datagram's beginning.
func put(b []byte, key, seq uint64) {
	_ = b[headerBytes-1]
	binary.BigEndian.PutUint64(b, seq)
	binary.BigEndian.PutUint32(b[8:], tagOf(key, seq))
}

// parse reads the number; false where the tag is not that of the number.
func parse(b []byte, key uint64) (seq uint64, ok bool) {
	if len(b) < headerBytes {
		return 0, false
	}
	seq = binary.BigEndian.Uint64(b)
	return seq, binary.BigEndian.Uint32(b[8:]) == tagOf(key, seq)
}

// keyOf derives what the tags of one of the flows that know a cookie are made of.
func keyOf(c stream.Cookie, flow int) uint64 {
	return mix(binary.BigEndian.Uint64(c[:]) ^ mix(binary.BigEndian.Uint64(c[8:])+uint64(flow)))
}

// tagOf depends on every bit of both.
func tagOf(key, seq uint64) uint32 { return uint32(mix(key^seq*0x9e3779b97f4a7c15) >> 32) }

// mix applies the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
