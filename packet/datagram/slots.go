// SPDX-License-Identifier: MIT

package datagram

import (
	"github.com/zcbench/zcbench/flow/stream"
)

// Datagrams are sent from slots, one after another, each with the pattern of its place. So nothing
// but the header is written anew, and a whole batch lies in one piece. All slots together stay in
// the cache, where datagrams are short.
const (
	slotBytes = 256 << 10
	minSlots  = stream.MaxBatch
	maxSlots  = 1024
)

// slotsFor computes how many slots there are for datagrams of size bytes, a power of two: both ends
// know it.
func slotsFor(size int) int {
	n := minSlots
	for n < maxSlots && 2*n*size <= slotBytes {
		n *= 2
	}
	return n
}

// placeOf returns the place of a datagram's first byte in the pattern.
func placeOf(seq, slots uint64, size int) uint64 { return seq % slots * uint64(size) }

// slots is a sender's memory.
type slots struct {
	buf  *stream.Buffer
	size int
	n    uint64
	key  uint64
}

func newSlots(size int) (*slots, error) {
	n := slotsFor(size)
	buf, err := stream.NewBuffer(n * size)
	if err != nil {
		return nil, err
	}
	return &slots{buf: buf, size: size, n: uint64(n)}, nil
}

// fill writes the pattern of the payload, whose messages are as long as the datagrams.
func (s *slots) fill(c *stream.Conn, p *stream.Payload) {
	s.key = c.Key
	for k := range s.n {
		copy(s.buf.Bytes()[int(k)*s.size:], p.Message(k))
	}
}

// put makes the datagram of a number.
func (s *slots) put(seq uint64) []byte {
	at := int(seq%s.n) * s.size
	b := s.buf.Bytes()[at : at+s.size : at+s.size]
	put(b, s.key, seq)
	return b
}

// run makes n datagrams from seq on, which lie in one piece: fewer where the last slot is reached.
func (s *slots) run(seq uint64, n int) (p []byte, got int) {
	at := seq % s.n
	got = min(n, int(s.n-at))
	for k := range got {
		s.put(seq + uint64(k))
	}
	from := int(at) * s.size
	return s.buf.Bytes()[from : from+got*s.size], got
}

// Close frees the memory.
func (s *slots) Close() error { return s.buf.Close() }
