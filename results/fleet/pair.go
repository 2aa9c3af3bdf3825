// SPDX-License-Identifier: MIT

package fleet

import (
	"github.com/zcbench/zcbench/results"
)

// state is how far the journal of a pair came.
type state string

// The states.
const (
	complete   state = "complete"
	Live       state = "live"       // another process is writing it
	killed     state = "killed"     // it ends before its plan does
	Torn       state = "torn"       // and in the middle of a run
	noRuns     state = "no runs"    // its writer was stopped before the first one
	unreadable state = "unreadable" // there is none, or it is none of ours
)

// pair is what a results folder says of the two hosts that it is of.
type pair struct {
	Dir  string `json:"dir"`
	Name string `json:"name"` // of the folder
	SUT  end    `json:"sut"`
	TG   end    `json:"tg"`

	State   state  `json:"state"`
	Problem string `json:"problem,omitempty"` // why there are no figures, or not all
	Fix     string `json:"fix,omitempty"`

	StartUTCNs  int64    `json:"created_utc_ns,omitempty"`
	ToolVersion string   `json:"tool_version,omitempty"`
	Runs        counts   `json:"runs"`
	Planned     int      `json:"planned_runs,omitempty"` // without warm-ups; 0: not known
	Skipped     int      `json:"lines_not_used,omitempty"`
	Unread      []string `json:"snapshots_not_read,omitempty"`

	Figures []Figure `json:"cells"`   // of the cells that the journal names
	Overall *off     `json:"overall"` // of all its cells; null: it has no figure that others have too

	// Differs are facts of its hosts that are not what most hosts of that role have.
	Differs []Fact `json:"differs,omitempty"`
	// Because says what its deviation may come from, where it is off beyond doubt.
	Because []string `json:"because,omitempty"`

	facts [2][]factValue // of SUT and TG
}

// end is a host of a pair, as its own host name and interface say.
type end struct {
	Host string `json:"host"`
	Dev  string `json:"dev,omitempty"`
}

// counts are runs by what became of them, without warm-ups.
type counts struct {
	OK          int `json:"ok"`
	Invalid     int `json:"invalid"`
	Failed      int `json:"failed"`
	Unsupported int `json:"unsupported"`
}

// All adds up the counts.
func (c counts) All() int { return c.OK + c.Invalid + c.Failed + c.Unsupported }

func (c *counts) add(v results.Verdict) {
	switch v {
	case results.OK:
		c.OK++
	case results.Invalid:
		c.Invalid++
	case results.Failed:
		c.Failed++
	case results.Unsupported:
		c.Unsupported++
	}
}

// Figure is a cell of a pair.
type Figure struct {
	Cell   int      `json:"cell"` // which of the fleet's, from 0
	Runs   counts   `json:"runs"`
	N      int      `json:"n"` // values
	Median *float64 `json:"median"`
	Lo     *float64 `json:"lo"` // the 95 % interval of the median; null below 6 runs
	Hi     *float64 `json:"hi"`
	Off    *off     `json:"off"`              // null: nothing to hold it against
	Reason string   `json:"reason,omitempty"` // of the last run that does not count
	Fix    string   `json:"fix,omitempty"`

	of   *shared
	logs []float64 // of the values, sorted
}

// off is how far a figure is from that of the others.
type off struct {
	Share   float64  `json:"share"` // -.05: 5 % below
	Lo      *float64 `json:"lo"`    // its 95 % interval; null where runs or pairs are too few
	Hi      *float64 `json:"hi"`
	P       *float64 `json:"p"`          // null: not tested
	Adjust  *float64 `json:"p_adjusted"` // corrected for all that was tested in the fleet
	Verdict verdict  `json:"verdict"`
	Others  int      `json:"others"` // pairs that it is held against
	Runs    int      `json:"runs"`   // the least of its cells
}

// verdict is what can be said of a deviation.
type verdict string

// The verdicts.
const (
	Better verdict = "better" // than the others, significantly
	Worse  verdict = "worse"
	unsure verdict = "cannot tell"
	// tooFewRuns and TooFewPairs are why a figure was not tested.
	tooFewRuns  verdict = "too few runs"
	tooFewPairs verdict = "too few pairs"
)

// Sure reports whether it is a deviation beyond doubt.
func (o *off) Sure() bool { return o != nil && (o.Verdict == Better || o.Verdict == Worse) }

// Beyond reports whether its whole interval is further off than a share.
func (o *off) Beyond(share float64) bool {
	return o.Sure() && o.Lo != nil && (*o.Hi < -share || *o.Lo > share)
}
