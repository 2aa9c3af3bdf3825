// SPDX-License-Identifier: MIT

package stat

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Alpha is the level of all tests.
const Alpha = 0.05

// Difference is how sample B stands to sample A. Its fields have no unit.
type Difference struct {
	NA    int     `json:"n_a"`
	NB    int     `json:"n_b"`
	Pairs int     `json:"pairs,omitempty"` // blocks, or boots, that have both; 0: they are compared without
	Ratio *Ratio  `json:"ratio"`           // B / A; nil if there is none
	P     float64 `json:"p"`               // two-sided, of the test that the level asks for
	Least float64 `json:"least_p"`         // the smallest P that so many runs could give

	// Level is what the answer generalizes to, with the boots of each side; "": nothing is
	// known of where the runs stand. Between is the spread between boots that was taken.
	Level   Level `json:"level,omitempty"`
	BootsA  int   `json:"boots_a,omitempty"`
	BootsB  int   `json:"boots_b,omitempty"`
	StartsA int   `json:"starts_a,omitempty"` // of the agents
	StartsB int   `json:"starts_b,omitempty"`
	// OfSessions: the starts are sessions, of which the two have none in common.
	OfSessions bool    `json:"of_sessions,omitempty"`
	Between    float64 `json:"between_boots,omitempty"`

	// Adjusted is P corrected over all that is tested with it; see [Decide].
	Adjusted float64  `json:"p_adjusted"`
	Warnings []string `json:"warnings,omitempty"`

	ofStarts bool      // starts stand for their runs
	where    uint64    // of which runs
	strata   []stratum // that P is of; nil: it is by t, or there is none
	// inTurns are the pairs of a start, where both took turns in each; ofPairs the strata of pairs
	// of starts: see [Difference.Choose].
	inTurns, ofPairs []stratum
	weight           float64 // of the level, that its pair has, whatever is decided
	t                *student
	shift            float64 // of the logarithms, that t tests
}

// test computes P from strata, of logarithms.
func (d *Difference) test(strata []stratum) {
	d.strata = strata
	d.P, d.Least = permuteBlocks(strata)
	d.Adjusted = d.P
}

// Choose takes the test that can decide at a level, where two took turns in each start: what starts
// differ by is the same for both, and in it is nothing but who is who. So the names are dealt anew
// within starts, which is Wilcoxon's test of the ratios. Its smallest p is not small (2 of 2^n): if
// it cannot get below the level, they are dealt within pairs of starts. Only how many runs and
// comparisons there are counts, not what was measured.
func (d *Difference) Choose(level float64) {
	if d.inTurns == nil {
		return
	}
	strata := d.ofPairs
	if leastInTurns(len(d.inTurns)) < level {
		strata = d.inTurns
	}
	d.test(strata)
}

// InTurns reports whether P is of pairs within starts.
func (d *Difference) InTurns() bool { return d.inTurns != nil && len(d.strata) == len(d.inTurns) }

// Weight returns the share of the level that a figure's pair of cells has whatever is decided, for
// what is said of those without a verdict ([Questions.Decide]).
func (d *Difference) Weight() float64 { return d.weight }

// Sign is what a difference amounts to.
type Sign int

// The three answers. Unknown is also that of two equal samples: no test shows
// that there is no difference.
const (
	Less    Sign = -1
	Unknown Sign = 0
	Greater Sign = 1
)

// Diff compares two samples of which nothing is known but their values: by Mann-Whitney's
// U test, exact up to 50 values (25 with ties). A correction over several comparisons is left
// to [Family].
func Diff(a, b []float64) Difference {
	d := Difference{NA: len(a), NB: len(b), Ratio: medianRatio(a, b), P: 1, Least: 1}
	if len(a) > 0 && len(b) > 0 {
		d.P, d.Least = rankSum(a, b)
	}
	if la, lb := logarithms(a), logarithms(b); la != nil && lb != nil {
		d.strata = []stratum{{la, lb}}
	}
	d.Adjusted = d.P
	d.warnFew()
	return d
}

// logarithms returns those of values, or nil where any has none.
func logarithms(v []float64) (out []float64) {
	for _, x := range v {
		if !(x > 0) || math.IsInf(x, 1) {
			return nil
		}
		out = append(out, math.Log(x))
	}
	return out
}

// rankSum computes the p of Mann-Whitney's U test, and the smallest that so many values could give.
// It does not test samples with NaNs: these have no ranks and show nothing, and the test would
// never end.
func rankSum(a, b []float64) (p, least float64) {
	if slices.ContainsFunc(a, math.IsNaN) || slices.ContainsFunc(b, math.IsNaN) {
		return 1, leastP(len(a), len(b))
	}
	c := benchmath.AssumeNothing.Compare(
		benchmath.NewSample(slices.Clone(a), &benchmath.DefaultThresholds),
		benchmath.NewSample(slices.Clone(b), &benchmath.DefaultThresholds))
	// The exact distribution doubles a tail that can hold more than half.
	return min(c.P, 1), leastP(len(a), len(b))
}

// warnFew adds warnings that there is too little data for a verdict.
func (d *Difference) warnFew() {
	d.Warnings = append(d.Warnings, tooFew(d.NA, d.NB, d.Pairs)...)
}

func tooFew(na, nb, pairs int) []string {
	switch {
	case min(na, nb) < MinRuns:
		return []string{fmt.Sprintf("%d and %d runs: a verdict needs %d of each", na, nb, MinRuns)}
	case pairs > 0 && pairs < MinRuns:
		return []string{fmt.Sprintf("%d blocks have both: a verdict needs %d", pairs, MinRuns)}
	}
	return nil
}

// Family corrects the differences of one question, such as a figure over all
// cells, for their number. Those that could not be tested do not count. It returns how
// many did.
func Family(ds []*Difference) (tests int) {
	var tested []*Difference
	var p []float64
	for _, d := range ds {
		if d.Testable() {
			tested = append(tested, d)
			p = append(p, d.P)
		}
	}
	for i, adjusted := range Holm(p) {
		tested[i].Adjusted = adjusted
	}
	return len(tested)
}

// Testable reports whether there are enough values on both sides, and a ratio with its interval.
func (d *Difference) Testable() bool {
	return min(d.NA, d.NB) >= MinRuns && d.Ratio != nil && d.Ratio.Lo != nil && !d.TooFewUnits()
}

// TooFewUnits reports whether the two have no boot or start in common, and too few of their own.
func (d *Difference) TooFewUnits() bool { return d.Level == TooFewBoots || d.Level == tooFewStarts }

// ByBoots reports whether boots or starts are compared, or would have to be: more runs of the same
// would not tell what these do not.
func (d *Difference) ByBoots() bool {
	switch d.Level {
	case AcrossBoots, DeclaredBoots, TooFewBoots, DeclaredStarts, tooFewStarts:
		return true
	}
	return false
}

// Sign calls a difference only where the corrected test and the interval of the
// ratio agree on it.
func (d *Difference) Sign() Sign {
	switch {
	case !d.Testable() || d.Adjusted >= Alpha:
		return Unknown
	case *d.Ratio.Hi < 1:
		return Less
	case *d.Ratio.Lo > 1:
		return Greater
	}
	return Unknown
}
