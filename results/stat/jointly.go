// SPDX-License-Identifier: MIT

package stat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// jointly corrects the figures of one pair of cells for their number (Westfall and Young 1993, step
// down): the names of the cells are dealt anew for all figures at once, and the smallest of their p
// is held against the smallest that chance gives. So figures that say the same cost next to
// nothing, and many that are independent as much as by Holm. Figures whose runs are not the same
// ones are corrected apart, and these groups by Bonferroni. For the runs of a dealing see
// [permuteBlocks].
func jointly(of []*Difference) []float64 {
	out := make([]float64, len(of))
	groups := map[uint64][]int{}
	var keys []uint64
	least := 1.0
	for i, d := range of {
		key := d.where
		if d.strata == nil || max(d.NA, d.NB) > exactBlocked {
			key = uint64(i) // no names are dealt
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], i)
		least = min(least, d.P)
	}
	for _, key := range keys {
		var ps []float64
		for _, i := range groups[key] {
			ps = append(ps, of[i].P)
		}
		adjusted := Holm(ps)
		if len(ps) > 1 && least < Alpha { // else none is decided, however they are corrected
			for k, p := range dealtTogether(of, groups[key]) {
				adjusted[k] = min(adjusted[k], p)
			}
		}
		for k, i := range groups[key] {
			out[i] = min(1, adjusted[k]*float64(len(keys)))
		}
	}
	return out
}

// mostDealings is up to how many ways to deal all are gone through; else so many are drawn.
const mostDealings, drawnDealings = 50_000, 20_000

// dealtTogether corrects figures of the same runs. It returns 1 for all where their strata differ.
func dealtTogether(of []*Difference, which []int) []float64 {
	out := make([]float64, len(which))
	for i := range out {
		out[i] = 1
	}
	strata := of[which[0]].strata
	for _, i := range which {
		if !slices.EqualFunc(of[i].strata, strata, func(x, y stratum) bool {
			return len(x.a) == len(y.a) && len(x.b) == len(y.b)
		}) {
			return out
		}
	}
	order := slices.Clone(which) // the smallest p first
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(of[i].P, of[k].P) })
	x := together{least: make([]float64, len(order)), counts: make([]float64, len(order))}
	for k, i := range order {
		ranks, _ := alignedRanks(of[i].strata)
		d := dealAll(of[i].strata, ranks)
		x.figures, x.tails = append(x.figures, d), append(x.tails, d.tails())
		x.least[k] = x.tails[k][d.at] + 1e-9
	}
	x.sums = make([]int, len(order))
	x.cut(strata)
	if x.ways <= mostDealings {
		x.all(0)
	} else {
		x.draw()
	}
	adjusted := 0.0
	for k, i := range order {
		adjusted = max(adjusted, x.counts[k]/x.of)
		out[slices.Index(which, i)] = adjusted
	}
	return out
}

// together counts in how many dealings the smallest p of figures is as small as what is there.
type together struct {
	figures []dealing
	tails   [][]float64
	least   []float64 // p of each, in their order
	counts  []float64 // of dealings in which that figure or one behind it has as small a p
	of      float64   // dealings

	cuts []cut
	ways float64
	sums []int
}

// cut is a stratum: where its ranks begin, how many there are, and how many b has. sets are all
// choices of b's, where they are few.
type cut struct {
	from, n, b int
	sets       [][]int
}

func (x *together) cut(strata []stratum) {
	x.ways = 1
	from := 0
	for _, s := range strata {
		c := cut{from: from, n: len(s.a) + len(s.b), b: len(s.b)}
		from += c.n
		ways := math.Round(math.Exp(lchoose(c.n, c.b)))
		if x.ways *= ways; ways <= 100 {
			c.sets = choices(c.n, c.b)
		}
		x.cuts = append(x.cuts, c)
	}
	if x.ways <= mostDealings {
		for i := range x.cuts {
			if c := &x.cuts[i]; c.sets == nil {
				c.sets = choices(c.n, c.b)
			}
		}
	}
}

func lchoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// choices lists all choices of k of n.
func choices(n, k int) (out [][]int) {
	if k == 0 {
		return [][]int{nil}
	}
	for last := k - 1; last < n; last++ {
		for _, c := range choices(last, k-1) {
			out = append(out, append(slices.Clone(c), last))
		}
	}
	return out
}

func (x *together) add(c *cut, set []int, sign int) {
	for f := range x.figures {
		ranks := x.figures[f].ranks[c.from:]
		for _, k := range set {
			x.sums[f] += sign * ranks[k]
		}
	}
}

// all goes through all dealings of the strata from one on.
func (x *together) all(from int) {
	if from == len(x.cuts) {
		x.count()
		return
	}
	c := &x.cuts[from]
	for _, set := range c.sets {
		x.add(c, set, 1)
		x.all(from + 1)
		x.add(c, set, -1)
	}
}

// draw draws dealings. The draws are always the same; what is there counts as one.
func (x *together) draw() {
	rng := rand.New(rand.NewPCG(1993, uint64(len(x.cuts))))
	for k := range x.counts {
		x.counts[k]++
	}
	x.of++
	for range drawnDealings {
		clear(x.sums)
		for i := range x.cuts {
			c := &x.cuts[i]
			if c.sets != nil {
				x.add(c, c.sets[rng.IntN(len(c.sets))], 1)
			} else {
				x.add(c, rng.Perm(c.n)[:c.b], 1)
			}
		}
		x.count()
	}
}

func (x *together) count() {
	x.of++
	p := 1.0
	for f := len(x.figures) - 1; f >= 0; f-- {
		if p = min(p, x.tails[f][x.sums[f]]); p <= x.least[f] {
			x.counts[f]++
		}
	}
}
