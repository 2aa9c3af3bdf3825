// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// Exponents are the n and m for which the order of cells is shown.
var (
	sensitivityN = []float64{1, 1.5, 2, 2.5, 3}
	sensitivityM = []float64{0.5, 1, 1.5, 2}
)

// ranked is the order of some cells by throughput^n / cost^m.
type ranked struct {
	N     float64 `json:"n"`
	M     float64 `json:"m"`
	Order []int   `json:"order"` // indices of the cells, the highest median first
	// Rank is of each cell: 1 is the best. Cells that cannot be told apart from the first of
	// their rank have the same. 0: it is below that one, and by what comparisons say something
	// else than the cell may be why.
	Rank  []int `json:"rank"`
	Holds bool  `json:"holds"` // no two cells stand the other way round at n = 2, m = 1
	// Tested are the best cells that were told apart; the rest stand in their order, with the rank
	// of the last of these. 0: all were.
	Tested int `json:"tested,omitempty"`
	// Work is why no cell has a rank: n is not above m, so that it orders prices, and the cells did
	// not do equal work.
	Work compare.Work `json:"work,omitempty"`
	// Caveats are what comparisons would say of each cell's place; nil: of none anything.
	Caveats []string `json:"caveats,omitempty"`
}

// Leaders returns the cells that no other is better than, beyond doubt.
func (r ranked) Leaders() []int {
	tested := r.Order
	if r.Tested > 0 {
		tested = r.Order[:r.Tested]
	}
	return slices.DeleteFunc(slices.Clone(tested), func(i int) bool { return r.Rank[i] != 1 })
}

// Unranked returns the cells whose place is not known.
func (r ranked) Unranked() []int {
	return slices.DeleteFunc(slices.Clone(r.Order), func(i int) bool { return r.Rank[i] != 0 })
}

// mostRanked is of how many cells, the best, it is tested which can be told apart, where no table
// has the ranks. The rest stand in the order of their medians, and the report says so.
const mostRanked = 30

// mostHeld is how many runs are held beside those of another cell, for a ranking.
const mostHeld = 1_000_000

// candidate is a cell's runs that have a throughput and a cost.
type candidate struct {
	cell        string
	runs        []stat.Run // without values
	gbps, costs []float64
	values      []stat.Run // by one choice of exponents
	median      float64

	// Powers are costly, and each is asked for by several rankings.
	powers map[[2]float64][]float64 // by 0 or 1, for throughput or cost, and exponent

	power bool          // the cost is watts
	of    *compare.Cell // nil: what held its runs up is not known
	inert string        // which of its options did not act
	under map[*candidate]compare.Standing
}

// standing looks up how c stands below another, and asks only once.
func (c *candidate) standing(above *candidate) compare.Standing {
	if c.of == nil || above.of == nil {
		return compare.Standing{}
	}
	s, ok := c.under[above]
	if !ok {
		if c.under == nil {
			c.under = map[*candidate]compare.Standing{}
		}
		s = c.of.Standing(above.of)
		c.under[above] = s
	}
	return s
}

// to raises the throughput or cost of each run to the power of an exponent.
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
// in comparisons, corrected for the number of cells; at n = 2, m = 1 so many, else of the best
// alone.
func rankings(all []*candidate, between float64, atBase int) []ranked {
	base := rank(all, 2, 1, between, atBase)
	var out []ranked
	for _, n := range sensitivityN {
		for _, m := range sensitivityM {
			r := base
			if n != 2 || m != 1 {
				r = rank(all, n, m, between, mostRanked)
			}
			r.Holds = agree(base.Rank, r.Rank)
			out = append(out, r)
		}
	}
	return out
}

