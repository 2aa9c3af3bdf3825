package uring

import "sync/atomic"

// The refill ring gives buffers back to the NIC: the application writes entries
// at its tail, the kernel takes them from its head when the NIC needs buffers,
// in its softirq. Nobody tells the other.

// Refill gives the piece of payload back that a completion brought: extra is the
// completion's second half, n the number of its bytes. The kernel may take it
// after Publish. It reports false, and does nothing, when the ring is full: each
// piece must go back once, for a buffer is free when all of its pieces are.
func (z *Zcrx) Refill(extra uint64, n uint32) bool {
	if z.next-z.seen >= uint32(len(z.rqes)) {
		// The kernel may have taken some since; its line is not to be touched for each.
		if z.seen = atomic.LoadUint32(z.head); z.next-z.seen >= uint32(len(z.rqes)) {
			return false
		}
	}
	e := &z.rqes[z.next&uint32(len(z.rqes)-1)]
	e.off = extra&^zcrxAreaMask | z.token
	e.len, e.pad = n, 0
	z.next++
	return true
}

// Publish shows the kernel what was refilled.
func (z *Zcrx) Publish() { atomic.StoreUint32(z.tail, z.next) }

// RefillSpace is how many pieces Refill can take now.
func (z *Zcrx) RefillSpace() int {
	return len(z.rqes) - int(z.next-atomic.LoadUint32(z.head))
}

// RefillEntries is the size of the refill ring.
func (z *Zcrx) RefillEntries() int { return len(z.rqes) }
