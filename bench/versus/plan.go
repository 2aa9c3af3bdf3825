package main

// Step is one run of the plan.
type Step struct {
	Comparison int  // index
	Rep        int  // from 0; -1 is the warm-up, which counts for nothing
	Ours       bool // which of the two contenders
}

// plan orders the runs: round after round, and in each round every comparison
// once, its two runs next to each other. Rounds alternate who goes first, so
// that a comparison sees ABBA ABBA and a steady drift of the machine cancels.
func plan(comparisons, reps int) []Step {
	var steps []Step
	for rep := -1; rep < reps; rep++ {
		for c := range comparisons {
			first := rep%2 == 0
			steps = append(steps, Step{c, rep, first}, Step{c, rep, !first})
		}
	}
	return steps
}
