// SPDX-License-Identifier: MIT

package stat

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// stratum is a pair of blocks, which run one right after the other and in opposite orders:
// the logarithms of what both cells measured there.
type stratum struct{ a, b []float64 }

// exactBlocked is up to how many values of one cell the distribution is counted out; beyond
// it is taken for normal.
const exactBlocked = 50

// permuteBlocks computes the two-sided p of the aligned rank test (Hodges and Lehmann 1962): it
// subtracts each stratum's median from its values, ranks all of them together, and deals the names
// of the cells anew within each stratum, in every way. What hits a stratum as a whole, such as
// drift, counts for nothing. least is the smallest p that any values could have.
func permuteBlocks(strata []stratum) (p, least float64) {
	ranks, n := alignedRanks(strata)
	if n > exactBlocked {
		return permuteNormal(strata, ranks), 0
	}
	x := dealAll(strata, ranks)
	return x.p(), min(2/x.ways, 1)
}

// dealing is a sum of ranks, and how it is distributed if names are dealt anew. Ranks are doubled,
// so that tied ones are whole.
type dealing struct {
	ranks []int
	at    int       // sum of those of b
	dist  []float64 // how likely each sum is
	mean  float64
	ways  float64 // to deal
}

func dealAll(strata []stratum, ranks []int) dealing {
	most := 1 // sums, of all strata together
	for _, r := range ranks {
		most += r
	}
	x := dealing{ranks: ranks, dist: make([]float64, 1, most), ways: 1}
	x.dist[0] = 1
	next := make([]float64, 0, most)
	i := 0
	var d dealer
	for _, s := range strata {
		m := len(s.a) + len(s.b)
		r := ranks[i : i+m]
		i += m
		number := d.deal(r, len(s.b))
		x.dist, next = convolve(x.dist, next, d.deals, number), x.dist
		x.ways *= number
		sum := 0
		for k, v := range r {
			sum += v
			if k >= len(s.a) {
				x.at += v
			}
		}
		x.mean += float64(sum) * float64(len(s.b)) / float64(m)
	}
	return x
}

// p computes how likely a sum is that is as far from the mean as that of b.
func (x *dealing) p() (p float64) {
	far := x.far(x.at) - 1e-6
	for sum, share := range x.dist {
		if x.far(sum) >= far {
			p += share
		}
	}
	return min(p, 1)
}

func (x *dealing) far(sum int) float64 { return math.Abs(float64(sum) - x.mean) }

// tails computes p for every sum.
func (x *dealing) tails() []float64 {
	order := make([]int, len(x.dist))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, k int) int { return cmp.Compare(x.far(k), x.far(i)) })
	out, sum := make([]float64, len(x.dist)), 0.0
	for i := 0; i < len(order); {
		to := i
		for to < len(order) && x.far(order[to]) >= x.far(order[i])-1e-6 {
			sum += x.dist[order[to]]
			to++
		}
		for ; i < to; i++ {
			out[order[i]] = min(sum, 1)
		}
	}
	return out
}

// alignedRanks ranks all values, a's before b's in each stratum. It returns the doubled ranks and
// the number of values of the cell that has more.
func alignedRanks(strata []stratum) (ranks []int, n int) {
	na, nb := 0, 0
	for _, s := range strata {
		na, nb = na+len(s.a), nb+len(s.b)
	}
	all, sorted := make([]float64, 0, na+nb), make([]float64, 0, na+nb)
	for _, s := range strata {
		from := len(all)
		all = append(append(all, s.a...), s.b...)
		both := all[from:]
		sorted = append(sorted[:0], both...)
		slices.Sort(sorted)
		mid := sortedMedian(sorted)
		for i, v := range both {
			// Values that are equal but for how they were reckoned are equal.
			both[i] = math.Round((v - mid) * 1e12)
		}
	}
	ranks = make([]int, len(all))
	for i, r := range ranksOf(all) {
		ranks[i] = int(math.Round(2 * r))
	}
	return ranks, max(na, nb)
}

// deal is a sum of ranks, and in how many ways it comes about.
type deal struct {
	sum  int
	ways float64
}

// dealer finds all sums of some of the ranks of a stratum.
type dealer struct{ deals []deal }

// deal finds those of k ranks, and tells how many ways there are.
func (d *dealer) deal(ranks []int, k int) (ways float64) {
	const few = 6 // values, of which all choices are few
	if d.deals == nil {
		d.deals = make([]deal, 0, 20) // 3 of 6
	}
	d.deals = d.deals[:0]
	if len(ranks) > few {
		d.deals, ways = manyDealings(ranks, k)
		return ways
	}
	d.choose(ranks, k, 0)
	return float64(len(d.deals))
}

func (d *dealer) choose(ranks []int, left, sum int) {
	if left == 0 {
		d.deals = append(d.deals, deal{sum, 1})
		return
	}
	for i := 0; i+left <= len(ranks); i++ {
		d.choose(ranks[i+1:], left-1, sum+ranks[i])
	}
}

// manyDealings counts equal sums together as it goes.
func manyDealings(ranks []int, k int) (deals []deal, ways float64) {
	by := make([]map[int]float64, k+1) // of so many chosen
	for i := range by {
		by[i] = map[int]float64{}
	}
	by[0][0] = 1
	for _, r := range ranks {
		for c := k; c > 0; c-- {
			for sum, n := range by[c-1] {
				by[c][sum+r] += n
			}
		}
	}
	for _, sum := range slices.Sorted(maps.Keys(by[k])) {
		deals, ways = append(deals, deal{sum, by[k][sum]}), ways+by[k][sum]
	}
	return deals, ways
}

// convolve adds a deal to a distribution, into out, which it makes longer where that is short.
func convolve(dist, out []float64, deals []deal, ways float64) []float64 {
	most := 0
	for _, d := range deals {
		most = max(most, d.sum)
	}
	n := len(dist) + most
	if cap(out) < n {
		out = make([]float64, n, 2*n)
	}
	out = out[:n]
	clear(out)
	for _, d := range deals {
		share, to := d.ways/ways, out[d.sum:d.sum+len(dist)]
		for i, x := range dist {
			to[i] += share * x
		}
	}
	return out
}

// permuteNormal computes p from the mean and the variance of all dealings.
func permuteNormal(strata []stratum, ranks []int) float64 {
	var at, mean, variance float64
	i := 0
	for _, s := range strata {
		na, nb := float64(len(s.a)), float64(len(s.b))
		m := na + nb
		var sum, squares, ofB float64
		for k, r := range ranks[i : i+int(m)] {
			x := float64(r)
			sum, squares = sum+x, squares+x*x
			if k >= len(s.a) {
				ofB += x
			}
		}
		i += int(m)
		at, mean = at+ofB, mean+sum*nb/m
		variance += na * nb / (m * (m - 1)) * (squares - sum*sum/m)
	}
	if variance == 0 {
		return 1
	}
	return math.Erfc(math.Abs(at-mean) / math.Sqrt(2*variance))
}

// leastInTurns returns the smallest p of n starts in which two cells took turns.
func leastInTurns(n int) float64 { return min(1, math.Ldexp(2, -n)) }

// leastBlocked returns the smallest p of n runs of each of two cells in pairs of blocks: there are
// six ways to deal two and two, and two if the last block has no partner.
func leastBlocked(n int) float64 {
	p := 2 / math.Pow(6, float64(n/2))
	if n%2 == 1 {
		p /= 2
	}
	return min(1, p)
}
