// SPDX-License-Identifier: MIT

package stream

import "cmp"

// Add returns what both counted, of different flows. The first mismatch stays that of c where it
// has one.
func (c Counters) Add(b Counters) Counters {
	first := cmp.Or(c.FirstMismatch, b.FirstMismatch)
	more := b.all()
	for i, n := range c.all() {
		*n += *more[i]
	}
	c.FirstMismatch = first
	return c
}
