// SPDX-License-Identifier: MIT

package disk

import (
	"fmt"

	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Queue writes payload to a file by an io_uring, several requests at a time, from where it lies.
// Pieces of it come by [Queue.Push] and go back by [Queue.Back], in their order, when all that came
// before them is written, too. So however requests overtake each other, what is under way is less
// than the file, and no request writes where an older one does.
type Queue struct {
	f     *File
	ring  *uring.Ring
	mem   []byte // that all payload lies in; it begins with a page
	index int    // of it, among the ring's registered buffers; -1: it is none of them
	user  uint64 // user data of the first request; each next one's is one more

	pieces []piece // those that came and are not back, and some before them
	back   int     // the oldest that is not
	begun  int     // the oldest of which not all is in requests
	taken  int     // how much of that is
	backed uint64  // position in the flow of the oldest that is not back

	requests    [Depth]request
	first, next uint   // those under way, by their numbers modulo Depth
	written     uint64 // position in the flow before which all is in the file
}

type piece struct {
	id    uint64 // by which it goes back
	at, n int
}

type request struct {
	vec  uring.Vector
	off  uint64 // in the file
	n    int
	way  Way
	done bool
}

const (
	// Depth is how many requests may be under way.
	Depth = 32
	// mostRequest bounds one, in bytes, and mostVector in parts.
	mostRequest = leastBytes / 4
	mostVector  = 256
)

// NewQueue makes a queue. The memory is buffer index of those that are registered with the ring, or
// none (-1). Completions with user data from user on, Depth of them, are for [Queue.Done].
func NewQueue(f *File, ring *uring.Ring, mem []byte, index int, user uint64, pieces int) *Queue {
	q := &Queue{f: f, ring: ring, mem: mem, index: index, user: user, pieces: make([]piece, 0, pieces)}
	for i := range q.requests {
		q.requests[i].vec = uring.NewVector(mostVector)
	}
	return q
}

// Push adds a piece of payload that has come: n bytes of the memory, at an offset.
func (q *Queue) Push(id uint64, at, n int) {
	if len(q.pieces) == cap(q.pieces) && q.back >= len(q.pieces)/2 {
		q.pieces = q.pieces[:copy(q.pieces, q.pieces[q.back:])]
		q.begun -= q.back
		q.back = 0
	}
	q.pieces = append(q.pieces, piece{id, at, n})
}

// Issue makes requests of what has come, as far as there is room, and returns how many. The next
// enter submits them.
func (q *Queue) Issue() (made int) {
	var r *request
	for q.begun < len(q.pieces) {
		p := &q.pieces[q.begun]
		k, way := q.f.Next(p.at+q.taken, p.n-q.taken)
		if way == Short { // what follows lies elsewhere
			way = Cached
		}
		if r == nil || r.way != way || r.n+k > mostRequest || r.vec.Parts() == mostVector ||
			r.off+uint64(r.n) != q.f.Offset() {
			if q.issue(r); !q.room() || way == Direct && q.near() {
				return made
			}
			r = q.begin(way)
			made++
		}
		k = min(k, mostRequest)
		at := p.at + q.taken
		r.vec.Add(q.mem[at : at+k])
		r.n += k
		q.f.took(k)
		if q.taken += k; q.taken == p.n {
			q.begun++
			q.taken = 0
		}
	}
	q.issue(r)
	return made
}

// room reports whether there may be one more request: the oldest that is not done is not half the
// file behind.
func (q *Queue) room() bool {
	return q.next-q.first < Depth && q.ring.SQSpace() > 0 && q.f.pos-q.written <= q.f.size/2
}

// near reports whether a cached write is under way whose folios may have pages of a direct one that
// is next. A folio begins at a multiple of its length, which is at most a request's.
func (q *Queue) near() bool {
	off := q.f.Offset()
	for i := q.first; i != q.next; i++ {
		r := &q.requests[i%Depth]
		if r.way == Cached && !r.done && off < r.off+uint64(r.n)+mostRequest && r.off < off+2*mostRequest {
			return true
		}
	}
	return false
}

// begin begins a request.
func (q *Queue) begin(way Way) *request {
	r := &q.requests[q.next%Depth]
	r.vec.Empty()
	r.off, r.n, r.way, r.done = q.f.Offset(), 0, way, false
	q.next++
	return r
}

// issue hands a request to the ring; nil: there is none.
func (q *Queue) issue(r *request) {
	if r != nil {
		q.ring.GetSQE().WriteVector(q.f.by(r.way), q.index, &r.vec, r.off, q.user+uint64((q.next-1)%Depth))
	}
}

// Done books the completion of a request: how much was written, and how.
func (q *Queue) Done(c *uring.CQE) (n int, w Way, err error) {
	r := &q.requests[c.UserData-q.user]
	if errno := c.Errno(); errno != 0 || int(c.Res) != r.n {
		op := fmt.Sprintf("io_uring write of %d bytes at %d", r.n, r.off)
		if errno == 0 {
			op += fmt.Sprintf(": %d were written", c.Res)
			errno = unix.ENOSPC
		}
		return 0, r.way, q.f.failed(remedy.FileWritten, op, errno)
	}
	for r.done = true; q.first != q.next && q.requests[q.first%Depth].done; q.first++ {
		q.written += uint64(q.requests[q.first%Depth].n)
	}
	return r.n, r.way, nil
}

// Back gives the pieces back that are written, as long as they are taken, and reports whether there
// was one.
func (q *Queue) Back(takes func(id uint64, n int) bool) (any bool) {
	for q.Waits() {
		p := &q.pieces[q.back]
		if !takes(p.id, p.n) {
			break
		}
		q.backed += uint64(p.n)
		q.back++
		any = true
	}
	return any
}

// Waits reports whether a piece may go back.
func (q *Queue) Waits() bool {
	return q.back < q.begun && q.backed+uint64(q.pieces[q.back].n) <= q.written
}

// Out returns how many pieces are not back.
func (q *Queue) Out() int { return len(q.pieces) - q.back }
