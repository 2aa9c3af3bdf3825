// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Shift is by how much a figure of two cells differs, in its own unit and as their means do: the
// shifts of the parts of a whole add up to that of the whole, which no ratio, median or rank
// estimate does. It is tested as a [Difference] is.
type Shift struct {
	NA    int     `json:"n_a"`
	NB    int     `json:"n_b"`
	Pairs int     `json:"pairs,omitempty"` // blocks, or boots, that have both; 0: they are compared without
	A     float64 `json:"a"`               // means of what is compared
	B     float64 `json:"b"`
	Diff  float64 `json:"difference"` // B - A
	// Lo and Hi are the 95 % interval of Diff; nil where there are too few runs or boots.
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`

	P        float64 `json:"p"`
	Least    float64 `json:"least_p"`    // the smallest P that so many runs could give
	Adjusted float64 `json:"p_adjusted"` // P after Holm's correction; see [ShiftFamily]

	Level    Level    `json:"level,omitempty"`
	BootsA   int      `json:"boots_a,omitempty"`
	BootsB   int      `json:"boots_b,omitempty"`
	Between  float64  `json:"between_boots,omitempty"` // spread between boots that was taken
	Warnings []string `json:"warnings,omitempty"`
}

// ShiftOf compares the runs b with the runs a, at the level at which [Contrast] does.
func ShiftOf(a, b []Run, between float64) Shift {
	boots, both := bootsOfBoth(a, b)
	var s Shift
	switch {
	case len(a) == 0 || len(b) == 0:
		s = Shift{NA: len(a), NB: len(b), P: 1, Least: 1, Warnings: tooFew(len(a), len(b), 0)}
	case len(both) > 0:
		s = shiftWithin(only(a, both), only(b, both), both)
	case min(len(boots[0]), len(boots[1])) >= MinRuns:
		s = shiftApart(bootMeans(a, boots[0]), bootMeans(b, boots[1]))
		s.NA, s.NB, s.Level = len(a), len(b), AcrossBoots
	case between > 0 && min(len(a), len(b)) >= MinRuns:
		s = shiftDeclared(a, b, between)
	default:
		s = shiftApart(valuesOf(a), valuesOf(b))
		if s.Level = TooFewBoots; len(s.Warnings) == 0 {
			s.Warnings = fewBoots(boots)
		}
		s.P, s.Lo, s.Hi = 1, nil, nil
	}
	s.Adjusted, s.BootsA, s.BootsB = s.P, len(boots[0]), len(boots[1])
	return s
}

// shiftWithin compares runs of the same boots.
func shiftWithin(a, b []Run, boots []string) Shift {
	if len(boots) >= MinRuns {
		return shiftOfBoots(a, b, boots)
	}
	s, ok := shiftOfBlocks(a, b)
	if !ok {
		s = shiftApart(valuesOf(a), valuesOf(b))
		if len(boots) > 1 { // other sessions of the same boots
			x, y := byBoot(a), byBoot(b)
			s.P, s.Least = permuteBlocks(plainStrata(x, y, func(r Run) Run { return Run{Boot: r.Boot} }))
		}
	}
	s.Level = levelWithin(a, len(boots))
	return s
}

// shiftOfBlocks compares runs that share blocks; ok is false where they do not, or a repetition is
// there twice.
func shiftOfBlocks(a, b []Run) (s Shift, ok bool) {
	n := [2]int{len(a), len(b)}
	a, okA := placed(a)
	b, okB := placed(b)
	if !okA || !okB {
		return s, false
	}
	va, vb := paired(a, b)
	if len(va) == 0 {
		return s, false
	}
	s = shiftOfPairs(va, vb)
	s.NA, s.NB = n[0], n[1]
	s.P, s.Least = permuteBlocks(plainStrata(a, b, pairOfBlocks))
	s.Warnings = tooFew(s.NA, s.NB, s.Pairs)
	return s, true
}

// shiftOfBoots compares two cells by their means in each of six boots or more: the boots are the
// sample.
func shiftOfBoots(a, b []Run, boots []string) Shift {
	va, vb := bootMeans(a, boots), bootMeans(b, boots)
	s := shiftOfPairs(va, vb)
	s.NA, s.NB, s.Level = len(a), len(b), AcrossBoots
	scale := scaleOf(va, vb)
	strata := make([]stratum, len(va)) // of one pair each: what is permuted is its sign
	for i := range strata {
		strata[i] = stratum{a: []float64{va[i] * scale}, b: []float64{vb[i] * scale}}
	}
	s.P, s.Least = permuteBlocks(strata)
	s.Warnings = tooFew(s.NA, s.NB, s.Pairs)
	return s
}

// shiftOfPairs computes the shift of pairs, with its interval.
func shiftOfPairs(va, vb []float64) Shift {
	d := make([]float64, len(va))
	for i := range va {
		d[i] = vb[i] - va[i]
	}
	s := Shift{Pairs: len(d), A: mean(va), B: mean(vb)}
	s.Diff = s.B - s.A
	if lo, hi, ok := typicalValues(d); ok {
		s.Lo, s.Hi = &lo, &hi
	}
	return s
}

// shiftApart compares two samples of which nothing is known but their values: by Mann-Whitney's
// U test, and Welch's interval.
func shiftApart(a, b []float64) Shift {
	s := Shift{NA: len(a), NB: len(b), A: mean(a), B: mean(b), Warnings: tooFew(len(a), len(b), 0)}
	s.Diff = s.B - s.A
	s.P, s.Least = rankSum(a, b)
	if min(s.NA, s.NB) < MinRuns {
		return s
	}
	va, vb := squareOf(deviation(a))/float64(s.NA), squareOf(deviation(b))/float64(s.NB)
	df := 1.0
	if by := va*va/float64(s.NA-1) + vb*vb/float64(s.NB-1); by > 0 { // squares of small ones are 0
		df = squareOf(va+vb) / by
	}
	s.interval(math.Sqrt(va+vb), df)
	return s
}

// interval sets the interval by Student's distribution.
func (s *Shift) interval(se, df float64) {
	far := quantileT(stats.TDist{V: df}, 1-(1-confidence)/2) * se
	lo, hi := s.Diff-far, s.Diff+far
	s.Lo, s.Hi = &lo, &hi
}

// shiftDeclared compares means of boots with a spread between boots that was declared, as a share
// of the figure, and not less than what is seen; what the runs within boots leave open comes on
// top.
func shiftDeclared(a, b []Run, between float64) Shift {
	s := Shift{NA: len(a), NB: len(b), Level: DeclaredBoots}
	var means [2]float64
	var of [2][]float64
	df, spread, variance := 0, between, 0.0
	for side, runs := range [][]Run{a, b} {
		of[side] = bootMeans(runs, bootsOf(runs))
		means[side] = mean(of[side])
		if sd := deviation(of[side]); len(of[side]) > 1 && means[side] != 0 && sd/math.Abs(means[side]) > spread {
			spread = sd / math.Abs(means[side])
		}
	}
	for side, runs := range [][]Run{a, b} {
		open, f := openMean(runs)
		variance += squareOf(spread*means[side])/float64(len(of[side])) + open
		df += f
	}
	s.A, s.B, s.Diff, s.Between = means[0], means[1], means[1]-means[0], spread
	se := math.Sqrt(variance)
	s.interval(se, float64(max(df, 1)))
	if s.P = 1; se > 0 {
		s.P = min(1, 2*(1-stats.TDist{V: float64(max(df, 1))}.CDF(math.Abs(s.Diff)/se)))
	}
	return s
}

// openMean estimates how much variance runs within boots leave to the mean of the boots' means, and
// its degrees of freedom.
func openMean(runs []Run) (variance float64, df int) {
	boots := bootsOf(runs)
	squares, share := 0.0, 0.0
	for _, v := range perBoot(runs, boots) {
		squares += squareOf(deviation(v)) * float64(len(v)-1)
		df += len(v) - 1
		share += 1 / float64(len(v))
	}
	if df == 0 {
		return 0, 0
	}
	k := float64(len(boots))
	return squares / float64(df) * share / (k * k), df
}

// plainStrata does what [strataOf] does, for the values themselves, as shares of the greatest:
// their size tells values that differ only by rounding from those that really do.
func plainStrata(a, b []Run, of func(Run) Run) []stratum {
	va, vb := valuesOf(a), valuesOf(b)
	scale := scaleOf(va, vb)
	for _, v := range [][]float64{va, vb} {
		for i := range v {
			v[i] *= scale
		}
	}
	return strataBy(a, b, va, vb, of)
}

func scaleOf(a, b []float64) float64 {
	most := 0.0
	for _, v := range slices.Concat(a, b) {
		most = max(most, math.Abs(v))
	}
	if s := 1 / most; !math.IsInf(s, 0) { // that of 0 is, and that of the smallest numbers
		return s
	}
	return 1
}

// bootMeans computes the mean of each of some boots.
func bootMeans(runs []Run, boots []string) (out []float64) {
	for _, v := range perBoot(runs, boots) {
		out = append(out, mean(v))
	}
	return out
}

func squareOf(x float64) float64 { return x * x }

// ShiftFamily corrects the shifts of one question for their number. Those that could not be tested
// do not count. It returns how many did.
func ShiftFamily(all []*Shift) (tests int) {
	var tested []*Shift
	var p []float64
	for _, s := range all {
		if s.Testable() {
			tested, p = append(tested, s), append(p, s.P)
		}
	}
	for i, adjusted := range Holm(p) {
		tested[i].Adjusted = adjusted
	}
	return len(tested)
}

// Testable reports whether there are enough values on both sides, and an interval.
func (s *Shift) Testable() bool {
	return min(s.NA, s.NB) >= MinRuns && s.Lo != nil && s.Level != TooFewBoots
}

// Sign calls a shift only where the corrected test and the interval agree on it.
func (s *Shift) Sign() Sign {
	switch {
	case !s.Testable() || s.Adjusted >= Alpha:
		return Unknown
	case *s.Hi < 0:
		return Less
	case *s.Lo > 0:
		return Greater
	}
	return Unknown
}

// Tests returns how many comparisons at most can get verdicts together from the runs of this one.
func (s *Shift) Tests() int { return mostTests(s.Least) }

func mostTests(least float64) int {
	if least <= 0 {
		return math.MaxInt32
	}
	return max(0, int(math.Ceil(min(Alpha/least, math.MaxInt32)))-1) // below Alpha, not at it
}
