// SPDX-License-Identifier: MIT

package race

import (
	"cmp"
	"math"
	"slices"
)

// withWaiting puts waiting arms among those that are to run, one after each: those of which more is
// expected than of the leader, the best first, at most as many as run.
func (r *Race) withWaiting(order []int) (run []int) {
	var waiting []int
	for arm, waits := range r.waits {
		if waits {
			waiting = append(waiting, arm)
		}
	}
	if len(waiting) == 0 {
		return order
	}
	expected := r.expect(append(waiting, order[0]))
	least := expected[order[0]]
	waiting = slices.DeleteFunc(waiting, func(arm int) bool { return expected[arm] <= least })
	slices.SortStableFunc(waiting, func(a, b int) int { return cmp.Compare(expected[b], expected[a]) })
	for i, arm := range order {
		if run = append(run, arm); i < len(waiting) {
			run = append(run, waiting[i])
		}
	}
	return run
}

// expect computes what is expected of arms by those that were measured: by a Gaussian process in
// which arms are the more alike the more levels, and the more pairs of levels, they have in common.
func (r *Race) expect(arms []int) map[int]float64 {
	f, seen := r.fit(), r.measured()
	mean, spread := 0.0, 0.0
	for _, a := range seen {
		mean += f.arm[a] / float64(len(seen))
	}
	for _, a := range seen {
		spread += (f.arm[a] - mean) * (f.arm[a] - mean) / float64(len(seen))
	}
	n := float64(len(r.field.Factors))
	alike := func(a, b int) float64 {
		m := 0.0
		for i, level := range r.field.Arms[a] {
			if level == r.field.Arms[b][i] {
				m++
			}
		}
		return spread * (m/n + m*(m-1)/max(1, n*(n-1))) / 2
	}
	k, y := make([][]float64, len(seen)), make([]float64, len(seen))
	for i, a := range seen {
		k[i], y[i] = make([]float64, len(seen)), f.arm[a]-mean
		for j, b := range seen {
			if k[i][j] = alike(a, b); r.group[a] == r.group[b] {
				k[i][j] += f.spread.start / math.Max(f.n[a], f.n[b]) // what their starts have in common
			}
		}
		k[i][i] += f.own / f.n[a]
	}
	weights := solveHalf(cholesky(k), y)
	out := map[int]float64{}
	for _, a := range arms {
		out[a] = mean
		for i, b := range seen {
			out[a] += weights[i] * alike(a, b)
		}
	}
	return out
}
