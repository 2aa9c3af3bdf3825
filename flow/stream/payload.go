// SPDX-License-Identifier: MIT

package stream

import (
	"encoding/binary"
	"fmt"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// Payload is the memory that a sender sends from: message k begins at flow
// position k*size and holds the pattern of that position, so that it can be
// sent again and again without being rewritten.
//
// The pattern repeats after a period of a prime number of pages. Memory that is
// handed back too early shows later bytes of the flow, most often a power of
// two of pages later; no such distance is a multiple of the period, so the
// verifier sees it.
//
// The memory is a memfd, so that sendfile can send it too.
type Payload struct {
	FD      int
	mapping *sharedMap
	mem     []byte
	size    int
	period  int
}

// MaxPeriodBytes bounds the pattern's period and so what a verifier allocates.
const MaxPeriodBytes = 251 * 4096

// periodFor chooses the period for a message size: the longest that adds no more
// than an eighth to the memory that a sender walks through, because memory
// beyond the CPU's cache costs it throughput, but no less than 31 pages, of
// which the verifier still misses no likely shift.
func periodFor(messageBytes int) int {
	for _, p := range []int{251, 127, 61} {
		if messageBytes/8 >= p*4096 {
			return p * 4096
		}
	}
	return 31 * 4096
}

// PayloadBytes computes how much memory the payload for messages of size bytes takes, in whole
// pages.
func PayloadBytes(size int) int { return pageUp(periodFor(size) + size) }

// WritePayload writes into mem what the memory of a payload for messages of size
// bytes begins with, and returns its period: memory of another kind that holds at
// least one period can stand for it.
func WritePayload(mem []byte, size int) (period int) {
	period = periodFor(size)
	fillPattern(mem, period)
	return period
}

// NewPayload makes the payload for messages of size bytes, all its pages present, as it has
// written them.
func NewPayload(size int) (*Payload, error) {
	period := periodFor(size)
	n := (period + size + hugePage - 1) &^ (hugePage - 1)
	fd, err := unix.MemfdCreate("zcbench-payload", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, remedy.Error(remedy.Memfd, "memfd_create for the payload", err, remedy.On{})
	}
	if err = unix.Ftruncate(fd, int64(n)); err == nil {
		var m *sharedMap
		if m, err = mapShared(fd, n); err == nil {
			m.collapse()
			mem := m.bytes()[:pageUp(period+size)]
			fillPattern(mem, period)
			return &Payload{FD: fd, mapping: m, mem: mem, size: size, period: period}, nil
		}
	}
	unix.Close(fd)
	return nil, remedy.Error(remedy.Mmap, fmt.Sprintf("map %d bytes of payload", n), err, remedy.On{Bytes: int64(n)})
}

// fillPattern writes the pattern for flow positions 0..len(mem).
func fillPattern(mem []byte, period int) {
	first := mem[:min(period, len(mem))]
	for i := 0; i < len(first); i += 8 {
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], patternWord(uint64(i/8)))
		copy(first[i:], w[:])
	}
	for n := len(first); n < len(mem); n *= 2 {
		copy(mem[n:], mem[:n])
	}
}

// patternWord computes SplitMix64 (Steele, Lea, Flood 2014) at step i: neighbouring words share
// nothing.
func patternWord(i uint64) uint64 {
	z := (i + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func pageUp(n int) int { return (n + 4095) &^ 4095 }

// MessageBytes returns the message size.
func (p *Payload) MessageBytes() int { return p.size }

// PeriodBytes returns the pattern's period.
func (p *Payload) PeriodBytes() int { return p.period }

// Offset returns where in the memory message k begins.
func (p *Payload) Offset(k uint64) int {
	return int(k * uint64(p.size) % uint64(p.period))
}

// Message returns message k.
func (p *Payload) Message(k uint64) []byte {
	off := p.Offset(k)
	return p.mem[off : off+p.size]
}

// At returns n bytes of the flow from a position on, at most as many as a message has.
func (p *Payload) At(pos uint64, n int) []byte {
	off := int(pos % uint64(p.period))
	return p.mem[off : off+n]
}

// Memory returns all of the payload's memory, for registering it with a ring.
func (p *Payload) Memory() []byte { return p.mem }

// Close unmaps the memory.
func (p *Payload) Close() error {
	if p.mem == nil {
		return nil
	}
	err := p.mapping.close()
	p.mem = nil
	unix.Close(p.FD)
	return err
}
