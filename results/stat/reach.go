// SPDX-License-Identifier: MIT

package stat

import (
	"math"
	"math/rand/v2"
	"sync"
)

// Power is the chance with which [Reach.Finds] is found.
const Power = 0.8

// Reach is what a family of comparisons can show at all, before any run is made: of cells that
// run in the same blocks ([Contrast]).
type Reach struct {
	Runs  int `json:"runs"`  // of each cell
	Tests int `json:"tests"` // comparisons that are corrected together

	// LeastP is the smallest p, corrected, that any data could give: that of samples
	// that do not overlap.
	LeastP float64 `json:"least_p"`

	share   float64 // of the level that the comparisons have together; 0: all
	inTurns bool    // pairs are within a start
}

// InTurns returns the reach of comparisons of cells that take turns: see [Difference.Choose].
func (r Reach) InTurns() Reach {
	if least := leastInTurns(r.Runs); least < r.alpha() {
		r.inTurns, r.LeastP = true, min(1, least*Alpha/r.alpha())
	}
	return r
}

// With returns the reach of the comparisons if they have only a share of the level together.
func (r Reach) With(share float64) Reach {
	r.share, r.LeastP = share, min(1, r.LeastP/share)
	return r
}

// alpha returns the level of each comparison.
func (r Reach) alpha() float64 {
	if r.share == 0 {
		return Alpha / float64(r.Tests)
	}
	return r.share * Alpha / float64(r.Tests)
}

// NewReach computes the reach of tests comparisons of two cells with so many runs each.
func NewReach(runs, tests int) Reach {
	return Reach{Runs: runs, Tests: tests, LeastP: min(1, float64(tests)*leastBlocked(runs))}
}

// ReachOf computes what the runs of d could have shown among so many comparisons.
func ReachOf(d *Difference, tests int) Reach {
	return Reach{Runs: min(d.NA, d.NB), Tests: tests, LeastP: min(1, float64(tests)*d.Least)}
}

// Finds computes the difference of one cell that is found with a chance of [Power] while no other
// differs, in standard deviations of the runs. ok is false if even samples that do not overlap get
// no verdict.
func (r Reach) Finds() (sd float64, ok bool) {
	if !r.Attainable() {
		return 0, false
	}
	alpha := r.alpha()
	if r.Runs > simulatedRuns {
		return farFindable(r.Runs, alpha), true
	}
	lo, hi := 0.0, 16.0
	for hi-lo > 0.005 {
		if mid := (lo + hi) / 2; r.powerOf(mid) >= Power {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, true
}

// finds reports whether a difference of sd standard deviations is found with a chance of Power.
func (r Reach) finds(sd float64) bool {
	alpha := r.alpha()
	if r.Runs > simulatedRuns {
		return r.Attainable() && farFindable(r.Runs, alpha) <= sd
	}
	return r.Attainable() && r.powerOf(sd) >= Power
}

// Attainable reports whether any data could give a verdict.
func (r Reach) Attainable() bool { return r.Runs >= MinRuns && r.LeastP < Alpha }

// MaxTests returns how many comparisons at most can get verdicts together from so many runs.
func MaxTests(runs int) int {
	if runs < MinRuns {
		return 0
	}
	return mostTests(leastBlocked(runs))
}

// mostRuns is where a search for enough runs ends: more of a cell nobody makes.
const mostRuns = 500

// RunsFor finds how many runs of each cell show a difference of sd standard deviations in a family
// of so many comparisons; sd 0 asks only that a verdict is possible. The number is even: runs are
// compared in pairs of blocks. ok is false if even 500 do not.
func RunsFor(tests int, sd float64) (n int, ok bool) {
	for n = MinRuns; n <= mostRuns; n += 2 {
		r := NewReach(n, tests)
		if !r.Attainable() || sd > 0 && farFindable(n, Alpha/float64(tests)) > 1.5*sd { // far from it
			continue
		}
		if sd == 0 || r.finds(sd) {
			return n, true
		}
	}
	return mostRuns + 1, false
}

// StartsFor returns how many starts let so many comparisons of cells that took turns be within
// starts.
func StartsFor(tests int) (n int) {
	for n = MinRuns; n < mostRuns && leastInTurns(n) >= Alpha/float64(tests); n++ {
	}
	return n
}

// leastP computes the p of the U test on two samples that do not overlap: two of all the ways to
// deal their ranks.
func leastP(na, nb int) float64 {
	p := 2.0
	for k := 1; k <= na; k++ {
		p *= float64(k) / float64(nb+k)
	}
	return min(1, p)
}

// simulatedRuns is up to how many runs the chance of finding a difference is simulated.
const simulatedRuns = 24

// trials is by how many pairs of samples that is: the standard error of a chance of 80 % is
// below 2 %. The draws are always the same, so the answer is.
const trials = 500

type powerKey struct {
	n         int
	sd, alpha float64
	inTurns   bool
}

var powers sync.Map // powerKey -> float64: a plan asks for several families alike

// powerOf returns the chance that the runs get a verdict on a difference of so many standard
// deviations, without drift. It simulates each case once.
func (r Reach) powerOf(sd float64) float64 {
	key := powerKey{r.Runs, sd, r.alpha(), r.inTurns}
	if p, ok := powers.Load(key); ok {
		return p.(float64)
	}
	p := key.simulate()
	powers.Store(key, p)
	return p
}

func (key powerKey) simulate() float64 {
	n, sd, alpha, each := key.n, key.sd, key.alpha, 2
	if key.inTurns {
		each = 1
	}
	rng := rand.New(rand.NewPCG(1947, uint64(n)))
	found := 0
	ours, theirs := make([]float64, n), make([]float64, n)
	strata := make([]stratum, (n+each-1)/each)
	const cv = 0.001 // as logarithms the runs are normal, too
	for range trials {
		for i := range strata {
			strata[i].a, strata[i].b = strata[i].a[:0], strata[i].b[:0]
		}
		for i := range n {
			x, y := cv*rng.NormFloat64(), cv*(sd+rng.NormFloat64())
			theirs[i], ours[i] = math.Exp(x), math.Exp(y)
			s := &strata[i/each]
			s.a, s.b = append(s.a, x), append(s.b, y)
		}
		if p, _ := permuteBlocks(strata); p < alpha && Pairs(ours, theirs).Lo > 1 {
			found++
		}
	}
	return float64(found) / trials
}

// farFindable computes what n runs find with a chance of Power, by the normal approximation of the
// U test (Noether 1987), and adds a tenth: by simulation, pairs of blocks cost that if there is no
// drift to take out.
func farFindable(n int, alpha float64) float64 {
	z := math.Sqrt2 * (math.Erfinv(1-alpha) + math.Erfinv(2*Power-1))
	return 1.1 * z * math.Sqrt(2*math.Pi/(3*float64(n)))
}
