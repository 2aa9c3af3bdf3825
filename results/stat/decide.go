// SPDX-License-Identifier: MIT

package stat

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Questions are all that one report or comparison asks of pairs of cells: of each pair some
// figures. They are decided together, so that in at most [Alpha] of reports anything is stated that
// is not so, whatever else is.
//
// The pairs of Main come first. Each has its share of the level, which its figures use together
// (see jointly); a pair that is decided in all its figures leaves its share: half of it to
// those of Main that are left, half to the others and to what follows (truncated Holm procedure,
// Dmitrienko, Tamhane and Wiens 2008). So nothing that is asked besides makes it harder to decide
// what Main asks, if Main has all of the level.
type Questions struct {
	Main, Others [][]*Difference
	// ForMain, ForOthers and ForRest are what they have of the level from the beginning, together 1
	// at most. Rest: something follows, which is asked with what is left.
	ForMain, ForOthers, ForRest float64
	Rest                        bool
}

// Rest is what is left of the level, for what is asked after the pairs: at each level of all, what
// share.
type Rest struct{ steps []step }

type step struct{ level, weight float64 }

// All is the whole level: nothing was asked before.
var All = Rest{[]step{{0, 1}}}

// Adjust corrects the p of one of so many things that are asked with what is left.
func (r Rest) Adjust(p, of float64) float64 { return adjust(r.steps, p*of) }

// Weight returns the share that is left at the level of all tests.
func (r Rest) Weight() (w float64) {
	for _, s := range r.steps {
		if s.level < Alpha {
			w = s.weight
		}
	}
	return w
}

// adjust finds the smallest level at which p is below its share of it. Levels rise, and so do
// weights.
func adjust(steps []step, p float64) float64 {
	need := func(i int) float64 {
		if steps[i].weight <= 0 {
			return 1
		}
		return max(steps[i].level, p/steps[i].weight)
	}
	i := sort.Search(len(steps), func(i int) bool { return steps[i].weight > 0 && steps[i].level >= p/steps[i].weight })
	out := 1.0
	for _, k := range []int{i - 1, i} {
		if k >= 0 && k < len(steps) {
			out = min(out, need(k))
		}
	}
	return out
}

// tier is some pairs that have the same share.
type tier struct {
	each  [][]*Difference
	p     [][]float64 // of each pair's figures, corrected within it
	last  []float64   // the largest of them, in order: with it a pair is decided
	gone  int         // pairs that are
	steps []step
}

// mostJointly is of how many pairs the figures are corrected together; of more, by Holm.
const mostJointly = 2000

// newTier makes a tier of pairs that have a share of the level together.
func newTier(each [][]*Difference, share float64) (t tier) {
	var pairs [][]*Difference
	for _, ds := range each {
		var tested []*Difference
		for _, d := range ds {
			if d.Testable() {
				tested = append(tested, d)
			}
		}
		if tested != nil {
			pairs = append(pairs, tested)
		}
	}
	for _, tested := range pairs {
		for _, d := range tested {
			d.Choose(Alpha * share / float64(len(pairs)*len(tested))) // at which bounds are told
		}
		var p []float64
		if len(each) <= mostJointly {
			p = jointly(tested)
		} else {
			for _, d := range tested {
				p = append(p, d.P)
			}
			p = Holm(p)
		}
		t.each, t.p, t.last = append(t.each, tested), append(t.p, p), append(t.last, slices.Max(p))
	}
	slices.SortFunc(t.last, cmp.Compare)
	return t
}

// share computes what each pair that is left has of a budget, and what the tier passes on.
func (t *tier) share(budget float64, passes bool) (each, on float64) {
	n, left := float64(len(t.last)), float64(len(t.last)-t.gone)
	switch {
	case left == 0:
		return 0, budget
	case passes:
		return budget * (.5/left + .5/n), budget * .5 * (n - left) / n
	}
	return budget / left, 0
}

func (t *tier) next(weight float64) float64 {
	if t.gone == len(t.last) || weight <= 0 {
		return math.Inf(1)
	}
	return t.last[t.gone] / weight
}

// settle writes the corrected p into the figures, and what their pairs have of the level. That is
// what each had at the beginning: what decided pairs pass on is for tests, and bounds that had it
// would leave out the truth more often.
func (t *tier) settle() {
	for i, ds := range t.each {
		for k, d := range ds {
			d.Adjusted, d.weight = adjust(t.steps, t.p[i][k]), t.steps[0].weight
		}
	}
}

func anyTestable(pairs [][]*Difference) bool {
	return slices.ContainsFunc(pairs, func(ds []*Difference) bool {
		return slices.ContainsFunc(ds, (*Difference).Testable)
	})
}

