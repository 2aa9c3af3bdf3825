// SPDX-License-Identifier: MIT

package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// boots makes runs of some boots of one cell: their means vary by between, the runs of each
// by within.
func boots(rng *rand.Rand, name string, boots, runs int, between, within, effect float64) (out []Run) {
	for k := range boots {
		mean := 100 * effect * (1 + between*rng.NormFloat64())
		for i := range runs {
			out = append(out, Run{Value: mean * (1 + within*rng.NormFloat64()), Boot: fmt.Sprint(name, k),
				Session: fmt.Sprint(name, k), Rep: i})
		}
	}
	return out
}

// Two folders of boots that differ by 1 % while their runs vary by .3 %: at most 5 % of the
// comparisons of equal cells call a difference, whether boots are many, or their spread was
// measured on some and declared; with one boot a side and nothing declared there is no verdict. The
// test of runs alone, which the first versions used, calls most of them different.
func TestBootEffects(t *testing.T) { unitEffects(t, false) }

// The same of sessions of one boot that differ by 1 %, while the starts in each differ by .3 %: so
// many starts are no sessions.
func TestSessionEffects(t *testing.T) { unitEffects(t, true) }

func unitEffects(t *testing.T, sessions bool) {
	const rounds, between, within = 1000, .01, .003
	wrong := func(units, runs, of int, share float64) (n int, level Level) {
		rng := rand.New(rand.NewPCG(18, uint64(units*1000+runs+of)))
		for range rounds {
			a, b := boots(rng, "a", units, runs, between, within, 1), boots(rng, "b", units, runs, between, within, 1)
			declared := Between{}
			if of > 0 {
				v := make([]float64, of)
				for i := range v {
					v[i] = share * between * rng.NormFloat64()
				}
				declared.Boots = Spread{deviation(v), of - 1}
			}
			if sessions {
				for _, runs := range [][]Run{a, b} {
					for i, r := range runs {
						runs[i].Boot, runs[i].By, runs[i].Session = "one", r.Session, r.Session[:1]
						runs[i].Start = fmt.Sprint(r.Session, " ", r.Rep)
					}
				}
				declared.Starts, declared.Boots = declared.Boots, Spread{}
			}
			d := Contrast(a, b, declared)
			if level = d.Level; d.Sign() != Unknown {
				n++
			}
		}
		return n, level
	}
	few, across, known := TooFewBoots, AcrossBoots, DeclaredBoots
	if sessions {
		few, across, known = tooFewStarts, AcrossStarts, DeclaredStarts
	}
	for _, c := range []struct {
		units, runs, of int // of is of how many the spread was measured
		share           float64
		level           Level
		most            int
	}{
		{1, 10, 0, 0, few, 0},
		{5, 4, 0, 0, few, 0},
		{6, 1, 0, 0, across, rounds * 5 / 100},
		{6, 4, 0, 0, across, rounds * 5 / 100},
		{8, 6, 6, 1, across, rounds * 5 / 100},
		{1, 6, 2, 1, known, rounds * 6 / 100},
		{1, 6, 6, 1, known, rounds * 6 / 100},
		{1, 20, 6, 1, known, rounds * 6 / 100},
		{3, 10, 6, 1, known, rounds * 6 / 100},
		{3, 10, 6, .5, known, rounds * 16 / 100}, // too little was declared: what is seen helps
	} {
		n, level := wrong(c.units, c.runs, c.of, c.share)
		t.Logf("%d units of %d runs, spread of %d: %d of %d are called different", c.units, c.runs, c.of, n, rounds)
		if n > c.most || level != c.level {
			t.Errorf("%d units of %d runs, spread of %d: %d of %d are called different, level %q", c.units, c.runs,
				c.of, n, rounds, level)
		}
	}
	rng, n := rand.New(rand.NewPCG(18, 1)), 0
	for range rounds {
		if d := Diff(valuesOf(boots(rng, "a", 1, 10, between, within, 1)),
			valuesOf(boots(rng, "b", 1, 10, between, within, 1))); d.Sign() != Unknown {
			n++
		}
	}
	if n < rounds/2 {
		t.Errorf("the test of runs calls %d of %d different: this simulation shows nothing", n, rounds)
	}
}

// What is said within boots is right whatever boots do to both cells alike, and a difference
// is found that boots would hide.
func TestWithinBoots(t *testing.T) {
	const rounds = 300
	for _, k := range []int{1, 2, 4, 6} {
		rng := rand.New(rand.NewPCG(6, uint64(k)))
		called := func(effect float64) (n int, level Level) {
			for range rounds {
				a := boots(rng, "x", k, 8, .01, .003, 1)
				b := make([]Run, len(a))
				for i, r := range a {
					b[i], b[i].Value = r, r.Value*effect*(1+.003*math.Sqrt2*rng.NormFloat64())
				}
				d := Contrast(a, b, Between{})
				if level = d.Level; d.Sign() != Unknown {
					n++
				}
			}
			return n, level
		}
		n, level := called(1)
		found, _ := called(1.01)
		t.Logf("%d boots: %s: %d of %d, found %d", k, level, n, rounds, found)
		want := map[int]Level{1: WithinBoot, 2: WithinBoots, 4: WithinBoots, 6: AcrossBoots}[k]
		if n > rounds*5/100 || level != want || found < rounds*80/100 {
			t.Errorf("%d boots: %s: %d of %d, found %d", k, level, n, rounds, found)
		}
	}
}

