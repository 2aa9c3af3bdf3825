// SPDX-License-Identifier: MIT

package matrix

import (
	"slices"
	"time"
)

// RoundsOf computes how many rounds give each of those that take turns the time d or more, where
// each has two turns in a round.
func RoundsOf(d, each time.Duration) int { return int((d + 2*each - 1) / (2 * each)) }

// ThereAndBack orders the turns of a round: who is first, and so has two turns with the fewest
// between them, changes from round to round.
func ThereAndBack(n, round int) (order []int) {
	for i := range n {
		order = append(order, (i+round)%n)
	}
	back := slices.Clone(order)
	slices.Reverse(back)
	return append(order, back...)
}
