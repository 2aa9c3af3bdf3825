// SPDX-License-Identifier: MIT

package uring

// spans walks over the bytes of one receive completion, buffer by buffer:
//
//	for s := group.Spans(*cqe); s.Next(); {
//		use(s.Bytes())
//		s.Recycle()
//	}
//	group.Advance()
//
// It is a value and allocates nothing. It must be walked to its end.
type spans struct {
	b       *BufRing
	data    []byte
	left    int
	at      uint16 // place in the ring of the next buffer
	id      uint16
	done    bool
	bufMore bool
	pending bool // there is a next buffer
}

// spans walks the bytes that completion c brought: one buffer, several for a bundle (consecutive in
// the order in which they were added), or a piece of one for an incremental group. A completion
// without a buffer has none.
func (b *BufRing) Spans(c CQE) spans {
	if !c.HasBuffer() {
		return spans{}
	}
	return spans{b: b, left: max(int(c.Res), 0), at: b.place[c.BufferID()], bufMore: c.BufMore(), pending: true}
}

// Next moves to the next buffer; false when there is none.
func (s *spans) Next() bool {
	if !s.pending {
		return false
	}
	b := s.b
	s.id = b.order[s.at]
	s.at = (s.at + 1) & b.mask
	off := int(b.used[s.id])
	n := min(s.left, b.size-off)
	start := int(s.id)*b.size + off
	s.data = b.bufMem.bytes[start : start+n : start+n]
	s.left -= n
	s.pending = s.left > 0
	s.done = s.pending || !s.bufMore
	if s.done {
		b.used[s.id] = 0
		b.inRing[s.id] = false
		b.ready--
	} else {
		b.used[s.id] += uint32(n)
	}
	return true
}

// Bytes returns the bytes that came, in place.
func (s *spans) Bytes() []byte { return s.data }

// BufferID returns the buffer they are in.
func (s *spans) BufferID() uint16 { return s.id }

// Done reports whether the kernel is through with the buffer. It is always so
// but for the last piece of an incremental group's buffer.
func (s *spans) Done() bool { return s.done }

// Recycle adds the buffer again if it is done: its bytes must not be used any
// more. Call BufRing.Advance after some.
func (s *spans) Recycle() {
	if s.done {
		s.b.Add(s.id)
	}
}
