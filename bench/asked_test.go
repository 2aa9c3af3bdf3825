// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// asksOnce asks for one start.
type asksOnce struct {
	runs []matrix.Run
	told [][]results.Record
}

func (a *asksOnce) Begin(*Found) error { return nil }

func (a *asksOnce) Next() ([]matrix.Run, error) {
	if len(a.told) > 0 {
		return nil, nil
	}
	return a.runs, nil
}

func (a *asksOnce) Tell(recs []results.Record) error {
	a.told = append(a.told, recs)
	return nil
}

// A start of the journal is told again only if it was of the same cells: one of others is no
// beginning of it.
func TestAskedForOthers(t *testing.T) {
	cells := []plan.Cell{{ID: "a", RX: "tcp"}, {ID: "b", RX: "uring"}, {ID: "c", RX: "zcrx"}}
	runs := []matrix.Run{{Cell: cells[0], Rep: 4, Group: 1}, {Cell: cells[1], Rep: 4, Group: 1}}
	for _, x := range []struct {
		name string
		have []int
		told bool
	}{{"the same", []int{0, 1}, true}, {"others", []int{2}, false}, {"one is another", []int{0, 2}, false},
		{"one more", []int{0, 1, 2}, false}} {
		var recs []results.Record
		for _, i := range x.have {
			recs = append(recs, results.Record{Cell: cells[i], Rep: 4, Verdict: results.OK})
		}
		a := &asksOnce{runs: runs}
		s := &Session{Runner: &Runner{}}
		err := s.asked(t.Context(), a, map[int][]results.Record{4: recs})
		if x.told != (len(a.told) == 1) || x.told == errors.Is(err, ErrChanged) || x.told != (err == nil) {
			t.Errorf("%s: told %d times, %v", x.name, len(a.told), err)
		}
	}
}
