// SPDX-License-Identifier: MIT

package kselftests

import (
	"fmt"
	"maps"
	"slices"
)

// Judged is a case beside what was expected of it.
type Judged struct {
	Test string
	Case
	// known says that the case is on record.
	Known bool
	// flips says that it may pass or fail, by what is on record.
	Flips bool
	// Because is the reason on record for an outcome that is not a pass.
	Because string
	// Wrong says how it is otherwise than expected; empty: it is not.
	Wrong string
}

// Judge holds the cases of a test against what is on record for the kernel. A case that
// is not on record may pass; whatever else it does, somebody has to look at it. A test of
// which nothing is on record for this kernel is told, and counts for nothing.
func Judge(release, test string, cases []Case) ([]Judged, error) {
	all, err := expectedOf(release)
	if err != nil {
		return nil, err
	}
	return judge(all[test], test, cases), nil
}

func judge(want map[string]Case, test string, cases []Case) []Judged {
	var out []Judged
	seen := map[string]bool{}
	for _, c := range cases {
		j := Judged{Test: test, Case: c}
		w, known := want[c.Name]
		j.Known = known
		switch {
		case seen[c.Name]:
			j.Wrong = "said twice"
		case want == nil:
			j.Because = "nothing recorded for this test"
		case !known && c.Outcome != pass:
			j.Wrong = "not recorded"
		case !known:
			j.Because = "new: not recorded"
		case w.Outcome == flips && (c.Outcome == pass || c.Outcome == fail):
			j.Flips, j.Because = true, w.Reason
		case w.Outcome != c.Outcome:
			j.Wrong = fmt.Sprintf("expected %s", w.Outcome)
			if w.Reason != "" {
				j.Wrong += " (" + w.Reason + ")"
			}
		default:
			j.Because = w.Reason
		}
		seen[c.Name] = true
		out = append(out, j)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !seen[name] {
			out = append(out, Judged{Test: test, Case: Case{Name: name, Outcome: fail,
				Reason: "the test gave no reason"},
				Wrong: fmt.Sprintf("expected %s", want[name].Outcome)})
		}
	}
	return out
}
