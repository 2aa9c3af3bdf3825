// SPDX-License-Identifier: MIT

package stat

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Of six values the interval is the least and the greatest; of more it ends at means of subsets,
// and the mean of all is in its middle. Where subsets are drawn the ends hardly differ.
func TestTypicalValues(t *testing.T) {
	if _, _, ok := typicalValues([]float64{1, 2, 3, 4, 5}); ok {
		t.Error("an interval of five values")
	}
	if lo, hi, ok := typicalValues([]float64{3, 1, 2, 7, 5, 4}); !ok || lo != 1 || hi != 7 {
		t.Errorf("%v..%v, %v", lo, hi, ok)
	}
	all := subsetMeans([]float64{1, 2, 4})
	if slices.Sort(all); !slices.Equal(all, []float64{1, 1.5, 2, 7. / 3, 2.5, 3, 4}) {
		t.Errorf("%v", all)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		d := make([]float64, mostSubsets)
		for i := range d {
			d[i] = rng.NormFloat64()
		}
		exact, drawn := subsetMeans(d), drawnMeans(d, 4095)
		k := 102
		for _, at := range []int{k - 1, len(exact) - k} {
			slices.Sort(exact)
			slices.Sort(drawn)
			if math.Abs(exact[at]-drawn[at]) > .15 {
				t.Errorf("%d: %v of all subsets, %v of some", at, exact[at], drawn[at])
			}
		}
		lo, hi, _ := typicalValues(d)
		if m := mean(d); m < lo || m > hi {
			t.Errorf("%v is not in %v..%v", m, lo, hi)
		}
	}
	long := make([]float64, 200)
	for i := range long {
		long[i] = rng.NormFloat64()
	}
	if lo, hi, ok := typicalValues(long); !ok || hi-lo < 2/math.Sqrt(200) || hi-lo > 6/math.Sqrt(200) {
		t.Errorf("of 200 values %v..%v, %v", lo, hi, ok)
	}
}

// atLevel makes runs of two cells in some boots as a level asks for; both sides are blocks of the
// same sessions where same is set.
func atLevel(rng *rand.Rand, boots, runs int, same bool, between, within, effect float64) (a, b []Run) {
	for k := range boots {
		x := 100 * (1 + between*rng.NormFloat64())
		y := x
		if !same {
			y = 100 * (1 + between*rng.NormFloat64())
		}
		for i := range runs {
			drift := 3 * math.Sin(float64(i))
			a = append(a, Run{Value: x + drift + 100*within*rng.NormFloat64(), Boot: bootName("a", k, same),
				Session: bootName("a", k, same), Rep: i})
			b = append(b, Run{Value: y + drift + 100*within*rng.NormFloat64() + effect, Boot: bootName("b", k, same),
				Session: bootName("b", k, same), Rep: i})
		}
	}
	return a, b
}

func bootName(side string, k int, same bool) string {
	if same {
		side = "both"
	}
	return side + string(rune('0'+k))
}

// At every level at most 5 % of equal cells are called different, the interval holds the truth in
// 95 % of the comparisons or nearly so, and the parts of a whole add up.
func TestShiftLevels(t *testing.T) {
	const rounds, within = 600, .01
	for _, c := range []struct {
		name             string
		boots, runs      int
		same             bool
		between, declare float64
		level            Level
		least            int // intervals that hold the truth
	}{
		{"blocks of 6", 1, 6, true, 0, 0, WithinBoot, rounds * 94 / 100},
		{"blocks of 8", 1, 8, true, 0, 0, WithinBoot, rounds * 93 / 100},
		{"blocks of 15", 1, 15, true, 0, 0, WithinBoot, rounds * 93 / 100},
		{"blocks of three boots", 3, 4, true, .05, 0, WithinBoots, rounds * 93 / 100},
		{"six boots of both", 6, 3, true, .05, 0, AcrossBoots, rounds * 94 / 100},
		{"seven boots of each", 7, 3, false, .05, 0, AcrossBoots, rounds * 93 / 100},
		{"declared", 2, 6, false, .02, .02, DeclaredBoots, rounds * 93 / 100},
		{"too few boots", 2, 6, false, .05, 0, TooFewBoots, 0},
	} {
		wrong, held := 0, 0
		rng := rand.New(rand.NewPCG(9, uint64(c.boots*100+c.runs)))
		for range rounds {
			a, b := atLevel(rng, c.boots, c.runs, c.same, c.between, within, 0)
			s := ShiftOf(a, b, Between{Boots: Spread{c.declare, 1000}})
			if s.Level != c.level {
				t.Fatalf("%s: level %q", c.name, s.Level)
			}
			if s.Sign() != Unknown {
				wrong++
			}
			if s.Lo != nil && *s.Lo <= 0 && *s.Hi >= 0 {
				held++
			}
		}
		t.Logf("%s: %d of %d equal cells are called different, %d intervals hold the truth", c.name, wrong, rounds,
			held)
		if wrong > rounds*5/100 || held < c.least || c.least == 0 && held > 0 {
			t.Errorf("%s: %d of %d equal cells are called different, %d intervals hold the truth", c.name, wrong,
				rounds, held)
		}
		a, b := atLevel(rng, c.boots, c.runs, c.same, c.between, within, 20)
		whole, one, other := ShiftOf(a, b, Between{Boots: Spread{c.declare, 1000}}),
			ShiftOf(part(a, .3, 1), part(b, .3, 1), Between{Boots: Spread{c.declare, 1000}}),
			ShiftOf(part(a, .7, -1), part(b, .7, -1), Between{Boots: Spread{c.declare, 1000}})
		if math.Abs(whole.Diff-one.Diff-other.Diff) > 1e-9 || math.Abs(whole.B-whole.A-whole.Diff) > 1e-9 {
			t.Errorf("%s: %v is not %v and %v", c.name, whole.Diff, one.Diff, other.Diff)
		}
		if c.level != TooFewBoots && (whole.Sign() != Greater || whole.Diff < 10) {
			t.Errorf("%s: 20 more were not found: %+v", c.name, whole)
		}
	}
}

