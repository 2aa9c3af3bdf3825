// SPDX-License-Identifier: MIT

package stream

// Add returns what both counted, of different flows. The first mismatch stays that of c where it
// has one.
func (c Counters) Add(b Counters) Counters {
	first := c.FirstMismatch
	if first == 0 {
		first = b.FirstMismatch
	}
	zero := Counters{}
	c = c.Sub(zero.Sub(b)) // unsigned numbers wrap
	c.FirstMismatch = first
	return c
}
