// SPDX-License-Identifier: MIT

package race

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results/stat"
)

const _ = kind.Pure

// noise is how a simulated machine varies, in logarithms.
type noise struct {
	own, start  float64 // of an arm in a start, of a start
	drift, wave float64 // over the time of a race
	off, offBy  float64 // how often a start is off, and an arm in one; how far
}

// machine plays starts of a landscape: the truth, in logarithms.
type machine struct {
	noise
	rng    *rand.Rand
	truth  []float64
	budget Budget
	now    float64
	last   int
}

func (m *machine) play(s Start) (out []Reading) {
	took, last := m.budget.cost(m.last, []Start{s})
	m.now, m.last = m.now+took, last
	far := m.now / m.budget.Seconds
	common := m.start*m.rng.NormFloat64() - m.drift*far + m.wave*math.Sin(9*far)
	if m.rng.Float64() < m.off {
		common -= m.offBy * m.rng.ExpFloat64()
	}
	for _, arm := range s.Arms {
		y := m.truth[arm] + common + m.own*m.rng.NormFloat64()
		if m.rng.Float64() < m.off {
			y -= m.offBy / 2 * m.rng.ExpFloat64()
		}
		out = append(out, Reading{Arm: arm, Value: math.Exp(y)})
	}
	return out
}

var sixFactors = []Factor{{"ring", []string{"1024", "8192"}, true}, {"gro", []string{"on", "off"}, true},
	{"read", []string{"64k", "1m"}, false}, {"area", []string{"pages", "huge"}, false},
	{"rx_buf_len", []string{"4k", "32k"}, false}, {"token_batch", []string{"32", "128"}, false}}

func full(factors []Factor) (arms [][]int) {
	arms = [][]int{nil}
	for _, f := range factors {
		var next [][]int
		for _, a := range arms {
			for l := range f.Levels {
				next = append(next, append(append([]int(nil), a...), l))
			}
		}
		arms = next
	}
	return arms
}

type landscape struct {
	name  string
	truth func(rng *rand.Rand, arms [][]int) []float64
}

func additive(rng *rand.Rand, arms [][]int, size, pair float64) (t []float64) {
	n := len(arms[0])
	main, both := make([]float64, n), make([][]float64, n)
	for i := range main {
		main[i], both[i] = size*rng.NormFloat64(), make([]float64, n)
		for k := range i {
			both[i][k] = pair * rng.NormFloat64()
		}
	}
	for _, a := range arms {
		y := 3.0
		for i, l := range a {
			y += main[i] * float64(l)
			for k := range i {
				y += both[i][k] * float64(l*a[k])
			}
		}
		t = append(t, y)
	}
	return t
}

var landscapes = []landscape{
	{"additive", func(rng *rand.Rand, arms [][]int) []float64 { return additive(rng, arms, .05, 0) }},
	{"interacting", func(rng *rand.Rand, arms [][]int) []float64 { return additive(rng, arms, .03, .05) }},
	{"small", func(rng *rand.Rand, arms [][]int) []float64 { return additive(rng, arms, .01, .01) }},
	{"flat", func(_ *rand.Rand, arms [][]int) []float64 { return make([]float64, len(arms)) }},
	{"needle", func(rng *rand.Rand, arms [][]int) []float64 {
		t := additive(rng, arms, .02, 0)
		t[1+rng.IntN(len(arms)-1)] += .1
		return t
	}},
	{"rugged", func(rng *rand.Rand, arms [][]int) []float64 {
		t := additive(rng, arms, .03, .03)
		for i := range t {
			t[i] += .03 * rng.NormFloat64()
		}
		return t
	}},
}

func TestSim(t *testing.T) {
	field := &Field{Mode: "zcrx", Factors: sixFactors, Arms: full(sixFactors)}
	noises := map[string]noise{"usual": {.007, .02, .03, .01, .03, .05}, "calm": {.005, .01, .01, .005, .02, .05}, "rough": {.015, .03, .03, .01, .05, .08}}
	for _, frac := range []float64{1. / 3} {
		for _, nn := range []string{"usual", "rough"} {
			for li, l := range landscapes {
				budget := Budget{Arm: 5, Start: 8, Change: 3}
				budget.Seconds = budget.Factorial(field, 6) * frac
				rounds := long.Rounds(3, 200)
				var won, best, used, cov, covMain, nMain, nulls, ties, tieDef, bound, optim, told float64
				var words = map[Word]float64{}
				n := float64(rounds)
				for round := range rounds {
					rng := rand.New(rand.NewPCG(uint64(li), uint64(round)))
					m := &machine{noise: noises[nn], rng: rng, truth: l.truth(rng, field.Arms), budget: budget, last: -1}
					r, err := New(field, budget, uint64(round))
					if err != nil {
						t.Fatal(err)
					}
					for {
						s, ok := r.Next()
						if !ok {
							break
						}
						if err := r.Tell(s, 0, m.play(s)); err != nil {
							t.Fatal(err)
						}
					}
					used += r.Spent() / budget.Seconds
					le, _ := r.Leaders()
					top := math.Inf(-1)
					for _, y := range m.truth {
						top = max(top, y)
					}
					if m.truth[le.Winner] >= top-Margin {
						won++
					}
					if m.truth[le.Winner] == top {
						best++
					}
					if math.Log(1+le.Resolution) >= top-m.truth[le.Winner] {
						bound++
					}
					ties += float64(len(le.Ties))
					for _, x := range le.Ties {
						if x == 0 {
							tieDef++
						}
					}
					gain := m.truth[le.Winner] - m.truth[0]
					optim += math.Log(le.Gain) - gain
					e := r.Effects()
					in := 1.
					for _, x := range append(e.Main, e.Pairs...) {
						w, _ := r.corners(func() map[int]int {
							m := map[int]int{x.Factor: x.Level}
							if x.With >= 0 {
								m[x.With] = x.WithLevel
							}
							return m
						}(), field.Arms[0])
						truth := 0.
						for a, k := range w {
							truth += k * m.truth[a]
						}
						if math.Log(x.Ratio.Lo) > truth || math.Log(x.Ratio.Hi) < truth {
							in = 0
							if field.Factors[x.Factor].Host && (x.With < 0 || field.Factors[x.With].Host) {
								nMain++
							} else {
								nulls++
							}
						}
					}
					covMain += in
					for f := range field.Factors {
						words[e.Of(f, .02)] += 1. / 6
					}
					_ = cov
				}
				t.Logf("%.2f %-6s %-12s won %.3f best %.2f used %.2f bound %.3f ties %.1f def %.2f optimism %.4f told %.3f effects %.3f (host %v, within %v missed) %v", frac, nn, l.name, won/n, best/n, used/n, bound/n, ties/n, tieDef/n, optim/n, told/n, covMain/n, nMain, nulls, words)
			}
		}
	}
	_ = stat.Alpha
}