// part is a share of runs, with as much taken from every second as others have in turn.
func part(runs []Run, share, turn float64) []Run {
	out := slices.Clone(runs)
	for i := range out {
		out[i].Value *= share
		if i%2 == 0 {
			out[i].Value += turn
		}
	}
	return out
}

// What is 0 on one side, or everywhere, is compared as all else is.
func TestShiftOfZeros(t *testing.T) {
	runs := func(values ...float64) (out []Run) {
		for i, v := range values {
			out = append(out, Run{Value: v, Boot: "b", Session: "s", Rep: i})
		}
		return out
	}
	none, some := runs(0, 0, 0, 0, 0, 0), runs(5, 6, 5, 6, 5, 7)
	if s := ShiftOf(none, some, Between{}); s.Sign() != Greater || s.A != 0 || *s.Lo != 5 || *s.Hi != 7 || s.P > .01 {
		t.Errorf("%+v", s)
	}
	if s := ShiftOf(none, none, Between{}); s.Sign() != Unknown || s.P < 1-1e-9 || s.Diff != 0 {
		t.Errorf("%+v", s)
	}
	if s := ShiftOf(none[:3], some[:3], Between{}); s.Testable() || len(s.Warnings) != 1 || s.Diff == 0 {
		t.Errorf("%+v", s)
	}
	if s := ShiftOf(nil, some, Between{}); s.Testable() || s.P != 1 {
		t.Errorf("%+v", s)
	}
	// Repetitions 0 to 5 of the one and 3 to 8 of the other: three blocks have both.
	late := runs(1, 2, 3, 4, 5, 6)
	for i := range late {
		late[i].Rep += 3
	}
	if s := ShiftOf(some, late, Between{}); s.Pairs != 3 || s.A != 6 || s.B != 2 || s.Testable() {
		t.Errorf("%+v", s)
	}
}

// Figures whose reciprocals or squares no number can hold have shifts that JSON can.
func TestShiftOfTiny(t *testing.T) {
	for _, scale := range []float64{1e-310, 1e-100} {
		for _, boots := range []int{1, 2} { // paired, and apart
			var a, b []Run
			for i := range 8 {
				boot := []string{"x", "y"}
				a = append(a, Run{Value: scale * float64(1+i%3), Boot: "x", Session: "s", Rep: i})
				b = append(b, Run{Value: scale * float64(5+i%2), Boot: boot[boots-1], Session: "s", Rep: i})
			}
			s := ShiftOf(a, b, Between{})
			if _, err := json.Marshal(s); err != nil || math.IsNaN(s.P) || boots == 1 && scale > 1e-300 && s.P > .01 {
				t.Errorf("scale %g: %v: %+v", scale, err, s)
			}
		}
	}
}

// A family is corrected for its number, and so many tests have room in it.
func TestShiftFamily(t *testing.T) {
	a, b := []Run{}, []Run{}
	for i := range 6 {
		a = append(a, Run{Value: 10 + float64(i)/10, Boot: "b", Session: "s", Rep: i})
		b = append(b, Run{Value: 20 + float64(i)/10, Boot: "b", Session: "s", Rep: i})
	}
	one := ShiftOf(a, b, Between{})
	if n := one.Tests(); n != MaxTests(6) || n != 5 {
		t.Errorf("%d comparisons of 6 runs, MaxTests %d", n, MaxTests(6))
	}
	all := make([]*Shift, 6)
	for i := range all {
		all[i] = new(one)
	}
	if n := ShiftFamily(all[:5]); n != 5 || all[0].Sign() != Greater {
		t.Errorf("%d tests, p %v", n, all[0].Adjusted)
	}
	if n := ShiftFamily(all); n != 6 || all[0].Sign() != Unknown {
		t.Errorf("%d tests, p %v", n, all[0].Adjusted)
	}
}
