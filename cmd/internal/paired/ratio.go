// SPDX-License-Identifier: MIT

// Package paired compares two contenders by runs that lay next to each other.
package paired

import (
	"fmt"
	"math"
	"slices"
)

// Ratio is how two paired figures compare: run i of ours against run i of
// theirs, which ran next to it.
//
// Estimate is the Hodges-Lehmann estimate of the paired ratios (the median of
// the geometric means of all pairs of them), Lo..Hi its exact interval from the
// Wilcoxon signed-rank distribution. Pairing takes out what hits neighbouring
// runs alike, such as other load on the machine; ranks keep a single bad run
// from deciding. It is not exactly the ratio of the two medians.
type Ratio struct {
	N          int     `json:"n"`
	Estimate   float64 `json:"estimate"`
	Lo         float64 `json:"lo"` // 0 below 6 pairs, as are Hi and Confidence: no such interval exists
	Hi         float64 `json:"hi"`
	Confidence float64 `json:"confidence"`
}

// confidence is the least confidence of an interval.
const confidence = 0.95

// HasInterval reports whether there were enough pairs for an interval.
func (r Ratio) HasInterval() bool { return r.Confidence > 0 }

// Compare compares ours with theirs; both are positive and of equal length.
func Compare(ours, theirs []float64) Ratio {
	logs := make([]float64, len(ours))
	for i := range ours {
		logs[i] = math.Log(ours[i] / theirs[i])
	}
	r := Ratio{N: len(logs)}
	if r.N == 0 {
		return r
	}
	walsh := walshAverages(logs)
	r.Estimate = math.Exp(Median(walsh))
	if k, conf := signedRank(r.N); k > 0 {
		r.Lo, r.Hi, r.Confidence = math.Exp(walsh[k-1]), math.Exp(walsh[len(walsh)-k]), conf
	}
	return r
}

// walshAverages are the averages of all pairs, every value with itself too,
// ascending.
func walshAverages(v []float64) []float64 {
	out := make([]float64, 0, len(v)*(len(v)+1)/2)
	for i := range v {
		for j := i; j < len(v); j++ {
			out = append(out, (v[i]+v[j])/2)
		}
	}
	slices.Sort(out)
	return out
}

// signedRank finds the interval that the Wilcoxon signed-rank distribution of n
// values gives: from the k-th smallest to the k-th largest Walsh average, with
// the confidence 1 - 2 P(T <= k-1). k is 0 where even the widest is not
// confident enough.
func signedRank(n int) (k int, conf float64) {
	most := n * (n + 1) / 2
	ways := make([]float64, most+1) // ways[s]: P(T = s)
	ways[0] = 1
	for rank := 1; rank <= n; rank++ {
		for s := most; s >= 0; s-- {
			ways[s] /= 2
			if s >= rank {
				ways[s] += ways[s-rank] / 2
			}
		}
	}
	for tail := ways[0]; 1-2*tail >= confidence; tail += ways[k] {
		k++
		conf = 1 - 2*tail
	}
	return k, conf
}

// Median of v, which it does not change.
func Median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// String is the ratio with its interval.
func (r Ratio) String() string {
	if !r.HasInterval() {
		return fmt.Sprintf("%.3f", r.Estimate)
	}
	return fmt.Sprintf("%.3f [%.3f..%.3f]", r.Estimate, r.Lo, r.Hi)
}
