// SPDX-License-Identifier: MIT

package stat

import (
	"fmt"
	"math"
	"slices"
)

// Paired is how two paired figures compare: run i of ours against run i of
// theirs, which ran next to it.
//
// Estimate is the Hodges-Lehmann estimate of the paired ratios (the median of
// the geometric means of all pairs of them), Lo..Hi its exact interval from the
// Wilcoxon signed-rank distribution. Pairing takes out what hits neighbouring
// runs alike, such as other load on the machine; ranks keep a single bad run
// from deciding. It is not exactly the ratio of the two medians.
type Paired struct {
	N          int     `json:"n"`
	Estimate   float64 `json:"estimate"`
	Lo         float64 `json:"lo"` // 0 below MinRuns pairs, as are Hi and Confidence: no interval
	Hi         float64 `json:"hi"`
	Confidence float64 `json:"confidence"`
}

// HasInterval reports whether there were enough pairs for an interval.
func (p Paired) HasInterval() bool { return p.Confidence > 0 }

// Pairs compares ours with theirs; both are positive and of equal length.
func Pairs(ours, theirs []float64) Paired {
	p := Paired{N: len(ours)}
	if p.N == 0 {
		return p
	}
	walsh := walshAverages(ours, theirs)
	p.Estimate = math.Exp(sortedMedian(walsh))
	if k, conf := signedRank(p.N); k > 0 {
		p.Lo, p.Hi, p.Confidence = math.Exp(walsh[k-1]), math.Exp(walsh[len(walsh)-k]), conf
	}
	return p
}

// walshAverages are the averages of all pairs of the ratios' logarithms, every
// one with itself too, ascending.
func walshAverages(ours, theirs []float64) (out []float64) {
	logs := make([]float64, len(ours))
	for i := range ours {
		logs[i] = math.Log(ours[i] / theirs[i])
	}
	for i, x := range logs {
		for _, y := range logs[i:] {
			out = append(out, (x+y)/2)
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
	for tail := ways[0]; 1-2*tail >= Confidence; tail += ways[k] {
		k++
		conf = 1 - 2*tail
	}
	return k, conf
}

// String is the ratio with its interval.
func (p Paired) String() string {
	if !p.HasInterval() {
		return fmt.Sprintf("%.3f", p.Estimate)
	}
	return fmt.Sprintf("%.3f [%.3f..%.3f]", p.Estimate, p.Lo, p.Hi)
}
