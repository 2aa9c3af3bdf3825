// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/stat"
)

// mostBeside is how many runs may be held beside those of another cell, of all pairs: a run of a
// cell that a thousand others are compared with counts a thousand times.
const mostBeside = 4_000_000

// ManyError is a comparison of more than can be compared.
type ManyError struct {
	Is, Most int
	What     string
}

func (e *ManyError) Error() string {
	return fmt.Sprintf(
		"%d %s, more than the %d that are compared at once: choose fewer cells by a factor, such as @rx=tcp", e.Is,
		e.What, e.Most)
}

func checkWork(pairs []pairing) error {
	n := 0
	for _, p := range pairs {
		n += len(p.a.All) + len(p.b.All)
	}
	if n > mostBeside {
		return &ManyError{Is: n, Most: mostBeside, What: "runs beside those of another cell"}
	}
	return nil
}

// sums are what a figure comes to in cells: one may be in thousands of pairs.
type sums struct {
	of    Metric
	known map[*Cell]*summed
}

type summed struct {
	sum   *stat.Summary // nil: nothing was measured
	runs  []stat.Run
	limit plan.LimitedBy
	whole int // figures, with those of runs that gates left out
}

func (s *sums) cell(c *Cell) *summed {
	if s.known[c] == nil {
		s.known[c] = &summed{sum: stat.Summarize(values(c, s.of)), runs: runsOf(c, s.of), limit: c.limit(),
			whole: len(values(c.whole(), s.of))}
	}
	return s.known[c]
}
