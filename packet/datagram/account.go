// SPDX-License-Identifier: MIT

package datagram

import (
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
)

// window is how many numbers there are bits for. A word of them is forgotten as soon as one of its
// next numbers has come, so it is known of each whether it came only known numbers back. What is
// later than that has come out of order, and nobody knows whether for the first time.
const (
	window = 1 << 16
	known  = window - 64
)

// mostPackets is more than any flow has: no sum of it overflows.
const mostPackets = 1 << 62

// account is a receiver's account of its flow's datagrams.
type account struct {
	key   uint64
	size  int
	slots uint64
	touch *stream.Toucher // nil: the payload is left alone
	reply *answers        // nil: nothing is answered
	conn  *stream.Conn

	next uint64              // after the highest number that came
	seen [window / 64]uint64 // a bit for each of the last numbers before next, see known
}

// open begins the account of a flow, whose datagrams the receiver has made its buffers for.
func (a *account) open(c *stream.Conn, h stream.Hello, o stream.Options) error {
	if h.MessageBytes != uint64(o.MessageBytes) {
		how := "give both ends the same --message-size"
		if h.ResponseBytes > 0 {
			how = "give this end the sender's --request as its --message-size"
		}
		return &fault.Error{Op: fmt.Sprintf("the sender sends datagrams of %d bytes, but %d are expected",
			h.MessageBytes, o.MessageBytes), How: how}
	}
	var err error
	if a.reply, err = newAnswers(c, h); err != nil {
		return err
	}
	a.conn = c
	t := o.Touch
	a.key, a.size, a.slots = c.Key, int(h.MessageBytes), uint64(slotsFor(int(h.MessageBytes)))
	if t == stream.TouchRead || t == stream.TouchVerify {
		a.touch = stream.NewToucher(t, int(h.PeriodBytes))
	}
	return nil
}

// take books a datagram; false where it is not as it was sent. The caller counts those that are.
func (a *account) take(p []byte, m *stream.Meter) bool {
	seq, ok := parse(p, a.key)
	if !ok || len(p) != a.size || seq > mostPackets {
		m.Corrupted()
		return false
	}
	if a.touch != nil {
		wrong := m.Mismatched()
		a.touch.At(placeOf(seq, a.slots, a.size)+headerBytes, p[headerBytes:], m)
		if m.Mismatched() != wrong {
			m.Corrupted()
			return false
		}
	}
	if a.reply != nil {
		a.reply.add(a.conn, seq, p, m)
	}
	switch {
	case seq >= a.next:
		a.advance(seq)
	case a.next-seq > known:
		m.OutOfOrder()
		return true
	case a.has(seq):
		m.Duplicated()
		return true
	default:
		m.OutOfOrder()
	}
	a.seen[seq%window/64] |= 1 << (seq % 64)
	return true
}

// answer sends the answers to what was taken; an error ends the flow.
func (a *account) answer(m *stream.Meter) error {
	if a.reply == nil {
		return nil
	}
	if a.reply.n > 0 {
		a.reply.send(a.conn, m)
	}
	return a.reply.err
}

// close frees what the account has for answers.
func (a *account) close() error {
	err := a.reply.Close()
	a.reply = nil
	return err
}

func (a *account) has(seq uint64) bool { return a.seen[seq%window/64]&(1<<(seq%64)) != 0 }

// advance forgets what stands where the numbers up to seq belong.
func (a *account) advance(seq uint64) {
	if seq-a.next >= window {
		a.seen = [window / 64]uint64{}
		a.next = seq + 1
		return
	}
	for n := a.next; n <= seq; n = (n | 63) + 1 {
		if n%64 == 0 {
			a.seen[n%window/64] = 0
		}
	}
	a.next = seq + 1
}
