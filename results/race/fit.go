// SPDX-License-Identifier: MIT

package race

import (
	"math"

	"github.com/zcbench/zcbench/results/stat"
)

// What is assumed of the spread before anything is measured, and as how many degrees of freedom it
// counts: an arm's own 1 % in a start, and 3 % from start to start. In the first block nothing else
// is known. It says who goes on, but not how sure that is: no interval stands on it alone.
const (
	ownBefore, startBefore = .01, .03
	before                 = 4
)

// observation is the logarithm of a reading.
type observation struct {
	arm, start, block int
	y                 float64
}

// spread is how much readings vary: what is an arm's own in a start, and what the arms of a start
// have in common, as variances with their degrees of freedom.
type spread struct {
	own, start     float64
	dfOwn, dfStart float64
}

// fit is a mixed model of observations: y = arm + block + start + own, where arm and block are
// fixed, and start and own are random. So arms that were in the same starts are compared within
// them, and those of two groups by their starts in the same blocks, with the weight that their
// spread gives to either.
type fit struct {
	spread
	obs    []observation
	seen   []int     // arms with observations
	n      []float64 // observations of an arm
	starts []part
	blocks []part
	half   [][]float64 // Cholesky factor of what is left for the arms seen
	estimates
}

// estimates are a value of each arm, block and start.
type estimates struct{ arm, block, start []float64 }

// part is a start or a block in the equations of the model.
type part struct {
	n     float64   // observations
	d     float64   // on the diagonal, when the parts before it are eliminated
	arms  []int     // of a start
	block int       // of a start
	h     []float64 // of a block, by arm: what couples them
}

// newFit estimates the model. If the spread is given, it is taken.
func newFit(obs []observation, arms, blocks, starts int, given *spread) *fit {
	f := &fit{obs: obs, n: make([]float64, arms), starts: make([]part, starts), blocks: make([]part, blocks)}
	for _, o := range obs {
		if f.n[o.arm]++; f.n[o.arm] == 1 {
			f.seen = append(f.seen, o.arm)
		}
		s := &f.starts[o.start]
		s.n, s.block, s.arms = s.n+1, o.block, append(s.arms, o.arm)
	}
	if given != nil {
		f.spread = *given
		f.estimate()
		return f
	}
	f.own, f.spread.start = ownBefore*ownBefore, startBefore*startBefore
	f.countDegrees()
	for range 15 { // restricted likelihood, by expectation and maximization
		f.estimate()
		f.respread()
	}
	f.own = unassumed(f.own, ownBefore, f.dfOwn)
	f.spread.start = unassumed(f.spread.start, startBefore, f.dfStart)
	f.estimate()
	return f
}

// unassumed takes out of a variance what was assumed before, where that made it smaller.
func unassumed(variance, assumed, df float64) float64 {
	return max(variance, variance+before/max(1, alone(df))*(variance-assumed*assumed))
}

// alone returns the degrees of freedom of what was measured alone.
func alone(df float64) float64 { return max(df/2, df-before) }

// countDegrees counts how much the observations say of either spread: what was assumed counts as no
// more than they do.
func (f *fit) countDegrees() {
	parent := make([]int, len(f.n)+len(f.starts)) // arms and starts: which are connected
	for i := range parent {
		parent[i] = i
	}
	var root func(int) int
	root = func(i int) int {
		if parent[i] != i {
			parent[i] = root(parent[i])
		}
		return parent[i]
	}
	used := map[int]bool{}
	blocks := map[int]bool{}
	for _, o := range f.obs {
		s := len(f.n) + o.start
		parent[root(o.arm)] = root(s)
		used[o.arm], used[s], blocks[o.block] = true, true, true
	}
	arms, starts, parts := 0, 0, map[int]bool{}
	for i := range used {
		if parts[root(i)] = true; i < len(f.n) {
			arms++
		} else {
			starts++
		}
	}
	count := func(measured int) float64 { return float64(measured + min(measured, before)) }
	f.dfOwn = count(len(f.obs) - arms - starts + len(parts))
	f.dfStart = count(max(0, starts-len(blocks)-len(parts)+1))
}

// estimate computes the estimates for the spread that is assumed.
func (f *fit) estimate() {
	f.eliminate()
	rhs := f.zero()
	for _, o := range f.obs {
		rhs.arm[o.arm] += o.y
		rhs.block[o.block] += o.y
		rhs.start[o.start] += o.y
	}
	f.estimates = f.solve(rhs)
}

func (f *fit) zero() estimates {
	return estimates{make([]float64, len(f.n)), make([]float64, len(f.blocks)), make([]float64, len(f.starts))}
}

// eliminate takes the starts out of the equations, and then the blocks: neither has anything to do
// with others of its kind. What is left is as large as the number of arms.
func (f *fit) eliminate() {
	for b := range f.blocks {
		f.blocks[b] = part{d: 1e-6, h: make([]float64, len(f.n))} // without it there were one equation too few
	}
	at, m := make([]int, len(f.n)), make([][]float64, len(f.seen))
	for i, a := range f.seen {
		at[a], m[i] = i, make([]float64, len(f.seen))
		m[i][i] = f.n[a]
	}
	for i := range f.starts {
		s := &f.starts[i]
		s.d = s.n + f.own/f.spread.start
		left, b := 1-s.n/s.d, &f.blocks[s.block]
		b.d += s.n * left
		for _, a := range s.arms {
			b.h[a] += left
			for _, c := range s.arms {
				m[at[a]][at[c]] -= 1 / s.d
			}
		}
	}
	for _, b := range f.blocks {
		for i, a := range f.seen {
			if b.h[a] != 0 {
				for k, c := range f.seen {
					m[i][k] -= b.h[a] * b.h[c] / b.d
				}
			}
		}
	}
	f.half = cholesky(m)
}

