// SPDX-License-Identifier: MIT

package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// truth is a line that is known: its last point is where it came out.
type truth struct{ x, y []float64 }

// machines are the ways in which starts differ from each other.
var machines = []struct {
	name  string
	start func(*rand.Rand) float64 // what a start does to both lines, as a factor
	own   func(*rand.Rand) float64 // what a point has of its own
}{
	{"even, 4 % of a point's own", func(r *rand.Rand) float64 { return 1 },
		func(r *rand.Rand) float64 { return 1 + .04*r.NormFloat64() }},
	{"starts 8 % apart, 2 % of a point's own", func(r *rand.Rand) float64 { return math.Exp(.08 * r.NormFloat64()) },
		func(r *rand.Rand) float64 { return 1 + .02*r.NormFloat64() }},
	{"skewed: starts 10 % apart, lognormal, 5 % of a point's own",
		func(r *rand.Rand) float64 { return math.Exp(.1*r.NormFloat64() - .005) },
		func(r *rand.Rand) float64 { return math.Exp(.05*r.NormFloat64() - .00125) }},
	{"heavy tails: Student's t of 3 degrees of freedom, x 2 %", func(r *rand.Rand) float64 { return 1 },
		func(r *rand.Rand) float64 {
			return 1 + .02*r.NormFloat64()/math.Sqrt((sq(r.NormFloat64())+sq(r.NormFloat64())+sq(r.NormFloat64()))/3)
		}},
}

func sq(v float64) float64 { return v * v }

// play makes the points of two lines of so many starts. A start that is faster holds more, too.
func play(rng *rand.Rand, machine, starts int, lines ...truth) [][]Point {
	m := machines[machine]
	out := make([][]Point, len(lines))
	for i, l := range lines {
		for k := range l.x {
			p := Point{X: map[string]float64{}, Y: map[string]float64{}}
			if k+1 < len(l.x) {
				p.FixedX = l.x[k]
			}
			out[i] = append(out[i], p)
		}
	}
	for s := range starts {
		u, f := fmt.Sprint(s), m.start(rng)
		for i, l := range lines {
			for k := range l.x {
				x := l.x[k]
				if out[i][k].FixedX == 0 {
					x *= m.own(rng)
				}
				out[i][k].X[u], out[i][k].Y[u] = x, l.y[k]*f*m.own(rng)
			}
		}
	}
	return out
}

// All boxes of a line hold its points together in 95 % of experiments.
func TestBandHolds(t *testing.T) {
	long.Garbage(t)
	rounds := long.Rounds(400, 10_000)
	line := truth{[]float64{5, 10, 15, 20}, []float64{.9, .7, .6, .65}}
	for m := range machines {
		for _, c := range []struct {
			starts int
			line   truth
		}{{6, line}, {8, truth{line.x[2:], line.y[2:]}}, {24, line}} {
			rng, held := rand.New(rand.NewPCG(uint64(m), uint64(c.starts))), 0
			for range rounds {
				all := true
				for k, b := range Band(play(rng, m, c.starts, c.line)[0]) {
					all = all && b.Known && b.YLo <= c.line.y[k] && c.line.y[k] <= b.YHi &&
						b.XLo <= c.line.x[k]*(1+1e-9) && c.line.x[k]*(1-1e-9) <= b.XHi
				}
				if all {
					held++
				}
			}
			share := float64(held) / float64(rounds)
			t.Logf("%s, %d starts, %d points: %.1f %%", machines[m].name, c.starts, len(c.line.x), 100*share)
			if share < .935-2*math.Sqrt(.05*.95/float64(rounds)) {
				t.Errorf("%s: the band of %d starts holds %.3f", machines[m].name, c.starts, share)
			}
		}
	}
}

// Where lines cross is in the interval in 95 % of experiments; and what is told of lines that do
// not cross, or are one, is false in at most 5 %.
func TestCrossingHolds(t *testing.T) {
	long.Garbage(t)
	rounds := long.Rounds(40, 2_000)
	a := truth{[]float64{10, 20}, []float64{.6, .7}}
	for _, c := range []struct {
		name string
		b    truth
		at   float64 // 0: nowhere
		same bool
	}{
		{"crossing at 15", truth{[]float64{10, 24}, []float64{.7, .7 - .2*14/10}}, 0, false},
		{"apart", truth{[]float64{10, 24}, []float64{.8, .9}}, 0, false},
		{"one", truth{[]float64{10, 20}, []float64{.6, .7}}, 0, true},
	} {
		if c.name == "crossing at 15" { // .6 + .01 d = .7 - .01 d
			c.b, c.at = truth{[]float64{10, 24}, []float64{.7, .56}}, 15
		}
		for m := range machines {
			for _, starts := range []int{6, 8, 24} {
				rng := rand.New(rand.NewPCG(uint64(m)+7, uint64(starts)))
				wrong, found := 0, 0
				for range rounds {
					l := play(rng, m, starts, a, c.b)
					x, ok := Cross(l[0], l[1], 1)
					if !ok || !x.Known {
						t.Fatalf("%+v", x)
					}
					bad, certain := false, false
					for _, at := range x.At {
						if certain = at.Certain; certain && (c.at == 0 || at.Lo > c.at || at.Hi < c.at) {
							bad = true
						}
						if c.at != 0 && (at.Lo > c.at || at.Hi < c.at) {
							bad = true
						}
					}
					if c.at != 0 && x.Side != Unknown || c.same && (x.First != Unknown || x.Last != Unknown ||
						x.Side != Unknown) || c.at == 0 && x.Side == Less {
						bad = true
					}
					if bad {
						wrong++
					}
					if certain || x.Side != Unknown {
						found++
					}
				}
				share := float64(wrong) / float64(rounds)
				t.Logf("%s, %s, %d starts: wrong %.1f %%, decided %.1f %%", c.name, machines[m].name, starts, 100*share,
					100*float64(found)/float64(rounds))
				if share > .06+2*math.Sqrt(.05*.95/float64(rounds)) {
					t.Errorf("%s, %s, %d starts: wrong in %.3f", c.name, machines[m].name, starts, share)
				}
			}
		}
	}
}

