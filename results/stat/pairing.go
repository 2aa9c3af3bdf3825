// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"slices"
)

// blocks compares runs that share blocks; ok is false where they do not, or a repetition is
// there twice.
func blocks(a, b []Run) (d Difference, ok bool) {
	if !allPositive(a, b) {
		return d, false
	}
	n := [2]int{len(a), len(b)}
	a, okA := placed(a)
	b, okB := placed(b)
	if !okA || !okB {
		return d, false
	}
	theirs, ours := paired(a, b)
	if len(ours) == 0 {
		return d, false
	}
	d = Difference{NA: n[0], NB: n[1], Pairs: len(ours)}
	pairs := Pairs(valuesOf(ours), valuesOf(theirs))
	d.Ratio = &Ratio{Value: pairs.Estimate}
	if pairs.HasInterval() {
		d.Ratio.Lo, d.Ratio.Hi = &pairs.Lo, &pairs.Hi
	}
	if inTurns(theirs, ours) {
		d.inTurns = pairsOf(logsOf(theirs), logsOf(ours))
	}
	a, b = ofBoth(a, b)
	d.test(strataOf(a, b, pairOfBlocks))
	d.ofPairs = d.strata
	d.warnFew()
	return d, true
}

// inTurns reports whether the two of each pair took turns.
func inTurns(a, b []Run) bool {
	for i := range a {
		if a[i].Together == 0 || a[i].Together != b[i].Together {
			return false
		}
	}
	return true
}

// pairsOf makes a stratum of each pair: what is permuted is its sign.
func pairsOf(a, b []float64) []stratum {
	out := make([]stratum, len(a))
	for i := range a {
		out[i] = stratum{a: a[i : i+1 : i+1], b: b[i : i+1 : i+1]}
	}
	return out
}

// pairOfBlocks reduces a run to what tells pairs of blocks apart.
func pairOfBlocks(r Run) Run { return Run{Boot: r.Boot, Session: r.Session, Rep: r.Rep / 2} }

// paired returns the runs at the places that both have; both must be in the order of places.
func paired(a, b []Run) (x, y []Run) {
	x, y = make([]Run, 0, len(a)), make([]Run, 0, len(b))
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch c := place(a[i], b[k]); {
		case c < 0:
			i++
		case c > 0:
			k++
		default:
			x, y = append(x, a[i]), append(y, b[k])
			i, k = i+1, k+1
		}
	}
	return x, y
}

// ofBoth leaves out the runs of blocks of which the other cell has none: it may lack one because
// the block was a bad one. A block that a boot cut in two has a run of both.
func ofBoth(a, b []Run) (x, y []Run) {
	at := func(r Run) Run { return Run{Boot: r.Boot, Session: r.Session, Rep: r.Rep} }
	places := func(runs []Run) map[Run]bool {
		m := make(map[Run]bool, len(runs))
		for _, r := range runs {
			m[at(r)] = true
		}
		return m
	}
	inA, inB := places(a), places(b)
	alone := func(runs []Run, there map[Run]bool) map[int]bool {
		m := map[int]bool{}
		for _, r := range runs {
			if !there[at(r)] {
				m[r.Rep] = true
			}
		}
		return m
	}
	aloneA, aloneB := alone(a, inB), alone(b, inA)
	if len(aloneA)+len(aloneB) == 0 {
		return a, b
	}
	only := func(runs []Run, there map[Run]bool, others map[int]bool) []Run {
		return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !there[at(r)] && !others[r.Rep] })
	}
	return only(a, inB, aloneB), only(b, inA, aloneA)
}

// strataOf sorts logarithms by strata; of tells a run's, and runs of one stratum stand one
// after another. A stratum of one cell alone says nothing.
func strataOf(a, b []Run, of func(Run) Run) (out []stratum) {
	return strataBy(a, b, logsOf(a), logsOf(b), of)
}

// strataBy does what [strataOf] does, with other figures of the runs than their logarithms.
func strataBy(a, b []Run, la, lb []float64, of func(Run) Run) (out []stratum) {
	out = make([]stratum, 0, max(len(a), len(b)))
	for i, k := 0, 0; i < len(a) && k < len(b); {
		x, y := of(a[i]), of(b[k])
		toA, toB := i, k
		for toA < len(a) && of(a[toA]) == x {
			toA++
		}
		for toB < len(b) && of(b[toB]) == y {
			toB++
		}
		switch c := place(x, y); {
		case c < 0:
			i = toA
		case c > 0:
			k = toB
		default:
			out = append(out, stratum{la[i:toA:toA], lb[k:toB:toB]})
			i, k = toA, toB
		}
	}
	return out
}

func logsOf(runs []Run) []float64 {
	out := make([]float64, len(runs))
	for i, r := range runs {
		out[i] = math.Log(r.Value)
	}
	return out
}

// acrossPairs compares two cells by their ratios in each of six boots or more: the boots are
// the sample.
func acrossPairs(a, b []Run) Difference {
	ours, theirs := medians(b, Run.boot), medians(a, Run.boot) // of the same boots, in the same order
	pairs := Pairs(ours, theirs)
	d := Difference{NA: len(a), NB: len(b), Pairs: len(ours), Level: AcrossBoots, Ratio: &Ratio{Value: pairs.Estimate,
		Lo: &pairs.Lo, Hi: &pairs.Hi}}
	strata := make([]stratum, len(ours)) // of one pair each: what is permuted is its sign
	for i := range ours {
		strata[i] = stratum{a: []float64{math.Log(theirs[i])}, b: []float64{math.Log(ours[i])}}
	}
	d.test(strata)
	d.warnFew()
	return d
}
