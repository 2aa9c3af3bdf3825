// SPDX-License-Identifier: MIT

package stream

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/zcbench/zcbench/flow/records"
	"golang.org/x/sys/unix"
)

// Touch says what the receiving application does with the payload.
type Touch string

// The three ways to treat received payload.
const (
	TouchNone   Touch = "none"   // leave it
	TouchRead   Touch = "read"   // load one word of every cache line
	TouchVerify Touch = "verify" // compare every byte with the pattern of its position
)

// Toucher treats the payload of one flow, in flow order.
type Toucher struct {
	touch  Touch
	pos    uint64
	period uint64
	ref    []byte // two periods, so that any piece of up to one period lies in it whole
	sum    uint64 // keeps the reads alive

	opener *records.Opener // of a flow that the application decrypts; nil: what comes is payload
	fd     int             // of such a flow
	opened int             // bytes of payload since the last call of Payload
	err    error           // of a record
}

// NewToucher prepares for a flow whose pattern has the given period in bytes.
func NewToucher(t Touch, period int) *Toucher {
	c := &Toucher{touch: t, period: uint64(period)}
	if t == TouchVerify {
		c.ref = make([]byte, 2*period)
		fillPattern(c.ref, period)
	}
	return c
}

// Next treats p, the bytes that follow those of the last call.
func (c *Toucher) Next(p []byte, m *Meter) {
	if c.opener != nil {
		c.open(p, m)
		return
	}
	c.show(p, m)
}

// open decrypts p, and treats the payload of the records that end there.
func (c *Toucher) open(p []byte, m *Meter) {
	for len(p) > 0 && c.err == nil {
		var plain []byte
		plain, p, c.err = c.opener.Next(p)
		c.opened += len(plain)
		c.show(plain, m)
	}
	if errors.Is(c.err, records.ErrClosed) {
		c.err = unix.Shutdown(c.fd, unix.SHUT_RD) // so that any path finds the end of the flow
	}
}

// Payload returns how much payload there was in n bytes, all that was treated since the last call:
// of a flow that is decrypted here that of the records which ended there, and why one could not be
// opened.
func (c *Toucher) Payload(n int) (int, error) {
	if c.opener == nil {
		return n, nil
	}
	n, c.opened = c.opened, 0
	return n, c.err
}

// show treats payload.
func (c *Toucher) show(p []byte, m *Meter) {
	if m.answers != nil {
		m.answers.show(p, m)
	}
	switch c.touch {
	case TouchRead:
		c.read(p)
	case TouchVerify:
		c.verify(p, m)
	}
	if m.onward != nil {
		m.onward.Send(p, m)
	}
	c.pos += uint64(len(p))
}

// At treats p, which holds the pattern of that position: of packets, which may be lost.
func (c *Toucher) At(pos uint64, p []byte, m *Meter) {
	c.pos = pos
	c.Next(p, m)
}

// Skip passes over n bytes that the application cannot see.
func (c *Toucher) Skip(n int) { c.pos += uint64(n) }

func (c *Toucher) read(p []byte) {
	sum := c.sum
	for len(p) >= 64 {
		sum += binary.LittleEndian.Uint64(p)
		p = p[64:]
	}
	for _, b := range p {
		sum += uint64(b)
	}
	c.sum = sum
}

func (c *Toucher) verify(p []byte, m *Meter) {
	pos := c.pos
	for len(p) > 0 {
		n := min(len(p), int(c.period))
		off := int(pos % c.period)
		if want := c.ref[off : off+n]; !bytes.Equal(p[:n], want) {
			countMismatch(p[:n], want, pos, m)
		}
		p, pos = p[n:], pos+uint64(n)
	}
}

// countMismatch counts differing bytes; got and want have equal length.
func countMismatch(got, want []byte, pos uint64, m *Meter) {
	first, n := -1, 0
	for i := range got {
		if got[i] != want[i] {
			if first < 0 {
				first = i
			}
			n++
		}
	}
	m.Mismatch(pos+uint64(first), n)
}
