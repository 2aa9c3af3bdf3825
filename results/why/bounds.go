// SPDX-License-Identifier: MIT

package why

import (
	"cmp"
	"math"
	"slices"

	"github.com/zcbench/zcbench/results"
)

// A journal can come from anywhere, and a line of it has room for a million names. Each that is
// compared takes a permutation test: so there are bounds on what a profile may say, and on how many
// classes all runs together have.
const (
	mostClasses = 64
	mostFigure  = 1e18 // of any figure: sums, means and squares of such ones are finite
)

func plausible(v float64) bool { return math.Abs(v) <= mostFigure } // NaN is not

// fits reports whether zcbench can have made the profile. It checks what sort summed up: sums of
// many figures can be too large where none of the figures is.
func (r *run) fits() bool {
	if len(r.profile.Classes) > mostClasses || len(r.profile.Functions) > results.MostFunctions || !plausible(r.cpu()) {
		return false
	}
	for _, v := range r.classes {
		if !plausible(v) {
			return false
		}
	}
	for _, f := range r.functions {
		if !plausible(*f.SelfPerKB) {
			return false
		}
	}
	return true
}

// fold puts the classes with the least time of all runs into "other", where the runs together have
// more than so many: all still add up. It returns how many it folded.
func (s *sides) fold() int {
	total := map[string]float64{}
	runs := slices.Concat(s.a.runs, s.b.runs)
	for _, r := range runs {
		for name, v := range r.classes {
			total[name] += v
		}
	}
	var names []string
	for name := range total {
		if name != "other" && name != notSampled {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(total[y], total[x]), cmp.Compare(x, y)) })
	folded := names[min(len(names), mostClasses):]
	for _, r := range runs {
		for _, name := range folded {
			if v, ok := r.classes[name]; ok {
				r.classes["other"] += v
				delete(r.classes, name)
			}
		}
	}
	return len(folded)
}