// solve solves the equations of the model for some right side, which it changes.
func (f *fit) solve(rhs estimates) estimates {
	for i, s := range f.starts {
		x := rhs.start[i] / s.d
		rhs.block[s.block] -= s.n * x
		for _, a := range s.arms {
			rhs.arm[a] -= x
		}
	}
	left := make([]float64, len(f.seen))
	for i, a := range f.seen {
		left[i] = rhs.arm[a]
		for k, b := range f.blocks {
			left[i] -= b.h[a] * rhs.block[k] / b.d
		}
	}
	out := f.zero()
	for i, x := range solveHalf(f.half, left) {
		out.arm[f.seen[i]] = x
	}
	for k, b := range f.blocks {
		x := rhs.block[k]
		for _, a := range f.seen {
			x -= b.h[a] * out.arm[a]
		}
		out.block[k] = x / b.d
	}
	for i, s := range f.starts {
		x := rhs.start[i] - s.n*out.block[s.block]
		for _, a := range s.arms {
			x -= out.arm[a]
		}
		out.start[i] = x / s.d
	}
	return out
}

// respread estimates the spread anew from the estimates.
func (f *fit) respread() {
	rest, own := 0.0, 0.0
	for _, o := range f.obs {
		u := f.estimates.start[o.start]
		e := o.y - f.arm[o.arm] - f.block[o.block] - u
		own += e * (e + u) // y'(y - fitted): what is explained by neither arm nor block
	}
	for i, u := range f.estimates.start {
		one := f.zero()
		one.start[i] = 1
		rest += u*u + f.own*f.solve(one).start[i]
	}
	fixed := len(f.blocks) - 1 + len(f.seen)
	f.own = (before*ownBefore*ownBefore + max(0, own)) / (before + float64(max(0, len(f.obs)-fixed)))
	f.spread.start = (before*startBefore*startBefore + rest) / (before + float64(len(f.starts)))
}

// contrast is a sum of arms' estimates with weights.
type contrast struct {
	value, se float64
	df        int // 0: nothing is known of its spread
	// Of a pair of arms, see [Race.against]: the blocks in which both were read, and the error by
	// the spread of all arms.
	blocks int
	model  float64
}

// of computes a contrast: weights by arm, which sum up to 0. The variance is that of the sum of
// observations that the estimate is, whatever the spread was assumed to be.
func (f *fit) of(weights map[int]float64) (c contrast) {
	rhs := f.zero()
	for _, a := range f.seen {
		rhs.arm[a] = weights[a]
		c.value += weights[a] * f.arm[a]
	}
	k := f.solve(rhs)
	own, byStart := 0.0, make([]float64, len(f.starts))
	for _, o := range f.obs {
		w := k.arm[o.arm] + k.block[o.block] + k.start[o.start]
		own += w * w
		byStart[o.start] += w
	}
	own *= f.own
	start := f.spread.start * dot(byStart, byStart)
	v := own + start
	c.se = math.Sqrt(v)
	dfOwn, share := f.dfOwn, start/v
	if dfOwn < 1 && share > .5 { // each arm has starts of its own, whose spread has its own in it
		dfOwn = f.dfStart
	}
	if dfOwn >= 1 && (share < .01 || f.dfStart >= 1) {
		c.df = max(1, int(v*v/(own*own/dfOwn+start*start/max(1, f.dfStart)))) // Satterthwaite's
	}
	return c
}

// told reports whether a contrast has an interval: no spread is known of too few starts.
func (c contrast) told() bool { return c.df > 0 }

// interval computes the interval of a contrast that misses with the chance alpha.
func (c contrast) interval(alpha float64) (lo, hi float64) {
	if !c.told() {
		return math.Inf(-1), math.Inf(1)
	}
	far := stat.StudentT(c.df, alpha) * c.se
	return c.value - far, c.value + far
}

func dot(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// cholesky computes the lower factor of a positive definite matrix, in its place.
func cholesky(m [][]float64) [][]float64 {
	for i := range m {
		for k := range i + 1 {
			x := m[i][k] - dot(m[i][:k], m[k][:k])
			if i == k {
				m[i][i] = math.Sqrt(max(x, 1e-12))
			} else {
				m[i][k] = x / m[k][k]
			}
		}
	}
	return m
}

// solveHalf solves for the matrix whose lower factor is half.
func solveHalf(half [][]float64, rhs []float64) []float64 {
	x := make([]float64, len(rhs))
	for i := range x {
		x[i] = (rhs[i] - dot(half[i][:i], x[:i])) / half[i][i]
	}
	for i := len(x) - 1; i >= 0; i-- {
		x[i] /= half[i][i]
		for k := range i {
			x[k] -= half[i][k] * x[i]
		}
	}
	return x
}