func rank(all []*candidate, n, m, between float64, most int) ranked {
	r := ranked{N: n, M: m, Order: make([]int, len(all)), Rank: make([]int, len(all)), Holds: true}
	var v []float64
	for i, c := range all {
		r.Order[i] = i
		c.values, v = append(c.values[:0], c.runs...), v[:0]
		t, cost := c.to(0, n), c.to(1, m)
		for k := range c.values {
			c.values[k].Value = t[k] / cost[k] // [results.ROI] of a run
			v = append(v, c.values[k].Value)
		}
		slices.Sort(v)
		c.median = (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	}
	slices.SortStableFunc(r.Order, func(a, b int) int { return cmp.Compare(all[b].median, all[a].median) })
	var among []*compare.Cell
	for _, c := range all {
		if c.of != nil {
			among = append(among, c.of)
		}
	}
	if r.Work = compare.RatesAmong(among, n, m).Work; r.Work != "" {
		return r
	}
	if most < len(all) {
		r.Tested = most
	}
	r.rank(all, between, most)
	return r
}

// rank gives the cells in order their ranks, each held against the first of the rank before it.
func (r *ranked) rank(all []*candidate, between float64, most int) {
	said := caveats{}
	first, place, ranked := 0, 1, 0 // of the rank: its first, its number; cells that have one
	held := 0                       // runs beside those of another cell
	for at, i := range r.Order {
		if at > 0 && at < most {
			top := r.Order[first]
			if held += len(all[i].runs) + len(all[top].runs); held > mostHeld {
				most, r.Tested = at, at
			}
		}
		if at > 0 && at < most {
			top := r.Order[first]
			s := all[i].standing(all[top])
			said.limit(top, s.AboveLimit)
			said.limit(i, s.Limit)
			d := r.held(all[i], all[top], len(all)-1, between)
			s = s.Beside(d.Ratio, compare.ReturnEffect(r.N, r.M, all[i].power))
			if below := r.apart(all[i], all[top], d); below && !s.Borne() {
				said.cpus(i, s.OtherCPUs())
				continue
			} else if below {
				first, place = at, ranked+1
			}
		}
		ranked++
		r.Rank[i] = place
	}
	for i, c := range all {
		said.add(i, c.inert)
	}
	if len(said) > 0 {
		r.Caveats = make([]string, len(all))
		for i, words := range said {
			r.Caveats[i] = strings.Join(words, "; ")
		}
	}
}

// caveats are words about cells, each once.
type caveats map[int][]string

func (c caveats) add(i int, words string) {
	if words != "" && !slices.Contains(c[i], words) {
		c[i] = append(c[i], words)
	}
}

func (c caveats) limit(i int, l plan.LimitedBy) {
	if l != "" {
		c.add(i, compare.AtLimit(l))
	}
}

func (c caveats) cpus(i int, why string) {
	if why != "" {
		c.add(i, why)
	}
}

// held compares a cell with another, as one of so many comparisons.
func (r *ranked) held(c, than *candidate, tests int, between float64) stat.Difference {
	d := stat.Contrast(than.values, c.values, between)
	d.Adjusted = min(1, d.P*float64(tests))
	return d
}

// apart reports whether a cell is below another beyond doubt; by a price, by more than the rates
// may make of it.
func (r *ranked) apart(c, than *candidate, d stat.Difference) bool {
	if r.N <= r.M && c.of != nil && than.of != nil && compare.RatesOf(than.of, c.of, r.N, r.M).Explain(d.Ratio) {
		return false
	}
	return d.Sign() == stat.Less
}

// agree reports whether no two candidates stand one way by a's ranks and the other by b's. Those
// that either does not rank stand nowhere.
func agree(a, b []int) bool {
	var order []int
	for i := range a {
		if a[i] > 0 && b[i] > 0 {
			order = append(order, i)
		}
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

// candidates selects the cells that have what an order by a cost needs.
func candidates(groups []*cellRuns, side results.Side, cost results.Cost) (out []*candidate) {
	for _, g := range groups {
		c := &candidate{cell: g.cell.ID, of: g.set, power: cost != results.CostCPU}
		for _, r := range g.counted() {
			t, per := r.ROI(side, cost, 1, 0), r.ROI(side, cost, 0, 1)
			if t == nil || per == nil || *per <= 0 {
				continue
			}
			c.runs = append(c.runs, compare.RunOf(r, 0, g.session))
			c.gbps, c.costs = append(c.gbps, *t), append(c.costs, 1 / *per)
		}
		if c.runs = compare.SameBoots(c.runs); len(c.runs) > 0 {
			out = append(out, c)
		}
	}
	var among []*compare.Cell
	for _, c := range out {
		if c.of != nil {
			among = append(among, c.of)
		}
	}
	varied := compare.Varied(among)
	for _, c := range out {
		if c.of != nil {
			c.inert = c.of.Idle(varied)
		}
	}
	return out
}
