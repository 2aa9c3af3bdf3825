// SPDX-License-Identifier: MIT

package stat

import (
	"fmt"
	"math"
	"slices"
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
	walsh := averagesOf(ours, theirs)
	low, high := (walsh.n-1)/2, walsh.n/2
	p.Estimate = math.Exp((walsh.at(low) + walsh.at(high)) / 2)
	if k, conf := signedRank(p.N); k > 0 {
		p.Lo, p.Hi, p.Confidence = math.Exp(walsh.at(k-1)), math.Exp(walsh.at(walsh.n-k)), conf
	}
	return p
}

// at finds the value that would be at position k of v if v were sorted. It changes the order of v.
func at(v []float64, k int) float64 {
	bring(v, k)
	return v[k]
}

// averages are those of all pairs of the ratios' logarithms, every one with itself too (Walsh's).
// Those of many are looked for, not listed: of 50,000 runs they would take 10 GB.
type averages struct {
	n      int
	listed []float64 // of up to mostListed
	sorted []float64 // else the logarithms
}

func averagesOf(ours, theirs []float64) *averages {
	logs := make([]float64, len(ours))
	for i := range ours {
		logs[i] = math.Log(ours[i] / theirs[i])
	}
	a := &averages{n: len(logs) * (len(logs) + 1) / 2}
	if len(logs) > mostListed {
		slices.Sort(logs)
		a.sorted = logs
		return a
	}
	a.listed = make([]float64, 0, a.n)
	for i, x := range logs {
		for _, y := range logs[i:] {
			a.listed = append(a.listed, (x+y)/2)
		}
	}
	return a
}

// at finds the average at a position, from 0, of all in order.
func (a *averages) at(k int) float64 {
	if a.sorted == nil {
		return at(a.listed, k)
	}
	lo, hi := a.sorted[0], a.sorted[len(a.sorted)-1]
	for {
		mid := lo + (hi-lo)/2
		if !(lo < mid && mid < hi) { // no number is between them
			break
		}
		if a.upTo(mid) > k {
			hi = mid
		} else {
			lo = mid
		}
	}
	if a.upTo(lo) > k {
		return lo
	}
	return hi
}

// upTo counts the averages that are no more than x: the larger one of a pair, the smaller the other
// has to be.
func (a *averages) upTo(x float64) (n int) {
	s := a.sorted
	for i, k := 0, len(s)-1; i < len(s); i++ {
		for k >= i && (s[i]+s[k])/2 > x {
			k--
		}
		if k < i {
			break
		}
		n += k - i + 1
	}
	return n
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

var signedRanks sync.Map // by n; counting takes n^3, and half of n^2 in memory

func countSignedRank(n int) (k int, conf float64) {
	if n > mostListed {
		return normalSignedRank(float64(n))
	}
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

// normalSignedRank takes the distribution for normal, corrected for its steps.
func normalSignedRank(n float64) (k int, conf float64) {
	mean, sd := n*(n+1)/4, math.Sqrt(n*(n+1)*(2*n+1)/24)
	k = int(mean - math.Sqrt2*math.Erfinv(confidence)*sd + .5)
	return k, math.Erf((mean - float64(k) + .5) / (math.Sqrt2 * sd))
}

// String formats the ratio with its interval.
func (p Paired) String() string {
	if !p.HasInterval() {
		return fmt.Sprintf("%.3f", p.Estimate)
	}
	return fmt.Sprintf("%.3f [%.3f..%.3f]", p.Estimate, p.Lo, p.Hi)
}
