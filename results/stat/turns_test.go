// SPDX-License-Identifier: MIT

package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// turnsOf makes runs of two cells that took turns in n starts: what starts differ by is the same
// for both.
func turnsOf(rng *rand.Rand, n int, start, own, effect float64) (a, b []Run) {
	for i := range n {
		all := math.Exp(start * rng.NormFloat64())
		run := Run{Boot: "b", Session: "s", Start: fmt.Sprint("s ", i), Rep: i, Together: int64(i + 1)}
		for k, of := range []*[]Run{&a, &b} {
			run.Value = all * math.Exp(own*rng.NormFloat64()+float64(k)*effect)
			*of = append(*of, run)
		}
	}
	return a, b
}

// Two that took turns are compared within starts, if that can decide; else, and where one of them
// was open by itself, within pairs of starts. That depends on numbers alone.
func TestChoose(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 1))
	a, b := turnsOf(rng, 10, .1, .01, .05)
	within, pairs := leastInTurns(10), leastBlocked(10)
	apart := append([]Run(nil), b...)
	apart[3].Together = 99
	for _, x := range []struct {
		name  string
		b     []Run
		level float64
		least float64
	}{
		{"together", b, .02, within}, {"too many comparisons", b, .0019, pairs}, {"one by itself", apart, .02, pairs},
	} {
		d := Contrast(a, x.b, Between{})
		d.Choose(x.level)
		if !near(d.Least, x.least) || d.Level != AcrossStarts || d.InTurns() != (x.least == within) {
			t.Errorf("%s: least p %g, want %g, %s", x.name, d.Least, x.least, d.Level)
		}
	}
	d := Contrast(a, b, Between{})
	was := d.P
	d.Choose(.02)
	found := d.P
	if d.Choose(1e-9); d.P != was || found >= was {
		t.Errorf("p %g within pairs, %g within starts, and %g within pairs again", was, found, d.P)
	}
	if r := NewReach(10, 2).With(.8).InTurns(); !near(r.LeastP, within*2/.8) {
		t.Errorf("foretold %g", r.LeastP)
	}
	if r := NewReach(10, 30).With(.8).InTurns(); !near(r.LeastP, pairs*30/.8) {
		t.Errorf("of many foretold %g", r.LeastP)
	}
}

// Whatever starts differ by: equal ones are called different in at most 5 %, bounds leave the truth
// out in no more, and 5 % is found although starts differ by 10.
func TestTurns(t *testing.T) {
	rounds := long.Rounds(500, 10000)
	for _, x := range []struct {
		starts     int
		start, own float64
	}{{8, .1, .025}, {10, .1, .025}, {10, 0, .025}, {12, .3, .01}} {
		rng := rand.New(rand.NewPCG(53, uint64(x.starts)))
		wrong, missed, found := 0, 0, 0
		for range rounds {
			a, b := turnsOf(rng, x.starts, x.start, x.own, 0)
			d := Contrast(a, b, Between{})
			d.Choose(Alpha)
			if d.Sign() != Unknown {
				wrong++
			}
			if q := d.Told(Alpha); q == nil || *q.Lo > 1 || *q.Hi < 1 {
				missed++
			}
			a, b = turnsOf(rng, x.starts, x.start, x.own, .05)
			d = Contrast(a, b, Between{})
			d.Choose(Alpha)
			if d.Sign() == Greater {
				found++
			}
		}
		t.Logf("%+v: %d of %d call equal ones different, %d intervals miss, %d find 5 %%", x, wrong, rounds, missed,
			found)
		most := float64(rounds)*.05 + 3*math.Sqrt(.05*.95*float64(rounds))
		if float64(wrong) > most || float64(missed) > most || float64(found) < .85*float64(rounds) {
			t.Errorf("%+v: %d of %d call equal ones different, %d intervals miss, %d find 5 %%", x, wrong, rounds,
				missed,
				found)
		}
	}
}

// The test is chosen so that it can also give bounds of each figure: of 8 starts and 5 pairs one
// figure can be tested in turns, and the bounds of two are beyond that.
func TestBoundsOfTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 5))
	for _, figures := range []int{1, 2} {
		var all [][]*Difference
		for range 5 {
			var of []*Difference
			for range figures {
				a, b := turnsOf(rng, 8, .1, .02, 0)
				of = append(of, new(Contrast(a, b, Between{})))
			}
			all = append(all, of)
		}
		Questions{Main: all, ForMain: 1}.Decide()
		for _, of := range all {
			for _, d := range of {
				if q := d.Told(Alpha * d.Weight() / float64(figures)); q == nil || q.Lo == nil ||
					d.InTurns() != (figures == 1) {
					t.Errorf("%d figures: bounds %v, in turns: %v", figures, q, d.InTurns())
				}
			}
		}
	}
}

// What a decided pair passes on is for tests: the others' bounds have what they began with.
func TestWeights(t *testing.T) {
	one := func(p float64) []*Difference {
		d := figures(rand.New(rand.NewPCG(1, 1)), 1, 6, .001, 2)[0][0]
		d.P, d.strata = p, nil
		return []*Difference{d}
	}
	for _, x := range []struct {
		name        string
		q           Questions
		main, other float64
	}{
		{"one of two is decided", Questions{Main: [][]*Difference{one(.01), one(.5)}, ForMain: 1}, .5, 0},
		{"none is", Questions{Main: [][]*Difference{one(.4), one(.5)}, ForMain: 1}, .5, 0},
		{"others follow", Questions{Main: [][]*Difference{one(.01), one(.5)}, Others: [][]*Difference{one(.5)},
			ForMain: .8, ForOthers: .2}, .8 / 2, .2},
	} {
		x.q.Decide()
		if w := x.q.Main[1][0].Weight(); !near(w, x.main) {
			t.Errorf("%s: %g, want %g", x.name, w, x.main)
		}
		if x.other > 0 {
			if w := x.q.Others[0][0].Weight(); !near(w, x.other) {
				t.Errorf("%s, others: %g, want %g", x.name, w, x.other)
			}
		}
	}
}
