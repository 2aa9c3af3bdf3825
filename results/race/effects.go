// SPDX-License-Identifier: MIT

package race

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/zcbench/zcbench/results/stat"
)

// Effect is what a level of a factor does: the ratio of arms that have it to those that are the
// same but have the default's level, the mean of all such pairs. Of a pair of levels (With not -1)
// it is the interaction: by how much both together do more than the product of what each does.
type Effect struct {
	Factor    int `json:"factor"`
	Level     int `json:"level"`
	With      int `json:"with"` // another factor, or -1
	WithLevel int `json:"with_level"`
	// Ratio: the intervals of all effects hold together with 95 %.
	Ratio Ratio `json:"ratio"`
	Of    int   `json:"of"` // pairs of arms, or fours
}

// Differs reports whether the effect is told: its interval leaves out 1.
func (e Effect) Differs() bool { return e.Ratio.Lo > 1 || e.Ratio.Hi < 1 }

// Small reports whether the effect is told to be less than bound, .02 for 2 %.
func (e Effect) Small(bound float64) bool { return e.Ratio.Lo > 1/(1+bound) && e.Ratio.Hi < 1+bound }

// Word is what is told of a factor.
type Word string

// The words. A factor mattered if a level of it has an effect, or an interaction. It did not matter
// if all of these are told to be small; that nothing was found is not enough.
const (
	Mattered   Word = "mattered"
	DidNot     Word = "did not matter"
	CannotTell Word = "cannot tell"
)

// Effects is what mattered.
type Effects struct {
	Main  []Effect `json:"main"`
	Pairs []Effect `json:"pairs"` // interactions, of the levels that arms have together
}

// Of says of a factor whether it mattered. Effects below the bound do not.
func (e *Effects) Of(factor int, bound float64) Word {
	some, small := false, true
	for _, x := range slices.Concat(e.Main, e.Pairs) {
		if x.Factor != factor && x.With != factor {
			continue
		}
		if x.Differs() && !x.Small(bound) {
			return Mattered
		}
		some, small = true, small && x.Small(bound)
	}
	if some && small {
		return DidNot
	}
	return CannotTell
}

// Effects estimates what each level does, and each pair of levels. What differs within starts is
// told by the blocks in which all arms ran: later ones have only arms that were good, so they would
// say too much. What is set on a host is told by all blocks, because starts vary by more than that.
func (r *Race) Effects() (e Effects) {
	all := *r.fit()
	all.dfOwn, all.dfStart = alone(all.dfOwn), alone(all.dfStart) // assumed is not told
	var early []observation
	for _, o := range r.obs {
		if o.block < r.whole && !r.left[o.arm].out {
			early = append(early, o)
		}
	}
	spread := all.spread
	if own, df := r.unexplained(early); own > spread.own || df > 0 && spread.dfOwn < 1 {
		spread.own, spread.dfOwn = max(own, spread.own), df
	}
	first := newFit(early, len(r.in), r.blocks, r.starts, &spread)
	base := r.field.Arms[r.field.Default]
	estimate := func(levels map[int]int) (c contrast, n int) { // 0: no interval can be told
		f := first
		host := true
		for factor := range levels {
			host = host && r.field.Factors[factor].Host
		}
		if host {
			f = &all
		}
		arms := slices.DeleteFunc(slices.Clone(f.seen), func(a int) bool { return r.left[a].out })
		weights, n := r.corners(arms, levels, base)
		if n > 0 {
			c = f.of(weights)
		}
		if !c.told() {
			n = 0
		}
		return c, n
	}
	var main, pairs []contrast
	for f, factor := range r.field.Factors {
		for level := range factor.Levels {
			if level == base[f] {
				continue
			}
			if c, n := estimate(map[int]int{f: level}); n > 0 {
				e.Main, main = append(e.Main, Effect{Factor: f, Level: level, With: -1, WithLevel: -1, Of: n}),
					append(main, c)
			}
			for g := f + 1; g < len(r.field.Factors); g++ {
				for other := range r.field.Factors[g].Levels {
					if other == base[g] {
						continue
					}
					if c, n := estimate(map[int]int{f: level, g: other}); n > 0 {
						e.Pairs = append(e.Pairs, Effect{Factor: f, Level: level, With: g, WithLevel: other, Of: n})
						pairs = append(pairs, c)
					}
				}
			}
		}
	}
	share := func(of []Effect, by []contrast) { // half of the error for either
		for i, c := range by {
			of[i].Ratio = c.ratio(stat.Alpha / 2 / float64(len(by)))
		}
	}
	share(e.Main, main)
	share(e.Pairs, pairs)
	return e
}

// corners computes the weights of arms in the effect of levels: of each arm that has them, and
// of those that are the same but have the default's levels instead of some of them. Sets that lack
// one of these are left out.
func (r *Race) corners(arms []int, levels map[int]int, base []int) (weights map[int]float64, n int) {
	at := map[string]int{}
	for _, arm := range arms {
		at[fmt.Sprint(r.field.Arms[arm])] = arm
	}
	factors := make([]int, 0, len(levels))
	for f := range levels {
		factors = append(factors, f)
	}
	slices.Sort(factors)
	weights = map[int]float64{}
	for _, arm := range arms {
		var set []int
		for corner := range 1 << len(factors) {
			like := slices.Clone(r.field.Arms[arm])
			for i, f := range factors {
				if like[f] == levels[f] && corner>>i&1 == 1 {
					like[f] = base[f]
				} else if like[f] != levels[f] {
					like = nil
					break
				}
			}
			if of, ok := at[fmt.Sprint(like)]; ok && like != nil {
				set = append(set, of)
			}
		}
		if len(set) < 1<<len(factors) {
			continue
		}
		n++
		for corner, of := range set {
			weights[of] += 1 - 2*float64(bits.OnesCount(uint(corner))%2)
		}
	}
	for arm := range weights {
		weights[arm] /= float64(max(1, n))
	}
	return weights, n
}

// unexplained computes the variance of observations about a model of all levels, all pairs of
// levels and starts, with its degrees of freedom: what higher interactions do counts as noise. One
// block of all arms tells no other spread, and later ones have but few.
func (r *Race) unexplained(obs []observation) (variance, df float64) {
	base := r.field.Arms[r.field.Default]
	columns := map[string]int{}
	rows := make([][]int, len(obs)) // of each observation the columns that are 1 in its row
	for i, o := range obs {
		words := []string{fmt.Sprint("start ", o.start)}
		for f, level := range r.field.Arms[o.arm] {
			if level == base[f] {
				continue
			}
			words = append(words, fmt.Sprint(f, level))
			for g, other := range r.field.Arms[o.arm][:f] {
				if other != base[g] {
					words = append(words, fmt.Sprint(f, level, g, other))
				}
			}
		}
		for _, w := range words {
			if _, ok := columns[w]; !ok {
				columns[w] = len(columns)
			}
			rows[i] = append(rows[i], columns[w])
		}
	}
	left := len(obs) - len(columns)
	if left < before {
		return 0, 0
	}
	m, rhs := make([][]float64, len(columns)), make([]float64, len(columns))
	for i := range m {
		m[i] = make([]float64, len(columns))
		m[i][i] = 1e-9 // some are sums of others
	}
	for i, o := range obs {
		for _, a := range rows[i] {
			for _, b := range rows[i] {
				m[a][b]++
			}
			rhs[a] += o.y
		}
	}
	coefficient := solveHalf(cholesky(m), rhs)
	for i, o := range obs {
		for _, a := range rows[i] {
			o.y -= coefficient[a]
		}
		variance += o.y * o.y
	}
	return variance / float64(left), float64(left)
}
