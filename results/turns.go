// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"strconv"

	"github.com/zcbench/zcbench/internal/units"
)

// Turns say of a run that it was made in turns with runs of other cells: docs/turns.md.
type Turns struct {
	TurnNs int64 `json:"turn_ns"` // how long each was at its pace
	Turns  int   `json:"turns"`   // of each cell, that are measured
	Cells  int   `json:"cells"`   // that took turns
	// WindowNs is how long the window was in which all of them had these turns; 0: not on record.
	WindowNs int64 `json:"window_ns,omitempty"`
}

// Bounds of what a session counts, far above what one makes in a week.
const mostStarts, mostTurns = 100_000, 100_000

// checkStart refuses starts and turns that no session has.
func (r *Record) checkStart() error {
	if r.Start < 0 || r.Start > mostStarts {
		return fmt.Errorf("start %d, not 0 to %d", r.Start, mostStarts)
	}
	if t := r.Turns; t != nil && (t.Turns < 0 || t.Turns > mostTurns) {
		return fmt.Errorf("%d turns, not 0 to %d", t.Turns, mostTurns)
	}
	return nil
}

// EndUTCNs returns the end of the steady window on the clock of [Record.StartUTCNs]; 0: not known.
func (r *Record) EndUTCNs() int64 {
	switch {
	case r.StartUTCNs == 0:
		return 0
	case r.Turns != nil && r.Turns.WindowNs > 0:
		return r.StartUTCNs + r.Turns.WindowNs
	case r.Turns == nil && r.SUT.DurationS != nil:
		return r.StartUTCNs + int64(*r.SUT.DurationS*1e9)
	}
	return 0
}

// turnsCol makes the column of how many turns a run had. What else is known of them is in the
// journal alone.
func turnsCol() column {
	return optional(column{"turns",
		func(r *row) string {
			if r.rec.Turns == nil {
				return ""
			}
			return strconv.Itoa(r.rec.Turns.Turns)
		},
		func(r *row, s string) error {
			n, err := units.ParseInt(s)
			r.rec.Turns = &Turns{Turns: n}
			return err
		}})
}
