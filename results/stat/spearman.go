// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
)

// Drift is the rank correlation of values with their order.
type Drift struct {
	Rho float64 `json:"rho"` // Spearman's: -1 only falls, 1 only grows
	P   float64 `json:"p"`   // of a correlation at least so strong among values in random order
}

// exactOrders is the most values for which P counts every order (8! = 40320).
const exactOrders = 8

// Spearman correlates values with the order they stand in. It is nil below 4
// values, where no order is rare enough to say anything, and where all are equal.
// P is exact up to 8 values and from the t distribution beyond.
func Spearman(values []float64) *Drift {
	n := len(values)
	if n < 4 || slices.Min(values) == slices.Max(values) {
		return nil
	}
	ranks := ranksOf(values)
	rho := orderCorrelation(ranks)
	d := &Drift{Rho: rho}
	if n <= exactOrders {
		d.P = orderP(ranks, math.Abs(rho))
		return d
	}
	if rho*rho >= 1 {
		return d
	}
	t := math.Abs(rho) * math.Sqrt(float64(n-2)/(1-rho*rho))
	d.P = 2 * (1 - stats.TDist{V: float64(n - 2)}.CDF(t))
	return d
}

// ranksOf numbers values from 1 by size; equal ones share their mean rank.
func ranksOf(values []float64) []float64 {
	sorted := sorted(values)
	ranks := make([]float64, len(values))
	for i, v := range values {
		lo, _ := slices.BinarySearch(sorted, v)
		hi := lo + sort.Search(len(sorted)-lo, func(k int) bool { return sorted[lo+k] != v })
		ranks[i] = float64(lo+1+hi) / 2
	}
	return ranks
}

// orderCorrelation computes Pearson's correlation of ranks with 1, 2, 3...
func orderCorrelation(ranks []float64) float64 {
	n := float64(len(ranks))
	middle := (n + 1) / 2
	var sxy, sxx, syy float64
	for i, r := range ranks {
		x, y := float64(i+1)-middle, r-middle
		sxy, sxx, syy = sxy+x*y, sxx+x*x, syy+y*y
	}
	return sxy / math.Sqrt(sxx*syy)
}

// orderP counts the share of all orders of ranks that correlate at least as strongly (Heap's
// algorithm).
func orderP(ranks []float64, atLeast float64) float64 {
	r := slices.Clone(ranks)
	hits, all := 0, 0
	count := func() {
		all++
		if math.Abs(orderCorrelation(r)) >= atLeast-1e-9 {
			hits++
		}
	}
	var permute func(k int)
	permute = func(k int) {
		if k == 1 {
			count()
			return
		}
		for i := range k {
			permute(k - 1)
			if k%2 == 0 {
				r[i], r[k-1] = r[k-1], r[i]
			} else {
				r[0], r[k-1] = r[k-1], r[0]
			}
		}
	}
	permute(len(r))
	return float64(hits) / float64(all)
}
