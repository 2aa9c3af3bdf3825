// SPDX-License-Identifier: MIT

package uring

// What a data path calls all the time goes to the native engine directly: through
// the interface a nop and its completion would cost a tenth more. See also
// Ring.enterNow and Ring.enterWait.

func (r *Ring) getSQE() *sqe {
	if r.other == nil {
		return r.core.getSQE()
	}
	return r.other.getSQE()
}

func (r *Ring) unsubmitted() uint32 {
	if r.other == nil {
		return r.core.unsubmitted()
	}
	return r.other.unsubmitted()
}

// CQReady counts the completions that can be taken now; with Options.CQEMixed, the slots of 16
// bytes that they take up.
func (r *Ring) CQReady() int {
	if r.other == nil {
		return r.core.ready()
	}
	return r.other.ready()
}

// Advance gives the n oldest completions back to the kernel.
func (r *Ring) Advance(n int) {
	if r.other == nil {
		r.core.advance(n)
		return
	}
	r.other.advance(n)
}