// Of lines without noise the crossings are where geometry has them; of few units none is certain.
func TestCrossings(t *testing.T) {
	line := func(units int, x, y []float64) (out []Point) {
		for k := range x {
			p := Point{X: map[string]float64{}, Y: map[string]float64{}}
			if k+1 < len(x) {
				p.FixedX = x[k]
			}
			for u := range units {
				p.X[fmt.Sprint(u)], p.Y[fmt.Sprint(u)] = x[k], y[k]
			}
			out = append(out, p)
		}
		return out
	}
	text := func(c Crossing, ok bool) string {
		if !ok {
			return "none in common"
		}
		s := fmt.Sprintf("%g..%g %d %d", c.From, c.To, c.First, c.Last)
		for _, at := range c.At {
			s += fmt.Sprintf(" %.4g [%.4g..%.4g] %v %d", at.X, at.Lo, at.Hi, at.Certain, at.After)
		}
		return s
	}
	flat := []float64{1, 1, 1}
	for _, x := range []struct {
		units      int
		xa, ya     []float64
		xb, yb     []float64
		want, what string
	}{
		{6, []float64{10, 20}, []float64{1, 3}, []float64{10, 20}, []float64{2, 2}, "10..20 1 -1 15 [15..15] true -1",
			"in the middle"},
		{6, []float64{10, 20}, []float64{1, 2}, []float64{10, 40}, []float64{2, .5},
			"10..20 1 -1 16.67 [16.67..16.67] " +
				"true -1", "before the faster is at its end"},
		{6, []float64{10, 20, 30}, flat, []float64{10, 20, 30}, []float64{2, .5, 2},
			"10..30 1 1 16.67 [16.67..16.67] true -1 23.33 [23.33..23.33] true 1", "twice"},
		{6, []float64{10, 20, 30}, flat, []float64{20, 40}, []float64{3, 2}, "20..30 1 1", "nowhere"},
		{3, []float64{10, 20}, []float64{1, 3}, []float64{10, 20}, []float64{2, 2}, "10..20 0 0 15 [15..15] false -1",
			"of 3 units"},
		{6, []float64{10, 20}, flat, []float64{20, 30}, flat, "none in common", "where one ends the other begins"},
		{6, []float64{10}, flat, []float64{5, 30}, flat, "none in common", "a point is no line"},
	} {
		if got := text(Cross(line(x.units, x.xa, x.ya), line(x.units, x.xb, x.yb), 1)); got != x.want {
			t.Errorf("%s: %s, want %s", x.what, got, x.want)
		}
	}
	if c, ok := Cross(line(6, []float64{10, 20}, flat), nil, 1); ok {
		t.Errorf("with nothing: %+v", c)
	}
}

// A mean's unit is the highest level of which each cell has six; what others lack does not count.
func TestUnits(t *testing.T) {
	runs := func(boots, starts, reps int) (out []Run) {
		for b := range boots {
			for s := range starts {
				for r := range reps {
					out = append(out, Run{Value: 1, Boot: fmt.Sprint("b", b), Session: "s", Start: fmt.Sprint(b, s),
						Rep: (b*starts+s)*reps + r})
				}
			}
		}
		return out
	}
	for _, x := range []struct {
		runs         []Run
		name, within string
		means        int
		among        []Run
	}{
		{runs(1, 1, 8), "run", "", 8, nil}, {runs(1, 3, 4), "run", "within these 3 starts", 12, nil},
		{runs(1, 8, 1), "start", "", 8, nil}, {runs(2, 4, 2), "start", "within these 2 boots", 8, nil},
		{runs(6, 1, 2), "boot", "", 6, nil}, {runs(1, 8, 1), "run", "within these 8 starts", 8, runs(1, 1, 8)},
		{runs(1, 8, 1), "start", "", 8, runs(1, 2, 1)},
	} {
		u := UnitsOf(x.runs, x.among)
		if got := u.Within(x.runs); u.Name != x.name || got != x.within || len(u.Means(x.runs)) != x.means {
			t.Errorf("%s %q %d, want %s %q %d", u.Name, got, len(u.Means(x.runs)), x.name, x.within, x.means)
		}
	}
}
