// SPDX-License-Identifier: MIT

// Package nicqueue takes an RX queue of a NIC over for one flow: what the
// receive modes zcrx and devmem have in common. Several flows of a process each take one of
// their own, which [Spread] chooses.
//
// [Take] switches header split on and keeps the queue free of other flows; then
// the mode binds its memory, and [Queue.Bound] sees that the queue uses it. The
// flow says hello on an ordinary queue, where it can be read, and [Queue.Steer]
// steers it to the queue. [Queue.Release] takes all of that back in reverse order
// and waits until the queue has its own memory again.
package nicqueue
