// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// figures makes so many figures of pairs of cells with a common baseline, in blocks of one session:
// throughput, a cost per byte, and a return on it, so that they say much the same. effect is that
// of the first pair.
func figures(rng *rand.Rand, pairs, runs int, cv, effect float64) (out [][]*Difference) {
	cells := make([][3][]Run, pairs+1)
	for i := range cells {
		for rep := range runs {
			t, c := math.Exp(cv*rng.NormFloat64()), math.Exp(cv*rng.NormFloat64())
			if i == 1 {
				t *= effect
			}
			for f, v := range []float64{t, c / t, t * t / c} {
				cells[i][f] = append(cells[i][f], Run{Value: v, Boot: "b", Session: "s", Rep: rep})
			}
		}
	}
	for i := range pairs {
		var of []*Difference
		for f := range cells[0] {
			of = append(of, new(Contrast(cells[0][f], cells[i+1][f], Between{})))
		}
		out = append(out, of)
	}
	return out
}

// Over all pairs and figures, those that come first and those after them, at most 5 % of
// experiments with equal cells call any difference; nor do more where some pairs differ. What comes
// first is found as often, whatever else is asked.
func TestDecide(t *testing.T) {
	long.Garbage(t)
	rounds := long.Rounds(300, 4000)
	for _, c := range []struct {
		name          string
		main, others  int
		rest          bool
		effect        float64
		least, wrongs float64
	}{
		{"5 pairs", 5, 0, false, 1, 0, .05},
		{"1 pair", 1, 0, false, 1, 0, .05},
		{"one of 5 differs", 5, 0, true, 1.05, .9, .05},
		{"1 pair that differs, and 17 that do not", 1, 17, true, 1.05, .95, .05},
	} {
		rng := rand.New(rand.NewPCG(52, uint64(c.main)))
		wrong, found, after := 0, 0, 0
		for range rounds {
			all := figures(rng, c.main+c.others, 10, .02, c.effect)
			rest := Questions{Main: all[:c.main], Others: all[c.main:], ForMain: 1, Rest: c.rest}.Decide()
			any := false
			for i, of := range all {
				for _, d := range of {
					differs := d.Sign() != Unknown
					if i == 0 && c.effect != 1 {
						if differs && d == of[0] {
							found++
						}
						continue
					}
					any = any || differs
				}
			}
			if c.rest && rest.Adjust(rng.Float64(), 1) < Alpha { // something is asked that is not so
				any = true
				after++
			}
			if any {
				wrong++
			}
		}
		t.Logf("%s: %d of %d experiments call equal cells different (%d after), %d find it", c.name, wrong, rounds,
			after,
			found)
		if float64(wrong) > float64(rounds)*(c.wrongs+2.5*math.Sqrt(.05*.95/float64(rounds))) ||
			float64(found) < c.least*float64(rounds) {
			t.Errorf("%s: %d of %d experiments call equal cells different, %d find it", c.name, wrong, rounds, found)
		}
	}
}

// Figures of which each has the smallest p there is cost each other nothing; the shares of the
// level are what the procedure says.
func TestShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	far := figures(rng, 1, 6, .001, 2)[0]
	for i, p := range jointly(far) {
		if !near(p, far[i].Least) {
			t.Errorf("figure %d: %g, want %g", i, p, far[i].Least)
		}
	}
	one := func(p float64) []*Difference {
		d := figures(rng, 1, 6, .001, 2)[0][0]
		d.P, d.strata = p, nil
		return []*Difference{d}
	}
	for _, c := range []struct {
		name         string
		q            Questions
		main, others []float64
		left         float64
	}{
		{"by Holm", Questions{Main: [][]*Difference{one(.01), one(.02), one(.03)}, ForMain: 1},
			[]float64{.03, .04, .04},
			nil, 0},
		{"one of two is decided", Questions{Main: [][]*Difference{one(.01), one(.5)},
			Others:  [][]*Difference{one(.001)},
			ForMain: 1}, []float64{.02, 2. / 3}, []float64{.02}, 0},
		{"none is", Questions{Main: [][]*Difference{one(.5)}, Others: [][]*Difference{one(1e-9)}, ForMain: 1},
			[]float64{.5}, []float64{.5}, 0},
		{"all are", Questions{Main: [][]*Difference{one(.01)}, ForMain: 1, Rest: true}, []float64{.01}, nil, 1},
		{"there is nothing first", Questions{Others: [][]*Difference{one(.01), one(.04)}, ForMain: 1}, nil,
			[]float64{.02, .04}, 0},
	} {
		rest := c.q.Decide()
		for i, of := range c.q.Main {
			if !near(of[0].Adjusted, c.main[i]) {
				t.Errorf("%s: %d: %g, want %g", c.name, i, of[0].Adjusted, c.main[i])
			}
		}
		for i, of := range c.q.Others {
			if !near(of[0].Adjusted, c.others[i]) {
				t.Errorf("%s: other %d: %g, want %g", c.name, i, of[0].Adjusted, c.others[i])
			}
		}
		if w := rest.Weight(); !near(w, c.left) {
			t.Errorf("%s: %g is left, want %g", c.name, w, c.left)
		}
	}
}

// Bounds of pairs without a finding leave out the truth in at most 5 % of reports, also where every
// pair differs and many are decided: which are not is chosen by what was measured, so these have no
// more of the level than they began with.
func TestBoundsHold(t *testing.T) {
	const effect = .95
	rounds := long.Rounds(400, 4000)
	for _, pairs := range []int{10, 20} {
		rng := rand.New(rand.NewPCG(52, uint64(pairs)))
		missed, open := 0, 0
		for range rounds {
			var all [][]*Difference
			for range pairs {
				all = append(all, figures(rng, 1, 20, .0405, effect)[0][:1])
			}
			Questions{Main: all, ForMain: 1}.Decide()
			any := false
			for _, of := range all {
				if d := of[0]; d.Sign() == Unknown {
					open++
					q := d.Told(Alpha * d.Weight())
					any = any || q != nil && (*q.Lo > effect || *q.Hi < effect)
				}
			}
			if any {
				missed++
			}
		}
		t.Logf("%d pairs: %d of %d reports have bounds that leave out the truth; %d pairs are open", pairs, missed,
			rounds,
			open)
		if float64(missed) > float64(rounds)*.05+3*math.Sqrt(.05*.95*float64(rounds)) || open < rounds/2 {
			t.Errorf("%d pairs: %d of %d reports have bounds that leave out the truth; %d pairs are open", pairs,
				missed,
				rounds, open)
		}
	}
}
