// SPDX-License-Identifier: MIT

package stream

// MaxRings is how many rings may share an RX queue.
const MaxRings = 64

// Rings are the rings that share an RX queue: the first takes it over, and the others join it.
// Their paths are made in that order, and let go of in the other; each has flows and a thread of
// its own.
type Rings struct {
	N         int
	Processes bool // all but the first are in processes of their own
	// Owner is what the first ring's path shares with the others': they know what it is.
	Owner any
}
