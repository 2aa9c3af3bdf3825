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

// asked is how what rankings say is corrected: among so many with what comparisons leave of the
// level. times is by how much more one is that is asked only because another has a leader.
type asked struct {
	between  stat.Between
	compared *compare.Result // nil: nothing was
	rankings int
	times    float64
	// exponents is the same for other exponents than 2 and 1.
	exponents float64
	same      string // figure of comparisons that this ranking orders by; "": none
	closed    bool   // nothing is asked: cells have an order, and all have one rank
}

// rankings orders candidates for all exponents. Two cells are told apart by paired blocks, as in
// comparisons; at n = 2, m = 1 all of the first atBase, else the best alone. The order depends on
// n/m alone, so that other exponents are two rows of questions, of larger ones and of smaller ones.
// Each begins at its end, and goes on as far as the one before has a leader. apart: they have a
// share of their own; else they are asked only where one leads at n = 2, m = 1.
func rankings(all []*candidate, q asked, atBase int, apart bool) []ranked {
	base := rank(all, 2, 1, q, atBase)
	type exponents struct{ n, m float64 }
	var every []exponents
	for _, n := range sensitivityN {
		for _, m := range sensitivityM {
			every = append(every, exponents{n, m})
		}
	}
	far := func(e exponents) float64 { return math.Log(e.n / e.m / 2) }
	order := slices.Clone(every)
	slices.SortStableFunc(order, func(a, b exponents) int { return cmp.Compare(math.Abs(far(b)), math.Abs(far(a))) })
	made := map[exponents]ranked{}
	first := apart || len(base.Leaders()) == 1
	leads := map[bool]bool{false: first, true: first} // smaller, larger
	q.times, q.same = 2*max(1, q.times)*max(1, q.exponents), ""
	for _, e := range order {
		larger := far(e) > 0
		var r ranked
		if far(e) == 0 {
			r = base
			r.N, r.M = e.n, e.m
		} else {
			own := q
			own.closed = q.closed || !leads[larger]
			if r = rank(all, e.n, e.m, own, mostRanked); r.Work == "" {
				leads[larger] = len(r.Leaders()) == 1
			}
		}
		r.Holds = agree(base.Rank, r.Rank)
		made[e] = r
	}
	var out []ranked
	for _, e := range every {
		out = append(out, made[e])
	}
	return out
}

func rank(all []*candidate, n, m float64, q asked, most int) ranked {
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
	if q.closed {
		most = 1
	} else if most < len(all) {
		r.Tested = most
	}
	r.rank(all, q, most)
	return r
}

// rank gives the cells in order their ranks, each held against the first of the rank before it.
func (r *ranked) rank(all []*candidate, q asked, most int) {
	leads := most > 1 && r.leads(all, q, most)
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
			d, below := r.apart(all[i], all[top], q, len(all), leads && first == 0)
			s = s.Beside(d.Ratio, compare.ReturnEffect(r.N, r.M, all[i].power))
			if below && !s.Borne() {
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

// leads reports whether the first is above all others that it can be held against: that is one
// statement.
func (r *ranked) leads(all []*candidate, q asked, most int) bool {
	closest, held := 0.0, 0
	for at, i := range r.Order {
		if at == 0 || at >= most {
			continue
		}
		top := all[r.Order[0]]
		if held += len(all[i].runs) + len(top.runs); held > mostHeld {
			break
		}
		if d := stat.Contrast(top.values, all[i].values, q.between); d.Testable() {
			closest = max(closest, d.P)
		}
	}
	times, _ := compare.Leads(len(all))
	return max(q.compared.Left().Adjust(closest, float64(q.rankings)*max(1, q.times)), closest*times) < stat.Alpha
}

// apart reports whether a cell is below another beyond doubt, one of a pair of so many cells; by a
// price, by more than the rates may make of it. leads: that the other is above all is known.
func (r *ranked) apart(c, than *candidate, q asked, cells int, leads bool) (d stat.Difference, below bool) {
	d = stat.Contrast(than.values, c.values, q.between)
	if d.Adjusted = d.P; !leads {
		_, pairs := compare.Leads(cells)
		d.Adjusted = q.compared.Left().Adjust(d.P, float64(q.rankings)*max(1, q.times)*pairs)
	}
	if q.same != "" && c.of != nil && than.of != nil {
		d.Adjusted = min(d.Adjusted, q.compared.Corrected(q.same, than.of, c.of))
	}
	if r.N <= r.M && c.of != nil && than.of != nil && compare.RatesOf(than.of, c.of, r.N, r.M).Explain(d.Ratio) {
		return d, false
	}
	return d, d.Sign() == stat.Less
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
