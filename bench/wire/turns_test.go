// SPDX-License-Identifier: MIT

package wire

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// Turns that overlap, have no length, or are too many are refused.
func TestTurnsCheck(t *testing.T) {
	good := Turns{AtNs: []int64{100, 200, 300}, OnNs: 60, SettleNs: 4, DrainNs: 10, LeadNs: 20}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for say, spoil := range map[string]func(*Turns){
		"not 1 to":         func(x *Turns) { x.AtNs = nil },
		"10001 turns":      func(x *Turns) { x.AtNs = slices.Repeat([]int64{1}, mostTurns+1) },
		"without a length": func(x *Turns) { x.OnNs = 0 },
		"all of which":     func(x *Turns) { x.SettleNs = 60 },
		"do not end":       func(x *Turns) { x.DrainNs = mostNs + 1 },
		"a turn at 0":      func(x *Turns) { x.AtNs[0] = 0 },
		"a turn at -5":     func(x *Turns) { x.AtNs[0] = -5 },
		"one before":       func(x *Turns) { x.LeadNs = 31 },
		"at 150 ns":        func(x *Turns) { x.AtNs[1] = 150 },
	} {
		x := good
		x.AtNs = slices.Clone(good.AtNs)
		spoil(&x)
		if err := x.Check(); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", say, err)
		}
	}
	for _, r := range []TurnsResult{{Turns: 3, LateCPU: 4, LeftOut: 4}, {Turns: 3, Missed: 4, LeftOut: 3},
		{Turns: 3, LeftOut: 1}, {Turns: 3, Crowded: 2, LeftOut: 1}, {Turns: 3, Untold: 2, LeftOut: 1},
		{Turns: 3, Unsettled: -1}, {Turns: 3, StolenFrac: 1.1}, {Turns: 3, StolenFrac: math.NaN()}} {
		if r.Check() == nil {
			t.Errorf("%+v may be", r)
		}
	}
	if err := (&TurnsResult{Turns: 3, LateCPU: 2, Crowded: 1, Untold: 1, LeftOut: 3,
		Unsettled: 3, StolenFrac: 1}).Check(); err != nil {
		t.Error(err)
	}
}

// What an agent says of turns is held against those that it was given.
func TestTurnsOfSchedule(t *testing.T) {
	s := Schedule{FromNs: 150, ToNs: 400, Turns: &Turns{AtNs: []int64{100, 200, 300}, OnNs: 60, DrainNs: 10}}
	good := func() *EndResult {
		return &EndResult{Verdict: results.OK, Total: stream.Counters{Bytes: 1000}, Window: stream.Counters{Bytes: 700},
			Turns: &TurnsResult{Turns: 2, PaceNs: 110, Paced: 650, MeanNs: 75, DrainedNs: 20},
			Host:  results.Host{Series: []measure.Series{{Name: "flow_bytes", T: []int64{1, 2}, V: []float64{1, 2}}}}}
	}
	if err := s.CheckTurns(good()); err != nil || s.InWindow() != 2 {
		t.Fatal(s.InWindow(), err)
	}
	for say, spoil := range map[string]func(*EndResult){
		"nothing of the turns": func(r *EndResult) { r.Turns = nil },
		"1 turns instead of 2": func(r *EndResult) { r.Turns.Turns, r.Turns.PaceNs = 1, 55 },
		"3 turns instead of 2": func(r *EndResult) { r.Verdict, r.Turns.Turns = results.Failed, 3 },
		"121 ns at pace":       func(r *EndResult) { r.Turns.PaceNs = 121 },
		"110 ns at pace in 1":  func(r *EndResult) { r.Turns.LeftOut = 1 },
		"of 251 ns":            func(r *EndResult) { r.Turns.MeanNs = 251 },
		"21 ns until all":      func(r *EndResult) { r.Turns.DrainedNs = 21 },
		"3 points, of 2 turns": func(r *EndResult) {
			r.Host.Series = []measure.Series{{Name: "throughput_gbps", T: []int64{1, 2, 3}, V: []float64{1, 2, 3}}}
		},
		"701 bytes at pace": func(r *EndResult) { r.Turns.Paced = 701 },
	} {
		r := good()
		spoil(r)
		if err := s.CheckTurns(r); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", say, err)
		}
	}
	failed := EndResult{Verdict: results.Failed}
	if err := s.CheckTurns(&failed); err != nil {
		t.Errorf("a run that failed before its turns: %v", err)
	}
	if err := (&Schedule{}).CheckTurns(good()); err == nil {
		t.Error("turns that nobody asked for")
	}
}
