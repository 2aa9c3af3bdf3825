// SPDX-License-Identifier: MIT

package stat

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/aclements/go-moremath/stats"
)

// Units are what the means of some cells are of: what was repeated, at the highest level that was
// repeated six times, as in [Contrast].
type Units struct {
	Name string // "boot", "session", "start" or "run"
	key  func(Run) string
}

// UnitsOf finds the units of cells: boots or starts if each cell with [MinRuns] runs has that many
// of them, else runs.
func UnitsOf(cells ...[]Run) Units {
	enough := func(unit func(Run) string) bool {
		some := false
		for _, runs := range cells {
			if len(runs) < MinRuns {
				continue
			}
			if some = true; len(unitsOf(runs, unit)) < MinRuns {
				return false
			}
		}
		return some
	}
	switch {
	case enough(Run.boot):
		return Units{"boot", Run.boot}
	case enough(Run.start):
		return Units{"start", Run.start}
	}
	return Units{"run", func(r Run) string { return r.start() + "\x00" + strconv.Itoa(r.Rep) }}
}

// Means computes the mean of each unit of a cell, by its key.
func (u Units) Means(runs []Run) map[string]float64 {
	values := map[string][]float64{}
	for _, r := range runs {
		values[u.key(r)] = append(values[u.key(r)], r.Value)
	}
	out := make(map[string]float64, len(values))
	for k, v := range values {
		out[k] = mean(v)
	}
	return out
}

// Within names the few starts or boots that all runs are of, to which what is said of them is
// confined; "": they are of enough, or of one.
func (u Units) Within(cells ...[]Run) string {
	starts, boots := map[string]bool{}, map[string]bool{}
	for _, runs := range cells {
		for _, r := range runs {
			starts[r.start()], boots[r.boot()] = true, true
		}
	}
	switch {
	case u.Name != "boot" && len(boots) > 1:
		return fmt.Sprintf("within these %d boots", len(boots))
	case u.Name == "run" && len(starts) > 1:
		return fmt.Sprintf("within these %d starts", len(starts))
	}
	return ""
}

// MeanInterval computes the mean of values of units, and its interval by Student's t, so wide that
// it and as many others as make it one of a family hold together with 95 % (Bonferroni). ok is
// false below [MinRuns] values: then there is none.
func MeanInterval(v []float64, family int) (m, lo, hi float64, ok bool) {
	return meanInterval(v, (1-confidence)/float64(max(1, family)))
}

// meanInterval computes the interval that misses with the chance alpha.
func meanInterval(v []float64, alpha float64) (m, lo, hi float64, ok bool) {
	if len(v) == 0 {
		return math.NaN(), 0, 0, false
	}
	if m = mean(v); len(v) < MinRuns {
		return m, m, m, false
	}
	t := StudentT(len(v)-1, alpha)
	far := t * deviation(v) / math.Sqrt(float64(len(v)))
	return m, m - far, m + far, !math.IsNaN(far) && !math.IsInf(far, 0)
}

type tKey struct {
	df    int
	alpha float64
}

var quantilesT sync.Map // tKey -> float64

// StudentT returns what Student's t exceeds with the chance alpha, on either side.
func StudentT(df int, alpha float64) float64 {
	key := tKey{df, alpha}
	if t, ok := quantilesT.Load(key); ok {
		return t.(float64)
	}
	t := quantileT(stats.TDist{V: float64(df)}, 1-alpha/2)
	quantilesT.Store(key, t)
	return t
}
