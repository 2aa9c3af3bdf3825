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

	Level   Level `json:"level,omitempty"`
	BootsA  int   `json:"boots_a,omitempty"`
	BootsB  int   `json:"boots_b,omitempty"`
	StartsA int   `json:"starts_a,omitempty"`
	StartsB int   `json:"starts_b,omitempty"`
	// OfSessions: the starts are sessions, of which the two have none in common.
	OfSessions bool     `json:"of_sessions,omitempty"`
	Between    float64  `json:"between_boots,omitempty"` // spread between boots that was taken
	Warnings   []string `json:"warnings,omitempty"`

	inTurns, ofPairs []stratum // see [Shift.Choose]
	within           bool      // P is of pairs within starts
}

// Choose takes the test that can decide at a level where the two took turns in each start, as
// [Difference.Choose] does.
func (s *Shift) Choose(level float64) {
	if s.inTurns == nil {
		return
	}
	strata := s.ofPairs
	if s.within = leastInTurns(len(s.inTurns)) < level; s.within {
		strata = s.inTurns
	}
	s.P, s.Least = permuteBlocks(strata)
	s.Adjusted = s.P
}

// InTurns reports whether P is of pairs within starts.
func (s *Shift) InTurns() bool { return s.within }

// TookTurns reports whether the two took turns in each start, whatever P is of.
func (s *Shift) TookTurns() bool { return s.inTurns != nil }

// ShiftOf compares the runs b with the runs a, at the level at which [Contrast] does.
func ShiftOf(a, b []Run, between Between) Shift {
	boots, both := unitsOfBoth(a, b, Run.boot)
	var s Shift
	switch {
	case len(a) == 0 || len(b) == 0:
		s = Shift{NA: len(a), NB: len(b), P: 1, Least: 1, Warnings: tooFew(len(a), len(b), 0)}
	case len(both) > 0:
		s = shiftWithin(only(a, both), only(b, both), both, between)
	default:
		s = shiftOfUnits(a, b, Units{"boot", Run.boot}, between.Boots)
		s.Level = map[Level]Level{AcrossStarts: AcrossBoots, DeclaredStarts: DeclaredBoots,
			tooFewStarts: TooFewBoots}[s.Level]
		if s.Level == TooFewBoots && min(s.NA, s.NB) >= MinRuns {
			s.Warnings = fewUnits("boot", boots)
		}
	}
	s.Adjusted, s.BootsA, s.BootsB = s.P, len(boots[0]), len(boots[1])
	unit := unitApart(a, b)
	s.StartsA, s.StartsB, s.OfSessions = len(unitsOf(a, unit.key)), len(unitsOf(b, unit.key)), unit.Name == "session"
	return s
}

// shiftOfUnits compares runs that have no unit, start, session or boot, in common.
func shiftOfUnits(a, b []Run, unit Units, between Spread) (s Shift) {
	us := [2][]string{unitsOf(a, unit.key), unitsOf(b, unit.key)}
	switch {
	case min(len(us[0]), len(us[1])) >= MinRuns:
		s = shiftApart(unitMeans(a, us[0], unit.key), unitMeans(b, us[1], unit.key))
		s.NA, s.NB, s.Level = len(a), len(b), AcrossStarts
	case between.SD > 0 && min(len(a), len(b)) >= MinRuns:
		s = shiftDeclared(a, b, unit.key, between)
	default:
		s = shiftApart(valuesOf(a), valuesOf(b))
		if s.Level = tooFewStarts; len(s.Warnings) == 0 {
			s.Warnings = fewUnits(unit.Name, us)
		}
		s.P, s.Lo, s.Hi = 1, nil, nil
	}
	return s
}