// Which level a comparison has follows from where its runs are of.
func TestLevels(t *testing.T) {
	at := func(boot, session string, n, first int) (out []Run) {
		for i := range n {
			out = append(out, Run{Value: 100 + float64(i%3), Boot: boot, Session: session, Rep: first + i})
		}
		return out
	}
	anew := func(runs []Run) []Run {
		for i, r := range runs {
			runs[i].Start = fmt.Sprint(r.Session, " ", r.Rep)
		}
		return runs
	}
	for _, c := range []struct {
		name  string
		a, b  []Run
		level Level
		pairs int
	}{
		{"one session", at("x", "s", 6, 0), at("x", "s", 6, 0), WithinBoot, 6},
		{"two sessions of one boot", at("x", "s", 6, 0), at("x", "t", 6, 0), tooFewStarts, 0},
		{"two sessions of six starts", anew(at("x", "s", 6, 0)), anew(at("x", "t", 6, 0)), tooFewStarts, 0},
		{"six starts in one session of each", anew(at("x", "s", 6, 0)), anew(at("x", "s", 6, 6)), AcrossStarts, 0},
		{"the same starts", anew(at("x", "s", 6, 0)), anew(at("x", "s", 6, 0)), AcrossStarts, 6},
		{"a session, boots not known", at("", "s", 6, 0), at("", "s", 6, 0), WithinSession, 6},
		{"two sessions, boots not known", at("", "s", 6, 0), at("", "t", 6, 0), TooFewBoots, 0},
		{"two boots", at("x", "s", 6, 0), at("y", "s", 6, 0), TooFewBoots, 0},
		{"nothing is known", at("", "", 6, 0), at("", "", 6, 0), "", 6},
		{"resumed after a boot", append(at("x", "s", 4, 0), at("y", "t", 4, 4)...),
			append(at("x", "s", 4, 0), at("y", "t", 4, 4)...), WithinBoots, 8},
		{"one of two boots is shared", append(at("x", "s", 6, 0), at("y", "t", 6, 6)...), at("y", "t", 6, 6),
			WithinBoot, 6},
		{"a repetition twice", append(at("x", "s", 6, 0), at("x", "s", 1, 0)...), at("x", "s", 6, 0), WithinBoot, 0},
	} {
		if d := Contrast(c.a, c.b, Between{}); d.Level != c.level || d.Pairs != c.pairs {
			t.Errorf("%s: %q, %d pairs; want %q, %d", c.name, d.Level, d.Pairs, c.level, c.pairs)
		}
	}
	if d := Contrast(at("x", "s", 6, 0), at("y", "t", 6, 0), Between{}); d.Ratio == nil || d.Ratio.Lo != nil ||
		d.Warnings[0] != "1 boot and 1 boot: a verdict needs 6 of each, or a declared spread between boots" {
		t.Errorf("two boots: %+v", d)
	}
	if d := Contrast(at("x", "s", 6, 0), at("x", "s", 6, 3), Between{}); d.Testable() ||
		d.Warnings[0] != "3 blocks have both: a verdict needs 6" {
		t.Errorf("three blocks in common: %+v", d)
	}
}

// The permutation within pairs of blocks, by hand: the names of two values each are dealt in
// six ways, of one each in two.
func TestPermuteBlocks(t *testing.T) {
	two := stratum{[]float64{1, 2}, []float64{3, 4}}
	one := stratum{[]float64{5}, []float64{6}}
	for _, c := range []struct {
		name     string
		strata   []stratum
		p, least float64
	}{
		{"the greatest of both", []stratum{two, one}, 2 / 12., 2 / 12.},
		{"one stratum", []stratum{two}, 2 / 6., 2 / 6.},
		{"opposite", []stratum{{[]float64{1, 4}, []float64{2, 3}}}, 1, 2 / 6.},
		{"equal values", []stratum{{[]float64{1, 1}, []float64{1, 1}}}, 1, 2 / 6.},
		{"far apart strata", []stratum{two, {[]float64{1001, 1002}, []float64{1003, 1004}}}, 2 / 36., 2 / 36.},
	} {
		if p, least := permuteBlocks(c.strata); !near(p, c.p) || !near(least, c.least) {
			t.Errorf("%s: p %g, least %g; want %g, %g", c.name, p, least, c.p, c.least)
		}
	}
	// Exact and by the normal approximation.
	rng := rand.New(rand.NewPCG(1, 2))
	var strata []stratum
	for range exactBlocked / 2 {
		strata = append(strata, stratum{[]float64{rng.NormFloat64(), rng.NormFloat64()},
			[]float64{.3 + rng.NormFloat64(), .3 + rng.NormFloat64()}})
	}
	p, _ := permuteBlocks(strata)
	ranks, _ := alignedRanks(strata)
	if q := permuteNormal(strata, ranks); math.Abs(p/q-1) > .1 {
		t.Errorf("exact %g, approximated %g", p, q)
	}
}
