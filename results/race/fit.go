// SPDX-License-Identifier: MIT

package race

import (
	"math"

	"github.com/zcbench/zcbench/results/stat"
)

// What is assumed of the spread before anything is measured, and as how many degrees of freedom it
// counts: an arm's own 1 % in a start, and 3 % from start to start. In the first block nothing else
// is known.
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
	starts int
	blocks int
	seen   []int       // arms with observations
	n      []float64   // observations of an arm
	both   [][]float64 // of an arm in a block, or in a start (from blocks on)
	half   [][]float64 // Cholesky factor of what is left when the arms are eliminated
	arm    []float64   // estimates; those of arms without observations mean nothing
	common []float64   // of blocks and starts
}

// newFit estimates the model. If the spread is given, it is taken.
func newFit(obs []observation, arms, blocks, starts int, given *spread) *fit {
	f := &fit{obs: obs, starts: starts, blocks: blocks, n: make([]float64, arms), both: make([][]float64, arms)}
	for _, o := range obs {
		if f.n[o.arm] == 0 {
			f.both[o.arm], f.seen = make([]float64, blocks+starts), append(f.seen, o.arm)
		}
		f.n[o.arm]++
		f.both[o.arm][o.block]++
		f.both[o.arm][blocks+o.start]++
	}
	if given != nil {
		f.spread = *given
		f.solve()
		return f
	}
	f.own, f.start = ownBefore*ownBefore, startBefore*startBefore
	f.countDegrees()
	for range 15 { // restricted likelihood, by expectation and maximization
		f.solve()
		f.respread()
	}
	f.solve()
	return f
}

// countDegrees counts how much the observations say of either spread.
func (f *fit) countDegrees() {
	parent := make([]int, len(f.n)+f.starts) // arms and starts: which are connected
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
	f.dfOwn = before + float64(len(f.obs)-arms-starts+len(parts))
	f.dfStart = before + float64(max(0, starts-len(blocks)-len(parts)+1))
}

// solve computes the estimates for the spread that is assumed.
func (f *fit) solve() {
	q := f.blocks + f.starts
	e, rhs := make([][]float64, q), make([]float64, q)
	for i := range e {
		e[i] = make([]float64, q)
		if e[i][i] = f.own / f.start; i < f.blocks {
			e[i][i] = 1e-6 // whatever a block is; without it there were one equation too few
		}
	}
	sum := make([]float64, len(f.n))
	for _, o := range f.obs {
		b, s := o.block, f.blocks+o.start
		e[b][b]++
		e[s][s]++
		e[b][s]++
		e[s][b]++
		rhs[b] += o.y
		rhs[s] += o.y
		sum[o.arm] += o.y
	}
	for _, a := range f.seen {
		for i, x := range f.both[a] {
			if x == 0 {
				continue
			}
			for k, y := range f.both[a] {
				e[i][k] -= x * y / f.n[a]
			}
			rhs[i] -= x * sum[a] / f.n[a]
		}
	}
	f.half = cholesky(e)
	f.common = solveHalf(f.half, rhs)
	f.arm = make([]float64, len(f.n))
	for _, a := range f.seen {
		f.arm[a] = (sum[a] - dot(f.both[a], f.common)) / f.n[a]
	}
}

// respread estimates the spread anew from the estimates.
func (f *fit) respread() {
	rest, own := 0.0, 0.0
	for _, o := range f.obs {
		u := f.common[f.blocks+o.start]
		e := o.y - f.arm[o.arm] - f.common[o.block] - u
		own += e * (e + u) // y'(y - fitted): what is explained by neither arm nor block
	}
	for i := f.blocks; i < len(f.common); i++ {
		unit := make([]float64, len(f.common))
		unit[i] = 1
		rest += f.common[i]*f.common[i] + f.own*solveHalf(f.half, unit)[i]
	}
	fixed := f.blocks - 1 + len(f.seen)
	f.own = (before*ownBefore*ownBefore + max(0, own)) / (before + float64(max(0, len(f.obs)-fixed)))
	f.start = (before*startBefore*startBefore + rest) / (before + float64(f.starts))
}

// contrast is a sum of arms' estimates with weights.
type contrast struct {
	value, se float64
	df        int
}

// of computes a contrast: weights by arm, which sum up to 0. The variance is that of the sum of
// observations that the estimate is, whatever the spread was assumed to be.
func (f *fit) of(weights map[int]float64) (c contrast) {
	rhs := make([]float64, len(f.common))
	for _, a := range f.seen {
		w := weights[a]
		if w == 0 {
			continue
		}
		c.value += w * f.arm[a]
		for i, x := range f.both[a] {
			rhs[i] -= x * w / f.n[a]
		}
	}
	common := solveHalf(f.half, rhs)
	arm := make([]float64, len(f.n))
	for _, a := range f.seen {
		arm[a] = (weights[a] - dot(f.both[a], common)) / f.n[a]
	}
	own, byStart := 0.0, make([]float64, f.starts)
	for _, o := range f.obs {
		k := arm[o.arm] + common[o.block] + common[f.blocks+o.start]
		own += k * k
		byStart[o.start] += k
	}
	own *= f.own
	start := f.spread.start * dot(byStart, byStart)
	v := own + start
	c.se = math.Sqrt(v)
	c.df = max(1, int(v*v/(own*own/f.dfOwn+start*start/f.dfStart))) // Satterthwaite's
	return c
}

// interval computes the interval of a contrast that misses with the chance alpha.
func (c contrast) interval(alpha float64) (lo, hi float64) {
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
