// SPDX-License-Identifier: MIT

//go:build !race

package stream

// store sets a counter that others load atomically. A store of sync/atomic is an exchange on x86,
// which waits until all stores before it are done: 8 ns for each of a dozen counters of a round
// trip. That is an order which nobody needs here: no reader concludes from one counter that another
// was set. A plain store of a word is never seen in halves (go.dev/ref/mem, "Implementation
// Restrictions"), and the system call behind it, which the compiler cannot look into, leaves it no
// place but the memory. The race detector knows nothing of this: store_race.go.
func store(c *uint64, n uint64) { *c = n }
