// SPDX-License-Identifier: MIT

package main

// Pair is two runs next to each other, one of each contender.
type Pair struct {
	Comparison int  // index
	Rep        int  // from 0; -1 is the warm-up, which counts for nothing
	OursFirst  bool // else theirs
}

// plan orders the pairs: round after round, and in each round every comparison
// once. Rounds alternate who goes first, so that a comparison sees ABBA ABBA and
// a steady drift of the machine cancels.
func plan(comparisons, reps int) []Pair {
	var pairs []Pair
	for rep := -1; rep < reps; rep++ {
		for c := range comparisons {
			pairs = append(pairs, Pair{c, rep, rep%2 == 0})
		}
	}
	return pairs
}
