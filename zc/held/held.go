// SPDX-License-Identifier: MIT

// Package held keeps account of the payload that an application has not given
// back yet.
package held

// Max is how many pieces of payload may be out of the NIC's hands at once. Their
// places are made beforehand: nothing is allocated per piece.
const Max = 1 << 16

// piece is payload that the application has: what it is given back by, a place in
// the area or a token, and its length.
type piece struct {
	ID  uint64
	Len uint32
}

// Queue are the pieces that the application has, oldest first.
type Queue struct {
	pieces [Max]piece
	first  uint32 // runs over
	next   uint32
	bytes  int
}

// Count returns the number of pieces.
func (q *Queue) Count() int { return int(q.next - q.first) }

// Bytes returns how many bytes of payload the pieces hold.
func (q *Queue) Bytes() int { return q.bytes }

// Full reports whether there is no place for another.
func (q *Queue) Full() bool { return q.Count() == Max }

// Push adds a piece; the queue must not be full.
func (q *Queue) Push(id uint64, n uint32) {
	q.pieces[q.next%Max] = piece{id, n}
	q.next++
	q.bytes += int(n)
}

// Oldest returns the piece that Pop removes; there must be one.
func (q *Queue) Oldest() piece { return q.pieces[q.first%Max] }

// At returns the i-th oldest piece, counted from 0; there must be so many.
func (q *Queue) At(i int) piece { return q.pieces[(q.first+uint32(i))%Max] }

// Pop removes the oldest piece.
func (q *Queue) Pop() {
	q.bytes -= int(q.Oldest().Len)
	q.first++
}
