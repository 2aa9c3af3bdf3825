package uring

import (
	"sync/atomic"
	"unsafe"
)

// Drain walks over the completions that can be taken now, of whatever size they
// are, and gives them back:
//
//	d := ring.Drain()
//	for d.Next() {
//		use(d.CQE(), d.Extra())
//	}
//	d.Done()
//
// It is a value and allocates nothing. On a ring with Options.CQEMixed it is the
// only way to take completions: CQEAt counts slots there, not completions.
type Drain struct {
	r    *Ring
	at   uint32 // slot of the completion after the current one
	end  uint32
	cur  uint32 // slot of the current completion
	wide bool
}

// Drain begins a walk.
func (r *Ring) Drain() Drain {
	return Drain{r: r, at: r.cq.next, cur: r.cq.next, end: atomic.LoadUint32(r.cq.tail)}
}

// Next moves to the next completion; false when there is none.
func (d *Drain) Next() bool {
	q := &d.r.cq
	for d.at != d.end {
		d.cur = d.at
		d.at++
		flags := q.cqes[(d.cur&q.mask)<<q.shift].Flags
		d.wide = q.shift == 1
		if q.mixed && flags&cqe32 != 0 {
			d.wide = true
			d.at++
		}
		if flags&cqeSkip == 0 || !q.mixed {
			return true
		}
	}
	return false
}

// CQE is the current completion, in the ring's memory: not to be used after Done.
func (d *Drain) CQE() *CQE {
	q := &d.r.cq
	return &q.cqes[(d.cur&q.mask)<<q.shift]
}

// Extra is the second half of the current completion, 16 bytes; nil when it has
// none.
func (d *Drain) Extra() *[2]uint64 {
	if !d.wide {
		return nil
	}
	return (*[2]uint64)(unsafe.Add(unsafe.Pointer(d.CQE()), unsafe.Sizeof(CQE{})))
}

// Done gives the completions that Next moved to, and those alone, back to the
// kernel. The walk may go on behind them.
func (d *Drain) Done() {
	d.r.cq.next = d.at
	atomic.StoreUint32(d.r.cq.head, d.at)
}