// Decide corrects the p of all figures, and returns what is left.
func (q Questions) Decide() Rest {
	if !anyTestable(q.Main) { // there is nothing that comes first
		q.ForOthers, q.ForMain = q.ForOthers+q.ForMain, 0
	}
	main, others := newTier(q.Main, q.ForMain), newTier(q.Others, q.ForOthers)
	var rest Rest
	for level := 0.0; ; {
		ofMain := q.ForMain
		if others.gone == len(others.last) && !q.Rest {
			ofMain += q.ForOthers
		}
		wMain, on := main.share(ofMain, q.Rest || len(others.last) > 0)
		toOthers := 0.0
		if len(others.last) > 0 {
			if toOthers = on; q.Rest {
				toOthers /= 2
			}
		}
		wOthers, left := others.share(q.ForOthers+toOthers, q.Rest)
		if main.gone < len(main.last) {
			main.steps = append(main.steps, step{level, wMain})
		}
		if others.gone < len(others.last) {
			others.steps = append(others.steps, step{level, wOthers})
		}
		if q.Rest {
			rest.steps = append(rest.steps, step{level, q.ForRest + on - toOthers + left})
		}
		x, y := main.next(wMain), others.next(wOthers)
		if level = max(level, min(x, y)); level >= 1 {
			break
		}
		if x <= y {
			main.gone++
		} else {
			others.gone++
		}
	}
	main.settle()
	others.settle()
	return rest
}

// at computes the interval of the ratio that leaves out the truth in at most alpha, by the test of
// P: all ratios that it does not reject. nil: so few values give none.
func (d *Difference) at(alpha float64) *Ratio {
	if d.Ratio == nil && d.t == nil {
		return nil
	}
	if d.t != nil {
		far := d.t.far(alpha)
		lo, hi := math.Exp(d.shift-far), math.Exp(d.shift+far)
		return &Ratio{Value: math.Exp(d.shift), Lo: &lo, Hi: &hi}
	}
	if d.strata == nil || !(d.Ratio.Value > 0) || d.Least > alpha || !d.Testable() {
		return nil
	}
	middle := math.Log(d.Ratio.Value)
	lo, hi := math.Exp(d.end(middle, -1, alpha)), math.Exp(d.end(middle, 1, alpha))
	return &Ratio{Value: d.Ratio.Value, Lo: &lo, Hi: &hi}
}

// end looks for the end of the interval on one side of the middle.
func (d *Difference) end(middle, side, alpha float64) float64 {
	shifted := make([]stratum, len(d.strata))
	for i, s := range d.strata {
		shifted[i] = stratum{s.a, make([]float64, len(s.b))}
	}
	inside := func(far float64) bool {
		for i, s := range d.strata {
			for k, v := range s.b {
				shifted[i].b[k] = v - middle - side*far
			}
		}
		p, _ := permuteBlocks(shifted)
		return p > alpha
	}
	// Most such intervals are a little wider than that of the difference.
	lo, hi := 0.0, 1e-4
	if q := d.Ratio; q.Lo != nil && *q.Lo > 0 {
		hi = max(hi, math.Abs(math.Log(map[bool]float64{true: *q.Hi, false: *q.Lo}[side > 0])-middle))
	}
	for inside(hi) && hi < 50 {
		lo, hi = hi, 1.5*hi
	}
	for range 9 {
		if mid := (lo + hi) / 2; inside(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return middle + side*hi
}

// Told returns the interval of a ratio that is told because it was chosen from many: it leaves out
// the truth in at most alpha. It never is narrower than the interval of the difference. nil: so few
// values give none.
func (d *Difference) Told(alpha float64) *Ratio {
	q := d.at(alpha)
	if q == nil || d.Ratio == nil || d.Ratio.Lo == nil {
		return q
	}
	*q.Lo, *q.Hi = min(*q.Lo, *d.Ratio.Lo), max(*q.Hi, *d.Ratio.Hi)
	return q
}

// MedianOfUnits computes the distribution-free interval of the median of runs that leaves it out in
// at most alpha: of the medians of six starts or more if there are, which stand for their runs.
// nil: so few give none.
func MedianOfUnits(runs []Run, alpha float64) (lo, hi *float64) {
	v := valuesOf(runs)
	if of := medians(runs, Run.start); len(of) >= MinRuns {
		v = of
	}
	slices.Sort(v)
	n := len(v)
	tail, ways, k := 0.0, math.Pow(.5, float64(n)), 0
	for i := 0; i < n/2; i++ { // that i of n are below the median
		if tail += ways; 2*tail > alpha {
			break
		}
		k, ways = i+1, ways*float64(n-i)/float64(i+1)
	}
	if k == 0 {
		return nil, nil
	}
	return &v[k-1], &v[n-k]
}
