// SPDX-License-Identifier: MIT

package stat

import (
	"cmp"
	"slices"
)

// Holm corrects the p-values of a family of tests, so that the chance of even one
// false difference among all of them stays at the level they are compared with
// (Holm 1979). The results stand in the order of the arguments.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = min(1, max(least, p[i]*float64(len(p)-rank)))
		out[i] = least
	}
	return out
}
