// SPDX-License-Identifier: MIT

package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/compare"
)

// madeFleet says what a fleet that was never measured is like.
type madeFleet struct {
	pairs, cells, runs int
	cv                 float64 // by which runs vary
	between            float64 // by which pairs vary, in all their cells alike
	hosts              func(pair int) (sut, tg string)
	slow               func(pair, cell int) float64 // share that is lost
	tail               bool                         // runs have heavy tails: Student's t of 3 degrees of freedom
}

// twoEach are hosts of which each is in one pair.
func twoEach(pair int) (sut, tg string) { return fmt.Sprint("a", pair), fmt.Sprint("b", pair) }

// ring has each host in two pairs, once at each end.
func ring(n int) func(pair int) (sut, tg string) {
	return func(pair int) (sut, tg string) { return fmt.Sprint("h", pair), fmt.Sprint("h", (pair+1)%n) }
}

// grid has each of n receivers' hosts run with n senders'.
func grid(n int) func(pair int) (sut, tg string) {
	return func(pair int) (sut, tg string) { return fmt.Sprint("a", pair/n), fmt.Sprint("b", pair%n) }
}

func throughput(t testing.TB) compare.Metric {
	t.Helper()
	m, err := compare.Lookup([]string{"throughput_gbps"})
	if err != nil {
		t.Fatal(err)
	}
	return m[0]
}

// make draws one.
func (m madeFleet) make(t testing.TB, rng *rand.Rand) *Fleet {
	f := &Fleet{HigherWins: true, metric: throughput(t), Hosts: []common{}, Factors: []common{}}
	all := make([]*shared, m.cells)
	f.cells.known = map[plan.CellKey]*shared{}
	for c := range all {
		all[c] = &shared{cell: plan.Cell{ID: fmt.Sprint("cell", c)}, first: place{0, c}}
		f.cells.known[plan.CellKey(fmt.Sprint(c))] = all[c]
	}
	for i := range m.pairs {
		p := &pair{Dir: fmt.Sprint("pair", i), Name: fmt.Sprint("pair", i), State: complete}
		p.SUT.Host, p.TG.Host = m.hosts(i)
		off := m.between * rng.NormFloat64()
		for c := range all {
			values := make([]float64, m.runs)
			for k := range values {
				z := rng.NormFloat64()
				if m.tail {
					z /= math.Sqrt((sq(rng.NormFloat64()) + sq(rng.NormFloat64()) + sq(rng.NormFloat64())) / 3)
				}
				values[k] = 20 * float64(c+1) * math.Exp(off+m.cv*z)
				if m.slow != nil {
					values[k] *= 1 - m.slow(i, c)
				}
			}
			x := Figure{of: all[c], Runs: counts{OK: m.runs}}
			x.take(values)
			p.Figures = append(p.Figures, x)
			p.Runs.OK += m.runs
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f
}

func sq(x float64) float64 { return x * x }

// with gives hosts a fact, as records say it.
func (f *Fleet) with(name string, value func(host string) string) *Fleet {
	for _, p := range f.Pairs {
		for i, host := range []string{p.SUT.Host, p.TG.Host} {
			p.facts[i] = append(p.facts[i], f.known.take(map[string][]string{name: {value(host)}}, nil)...)
		}
	}
	return f
}

// names tells whether the fleet names anybody.
func (f *Fleet) names() bool {
	for _, p := range f.Pairs {
		if p.Off() {
			return true
		}
	}
	return len(f.Hosts)+len(f.Factors) > 0
}