// shiftWithin compares runs of the same boots.
func shiftWithin(a, b []Run, boots []string, between Between) (s Shift) {
	if len(boots) >= MinRuns {
		return shiftOfBoots(a, b, boots)
	}
	_, both := unitsOfBoth(a, b, Run.start)
	switch n := len(both); {
	case n == 0:
		unit := unitApart(a, b)
		if s = shiftOfUnits(a, b, unit, between.starts()); s.Level == AcrossStarts && len(boots) > 1 {
			x, y := byBoot(ofUnits(a, unit.key, mean)), byBoot(ofUnits(b, unit.key, mean))
			s.P, s.Least = permuteBlocks(plainStrata(x, y, func(r Run) Run { return Run{Boot: r.Boot} }))
		}
	case n >= MinRuns:
		x, y := ofStarts(onlyOf(a, both, Run.start), onlyOf(b, both, Run.start), mean)
		s, _ = shiftOfBlocks(x, y)
		s.NA, s.NB, s.Level = len(a), len(b), AcrossStarts
	default:
		a, b = onlyOf(a, both, Run.start), onlyOf(b, both, Run.start)
		ok := false
		if s, ok = shiftOfBlocks(a, b); !ok {
			s = shiftApart(valuesOf(a), valuesOf(b))
			if n > 1 {
				x, y := byStart(a), byStart(b)
				s.P, s.Least = permuteBlocks(plainStrata(x, y, func(r Run) Run { return Run{Boot: r.Boot} }))
			}
		}
		s.Level = levelWithin(a, len(boots), n)
	}
	if len(boots) > 1 && s.Level != tooFewStarts && s.Level != DeclaredStarts {
		s.Level = WithinBoots
	}
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
	x, y := paired(a, b)
	if len(x) == 0 {
		return s, false
	}
	s = shiftOfPairs(valuesOf(x), valuesOf(y))
	s.NA, s.NB = n[0], n[1]
	if inTurns(x, y) {
		s.inTurns = pairsOf(plain(x, y))
	}
	a, b = ofBoth(a, b)
	s.ofPairs = plainStrata(a, b, pairOfBlocks)
	s.P, s.Least = permuteBlocks(s.ofPairs)
	s.Warnings = tooFew(s.NA, s.NB, s.Pairs)
	return s, true
}

// shiftOfBoots compares two cells by their means in each of six boots or more: the boots are the
// sample.
func shiftOfBoots(a, b []Run, boots []string) Shift {
	va, vb := unitMeans(a, boots, Run.boot), unitMeans(b, boots, Run.boot)
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

// shiftDeclared compares means of units, boots or starts, with a spread between them that was
// declared, as a share of the figure, and not less than what is seen with it; what the runs within
// units leave open comes on top.
func shiftDeclared(a, b []Run, unit func(Run) string, between Spread) Shift {
	s := Shift{NA: len(a), NB: len(b), Level: DeclaredStarts}
	var means [2]float64
	var of, share [2][]float64
	for side, runs := range [][]Run{a, b} {
		of[side] = unitMeans(runs, unitsOf(runs, unit), unit)
		means[side] = mean(of[side])
		for _, v := range of[side] {
			if means[side] != 0 {
				v /= math.Abs(means[side])
			}
			share[side] = append(share[side], v)
		}
	}
	t, spread := student{}, between.with(share)
	t.add(squareOf(spread.SD*means[0])/float64(len(of[0]))+squareOf(spread.SD*means[1])/float64(len(of[1])), spread.Of)
	for _, runs := range [][]Run{a, b} {
		t.add(openMean(runs, unit))
	}
	s.A, s.B, s.Diff, s.Between = means[0], means[1], means[1]-means[0], spread.SD
	lo, hi := s.Diff-t.far(1-confidence), s.Diff+t.far(1-confidence)
	s.Lo, s.Hi, s.P = &lo, &hi, t.p(s.Diff)
	return s
}

// openMean estimates how much variance runs within units leave to the mean of the units' means, and
// its degrees of freedom.
func openMean(runs []Run, unit func(Run) string) (variance float64, df int) {
	units := unitsOf(runs, unit)
	squares, share := 0.0, 0.0
	for _, v := range perUnit(runs, units, unit) {
		squares += squareOf(deviation(v)) * float64(len(v)-1)
		df += len(v) - 1
		share += 1 / float64(len(v))
	}
	if df == 0 {
		return 0, 0
	}
	k := float64(len(units))
	return squares / float64(df) * share / (k * k), df
}

// plainStrata does what [strataOf] does, for the values themselves, as shares of the greatest:
// their size tells values that differ only by rounding from those that really do.
func plainStrata(a, b []Run, of func(Run) Run) []stratum {
	va, vb := plain(a, b)
	return strataBy(a, b, va, vb, of)
}

// plain returns the values of both as shares of the greatest.
func plain(a, b []Run) (va, vb []float64) {
	va, vb = valuesOf(a), valuesOf(b)
	scale := scaleOf(va, vb)
	for _, v := range [][]float64{va, vb} {
		for i := range v {
			v[i] *= scale
		}
	}
	return va, vb
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

// unitMeans computes the mean of each of some units.
func unitMeans(runs []Run, units []string, unit func(Run) string) (out []float64) {
	for _, v := range perUnit(runs, units, unit) {
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
	return min(s.NA, s.NB) >= MinRuns && s.Lo != nil && s.Level != TooFewBoots && s.Level != tooFewStarts
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
