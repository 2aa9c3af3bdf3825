// SPDX-License-Identifier: MIT

package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
)

// Origin is what a journal of an experiment file says about where its runs come
// from. It is in the journal's header.
type Origin struct {
	Name        string      `json:"name"`
	Hash        string      `json:"hash"` // SHA-256 of all that decides what is run, and in which order
	Seed        uint64      `json:"seed"` // of the order
	Repetitions int         `json:"repetitions"`
	Binary      string      `json:"binary"` // SHA-256 of the program
	SUT         measure.Env `json:"sut"`    // the hosts as they were at the start
	TG          measure.Env `json:"tg"`

	Power *PowerPlan `json:"power,omitempty"` // nil: a journal of an older version, which does not say

	Gates    Gates `json:"gates"`
	Baseline *Cell `json:"baseline,omitempty"` // the cell to compare the others with
	// Primary are the ids of the cells whose comparisons with the baseline were declared to
	// count before there were any figures. None: all do.
	Primary []string `json:"primary,omitempty"`
	// Against are what the partners of these are to have of the options that concern them alone: of
	// each, one by name, as runs.csv has it. None: what the baseline has.
	Against []map[string]string `json:"against,omitempty"`
	// About are the factors that comparisons were declared to be about. None: all.
	About []string `json:"about,omitempty"`
	// BetweenBoots is the spread of a figure between boots of the hosts that was declared,
	// as a standard deviation over the mean. 0: none was.
	BetweenBoots   float64 `json:"between_boots,omitempty"`
	BetweenBootsOf int     `json:"between_boots_of,omitempty"` // measured on so many; 0: nobody says
	// BetweenStarts is the same between starts of the agents of one boot.
	BetweenStarts Declared `json:"between_starts,omitzero"`
	File          string   `json:"file"`            // the experiment file's text
	Short         bool     `json:"short,omitempty"` // it has more: this is its short version

	// Played is the plan as it was played, whatever file and flags it came from, so that it can
	// be again (plan/matrix); nil: a journal of an older version.
	Played json.RawMessage `json:"played,omitempty"`
}

// Boots returns the spread between boots that was declared.
func (o *Origin) Boots() Declared { return Declared{o.BetweenBoots, o.BetweenBootsOf} }

// Declared is a spread that somebody measured: a standard deviation over the mean, of so many.
type Declared struct {
	SD float64 `json:"sd"`
	Of int     `json:"of,omitempty"` // 0: nobody says
}

// PowerPlan is how power is measured beside the runs. It decides about them too:
// the guard lengthens their ramps, and the hosts rest after each.
type PowerPlan struct {
	// as they were asked for, without secrets; the first is the primary one; none: power is not
	// measured
	Sources   []string `json:"sources,omitempty"`
	IntervalS float64  `json:"interval_s,omitempty"` // between two readings
	IdleS     float64  `json:"idle_s,omitempty"`     // of rest that is measured after each run
	GuardS    float64  `json:"guard_s,omitempty"`    // of load on both sides of the window, and of rest before IdleS
}

// String formats the plan, "not measured" without sources.
func (p *PowerPlan) String() string {
	if len(p.Sources) == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%s, every %g s, idle %g s, guard %g s", strings.Join(p.Sources, ", "), p.IntervalS, p.IdleS,
		p.GuardS)
}
