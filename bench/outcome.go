// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/results"
)

// Outcome is how many runs of a journal went wrong.
type Outcome struct{ Failed, Invalid int }

// OutcomeOf counts the runs that count and went wrong, by their verdicts after the
// gates of their cells. A failed run that was made again is as good as its last
// repetition; cells that cannot run are no runs.
func OutcomeOf(j results.Journal) (o Outcome) {
	type slot struct {
		cell results.CellKey
		rep  int
	}
	last := map[slot]results.Verdict{}
	for _, r := range j.Records {
		if k := (slot{r.Cell.Key(), r.Rep}); !r.Warmup {
			last[k] = r.Verdict
		}
	}
	for _, v := range last {
		switch v {
		case results.Failed:
			o.Failed++
		case results.Invalid:
			o.Invalid++
		}
	}
	return o
}

// String is "2 runs failed, 3 runs are invalid", without what there is none of.
func (o Outcome) String() string {
	var parts []string
	if o.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d runs failed", o.Failed))
	}
	if o.Invalid > 0 {
		parts = append(parts, fmt.Sprintf("%d runs are invalid", o.Invalid))
	}
	return strings.Join(parts, ", ")
}

// Good tells that nothing went wrong.
func (o Outcome) Good() bool { return o == Outcome{} }
