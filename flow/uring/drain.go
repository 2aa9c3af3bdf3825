// SPDX-License-Identifier: MIT

package uring

// drain walks over the completions that can be taken now, of whatever size they
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
type drain struct {
	r    *Ring
	at   uint32 // slot of the completion after the current one
	end  uint32
	cur  uint32 // slot of the current completion
	wide bool
}

// drain begins a walk.
func (r *Ring) Drain() drain {
	at := r.cq.next
	return drain{r: r, at: at, cur: at, end: at + uint32(r.CQReady())}
}

// Next moves to the next completion; false when there is none.
func (d *drain) Next() bool {
	q := &d.r.cq
	for d.at != d.end {
		d.cur = d.at
		d.at++
		d.wide = q.wide
		if !q.mixed {
			return true
		}
		flags := q.at(d.cur).Flags
		if flags&cqe32 != 0 {
			d.wide = true
			d.at++
		}
		if flags&cqeSkip == 0 {
			return true
		}
	}
	return false
}

// CQE returns the current completion, in the ring's memory: do not use it after Done.
func (d *drain) CQE() *CQE { return d.r.cq.at(d.cur) }

// Extra returns the second half of the current completion, 16 bytes; nil when it has none.
func (d *drain) Extra() *[2]uint64 {
	if !d.wide {
		return nil
	}
	return d.CQE().extra()
}

// Done gives the completions that Next moved to, and those alone, back to the
// kernel. The walk may go on behind them.
func (d *drain) Done() { d.r.Advance(int(d.at - d.r.cq.next)) }
