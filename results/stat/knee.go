// SPDX-License-Identifier: MIT

package stat

import "math"

// Knee is from which size on a figure is full, of sizes that stand in order from scarce to plenty:
// what it is at the last is full. The knee is above size Below, and no larger than size From, with
// 95 % confidence, if a larger size never means less.
type Knee struct {
	// Below is the last size up to which each is known to have less, From the first from which on
	// each is known to have as much. -1: none is. That the last one has as much as itself shows
	// nothing: without another, From is -1.
	Below, From int
	// At is where the estimate, made to grow with the size, becomes full, between two sizes on a
	// straight line; nil: it is at all sizes, or nothing is known of one.
	At *float64
	// Disorder: a size is known to have less than full, and a smaller one to be full.
	Disorder bool
}

// KneeOf finds the knee. ratios are what each size has over what the last has, which is left out;
// full is within so much of it, as a share.
//
// Each end is a sequence of tests in an order that is known before: from the scarcest up as long as
// the 95 % interval is below full, and from plenty down as long as it is above. An end is wrong
// only if the test at the knee's own side is, whatever the others are, so each needs its 2.5 % and
// no more, however many sizes there are (Maurer, Hothorn and Lehmacher 1995).
func KneeOf(sizes []float64, ratios []*Ratio, within float64) Knee {
	k, full := Knee{Below: -1, From: -1}, 1-within
	less := func(q *Ratio) bool { return q != nil && q.Hi != nil && *q.Hi < full }
	much := func(q *Ratio) bool { return q != nil && q.Lo != nil && *q.Lo >= full }
	for i := 0; i < len(ratios) && less(ratios[i]); i++ {
		k.Below = i
	}
	for i := len(ratios) - 1; i >= 0 && much(ratios[i]); i-- {
		k.From = i
	}
	seen := false
	for _, q := range ratios {
		seen = seen || much(q)
		k.Disorder = k.Disorder || seen && less(q)
	}
	k.At = kneeAt(sizes, ratios, full)
	if k.At != nil && k.Below >= 0 && between(*k.At, sizes[k.Below], sizes[len(sizes)-1]) < 0 {
		k.At = &sizes[k.Below]
	}
	if k.At != nil && k.From >= 0 && between(*k.At, sizes[0], sizes[k.From]) > 1 {
		k.At = &sizes[k.From]
	}
	return k
}

// between computes how far x is on the way from a to b.
func between(x, a, b float64) float64 { return (x - a) / (b - a) }

// kneeAt finds where the estimates, pooled so that they grow (isotonic regression), reach full. A
// size without one is passed over.
func kneeAt(sizes []float64, ratios []*Ratio, full float64) *float64 {
	type pool struct{ sum, n float64 }
	var pools []pool
	var at []float64
	for i := range sizes {
		p := pool{1, 1}
		if i < len(ratios) {
			if ratios[i] == nil {
				continue
			}
			p.sum = ratios[i].Value
		}
		at = append(at, sizes[i])
		for n := len(pools); n > 0 && pools[n-1].sum/pools[n-1].n >= p.sum/p.n; n-- {
			p = pool{p.sum + pools[n-1].sum, p.n + pools[n-1].n}
			pools = pools[:n-1]
		}
		pools = append(pools, p)
	}
	var fit []float64
	for _, p := range pools {
		for range int(p.n) {
			fit = append(fit, p.sum/p.n)
		}
	}
	for i, y := range fit {
		if y < full {
			continue
		}
		if i == 0 {
			return nil
		}
		w := (full - fit[i-1]) / (y - fit[i-1])
		if a, b := at[i-1], at[i]; a > 0 && b > 0 {
			return new(math.Exp(math.Log(a) + w*math.Log(b/a)))
		}
		return new(at[i-1] + w*(at[i]-at[i-1]))
	}
	return nil
}
