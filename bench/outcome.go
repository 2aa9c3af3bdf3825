// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/results"
)

// Outcome is how many runs of a journal went wrong.
type Outcome struct {
	Failed, Invalid int
	Expected        int // of the invalid ones, those that could not be anything else there
	Spoilt          int // of the invalid ones, those that something else on the hosts spoilt, each time they were made
	Nothing         int // cells that cannot run, where there is no other run
	Once            int // of the spoilt ones, those that were not made again
	Unpaced         int // of the failed ones, of a share of an unknown pace, where others count
}

// OutcomeOf counts the runs that count and went wrong, by their verdicts after the
// gates of their cells. A failed or spoilt run that was made again is as good as its
// last repetition; cells that cannot run are no runs, unless there is no other.
func OutcomeOf(j results.Journal) (o Outcome) {
	last, tries := map[slot]*results.Record{}, map[slot]int{}
	for i := range j.Records {
		if r := &j.Records[i]; !r.Warmup {
			at := slot{r.Cell.Key(), r.Rep}
			last[at] = r
			tries[at]++
		}
	}
	unsupported, ok := 0, 0
	for at, r := range last {
		switch r.Verdict {
		case results.OK:
			ok++
		case results.Failed:
			o.Failed++
			if r.Cell.PacePercent != 0 && r.Cell.PaceBitsPS == 0 {
				o.Unpaced++
			}
		case results.Invalid:
			o.Invalid++
			switch {
			case r.Expected:
				o.Expected++
			case r.Spoilt():
				o.Spoilt++
				if tries[at] == 1 {
					o.Once++
				}
			}
		case results.Unsupported:
			unsupported++
		}
	}
	if unsupported == len(last) {
		o.Nothing = unsupported
	}
	if ok == 0 {
		o.Unpaced = 0 // nothing was measured
	}
	return o
}

// String formats "2 runs failed, 1 run is invalid", without what there is none of.
func (o Outcome) String() string {
	var parts []string
	if o.Failed > 0 {
		parts = append(parts, counted(o.Failed, "run failed", "runs failed"))
	}
	if o.Invalid > 0 {
		parts = append(parts, counted(o.Invalid, "run is invalid", "runs are invalid"))
	}
	if o.Nothing > 0 {
		parts = append(parts, "no cell can run here")
	}
	return strings.Join(parts, ", ")
}

func counted(n int, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Good reports whether nothing went wrong.
func (o Outcome) Good() bool { return o.Failed+o.Invalid+o.Nothing == 0 }

// AsDemo leaves out the runs that were expected to be invalid, and those that were spoilt: a
// demo shows what runs here, also on a machine that has other work, or by a path that keeps no
// pace. Limits that the user asked for hold.
func (o Outcome) AsDemo() Outcome {
	o.Invalid -= o.Expected + o.Spoilt
	o.Failed -= o.Unpaced
	o.Expected, o.Spoilt, o.Once, o.Unpaced = 0, 0, 0, 0
	return o
}
