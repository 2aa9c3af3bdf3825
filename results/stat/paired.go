// SPDX-License-Identifier: MIT

package stat

import (
	"fmt"
	"math"
	"sync"
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
	low, high := (len(walsh)-1)/2, len(walsh)/2
	p.Estimate = math.Exp((at(walsh, low) + at(walsh, high)) / 2)
	if k, conf := signedRank(p.N); k > 0 {
		p.Lo, p.Hi, p.Confidence = math.Exp(at(walsh, k-1)), math.Exp(at(walsh, len(walsh)-k)), conf
	}
	return p
}

// at is what stands at a position of v when it is sorted. It changes the order of v.
func at(v []float64, k int) float64 {
	bring(v, k)
	return v[k]
}

// walshAverages are the averages of all pairs of the ratios' logarithms, every
// one with itself too.
func walshAverages(ours, theirs []float64) []float64 {
	out := make([]float64, 0, len(ours)*(len(ours)+1)/2)
	logs := make([]float64, len(ours))
	for i := range ours {
		logs[i] = math.Log(ours[i] / theirs[i])
	}
	for i, x := range logs {
		for _, y := range logs[i:] {
			out = append(out, (x+y)/2)
		}
	}
	return out
}

// signedRank finds the interval that the Wilcoxon signed-rank distribution of n
// values gives: from the k-th smallest to the k-th largest Walsh average, with
// the confidence 1 - 2 P(T <= k-1). k is 0 where even the widest is not
// confident enough.
func signedRank(n int) (k int, conf float64) {
	if known, ok := signedRanks.Load(n); ok {
		r := known.(rankInterval)
		return r.k, r.conf
	}
	k, conf = countSignedRank(n)
	signedRanks.Store(n, rankInterval{k, conf})
	return k, conf
}

type rankInterval struct {
	k    int
	conf float64
}

var signedRanks sync.Map // by n; counting takes n^3

func countSignedRank(n int) (k int, conf float64) {
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
