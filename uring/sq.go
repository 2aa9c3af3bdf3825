package uring

import "sync/atomic"

// GetSQE hands out the next submission queue entry, or nil when the queue is
// full: submit, then ask again. The entry keeps what it held last time; every
// Prep method assigns all of it. It is the kernel's from the next submit on.
func (r *Ring) GetSQE() *SQE {
	q := &r.sq
	if q.next-atomic.LoadUint32(q.head) > q.mask {
		return nil
	}
	s := &q.sqes[q.next&q.mask]
	q.next++
	return s
}

// SQSpace is how many entries GetSQE can hand out before the next submit.
func (r *Ring) SQSpace() int {
	q := &r.sq
	return len(q.sqes) - int(q.next-atomic.LoadUint32(q.head))
}

// flush shows the kernel all entries handed out; it returns how many it has yet
// to take, among them those that an earlier submit left.
func (q *submissionQueue) flush() uint32 {
	if n := q.next - atomic.LoadUint32(q.head); n != 0 {
		atomic.StoreUint32(q.tail, q.next)
		return n
	}
	return 0
}
