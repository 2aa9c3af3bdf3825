// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// Exponents are the n and m for which the order of cells is shown.
var (
	SensitivityN = []float64{1, 1.5, 2, 2.5, 3}
	SensitivityM = []float64{0.5, 1, 1.5, 2}
)

// Ranked is the order of some cells by throughput^n / cost^m.
type Ranked struct {
	N     float64 `json:"n"`
	M     float64 `json:"m"`
	Order []int   `json:"order"` // indices of the cells, the highest median first
	// Rank is of each cell: 1 is the best. Cells that cannot be told apart from the first of
	// their rank have the same.
	Rank  []int `json:"rank"`
	Holds bool  `json:"holds"` // no two cells stand the other way round at n = 2, m = 1
}

// Leaders are the cells that no other is better than, beyond doubt.
func (r Ranked) Leaders() []int {
	n := 0
	for n < len(r.Order) && r.Rank[r.Order[n]] == 1 {
		n++
	}
	return r.Order[:n]
}

// mostRanked is of how many cells, the best, it is tested which can be told apart. The rest
// stand in the order of their medians, each tied with the one before.
const mostRanked = 30

// candidate is a cell's runs that have a throughput and a cost.
type candidate struct {
	cell        string
	runs        []stat.Run // without values
	gbps, costs []float64
	values      []stat.Run // by one choice of exponents
	median      float64

	// Powers are costly, and each is asked for by several rankings.
	powers map[[2]float64][]float64 // by 0 or 1, for throughput or cost, and exponent
}

// to is throughput, or cost, to the power of an exponent, of each run.
func (c *candidate) to(which int, exponent float64) []float64 {
	key := [2]float64{float64(which), exponent}
	if p, ok := c.powers[key]; ok {
		return p
	}
	if c.powers == nil {
		c.powers = map[[2]float64][]float64{}
	}
	of := [][]float64{c.gbps, c.costs}[which]
	out := make([]float64, len(of))
	for i, v := range of {
		out[i] = math.Pow(v, exponent)
	}
	c.powers[key] = out
	return out
}

// rankings orders candidates for all exponents. Two cells are told apart by paired blocks, as
// in comparisons, corrected for the number of cells.
func rankings(all []*candidate, between float64) []Ranked {
	base := rank(all, 2, 1, between)
	var out []Ranked
	for _, n := range SensitivityN {
		for _, m := range SensitivityM {
			r := rank(all, n, m, between)
			r.Holds = agree(base.Rank, r.Rank)
			out = append(out, r)
		}
	}
	return out
}

func rank(all []*candidate, n, m, between float64) Ranked {
	r := Ranked{N: n, M: m, Order: make([]int, len(all)), Rank: make([]int, len(all)), Holds: true}
	var v []float64
	for i, c := range all {
		r.Order[i] = i
		c.values, v = append(c.values[:0], c.runs...), v[:0]
		t, cost := c.to(0, n), c.to(1, m)
		for k := range c.values {
			c.values[k].Value = t[k] / cost[k] // [results.ROI]
			v = append(v, c.values[k].Value)
		}
		slices.Sort(v)
		c.median = (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	}
	slices.SortStableFunc(r.Order, func(a, b int) int { return cmp.Compare(all[b].median, all[a].median) })
	first := 0 // of the rank
	for at, i := range r.Order {
		if at == 0 || at < mostRanked && apart(all[i], all[r.Order[first]], len(all)-1, between) {
			first = at
		}
		r.Rank[i] = first + 1
	}
	return r
}

// apart tells whether a cell is below another beyond doubt, as one of so many comparisons.
func apart(c, than *candidate, tests int, between float64) bool {
	d := stat.Contrast(than.values, c.values, between)
	d.Adjusted = min(1, d.P*float64(tests))
	return d.Sign() == stat.Less
}

// agree tells whether no two candidates stand one way by a's ranks and the other by b's.
func agree(a, b []int) bool {
	order := make([]int, len(a))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(a[x], a[y]) })
	before, worst, rank := 0, 0, 0 // the largest b of smaller a's, and of those up to here
	for _, i := range order {
		if a[i] != rank {
			before, rank = worst, a[i]
		}
		if b[i] < before {
			return false
		}
		worst = max(worst, b[i])
	}
	return true
}

// candidates are the cells that have what an order by a cost needs.
func candidates(groups []*cellRuns, side results.Side, cost results.Cost) (out []*candidate) {
	for _, g := range groups {
		c := &candidate{cell: g.cell.ID}
		for _, r := range g.counted() {
			t, per := r.ROI(side, cost, 1, 0), r.ROI(side, cost, 0, 1)
			if t == nil || per == nil || *per <= 0 {
				continue
			}
			c.runs = append(c.runs, compare.RunOf(r, 0, g.session))
			c.gbps, c.costs = append(c.gbps, *t), append(c.costs, 1 / *per)
		}
		if len(c.runs) > 0 {
			out = append(out, c)
		}
	}
	return out
}
