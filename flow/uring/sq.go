// SPDX-License-Identifier: MIT

package uring

// GetSQE hands out the next submission queue entry, or nil when the queue is
// full: submit, then ask again. The entry keeps what it held last time; every
// Prep method assigns all of it. It is the kernel's from the next submit on.
func (r *Ring) GetSQE() *sqe { return r.getSQE() }

// SQSpace returns how many entries GetSQE can hand out before the next submit.
func (r *Ring) SQSpace() int { return r.sqEntries - int(r.unsubmitted()) }
