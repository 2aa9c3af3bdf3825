// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
)

// turnSamples are the turns that count one by one, in memory that is taken before the first:
// nothing is read for them that is not read anyway.
type turnSamples struct {
	room int
	all  []sample
}

// sample is a turn.
type sample struct {
	atNs   int64  // when its part at pace ended
	bytes  uint64 // that the flow had had at its end
	paceNs int64
	paced  uint64 // bytes in its part at pace
	whole  uint64 // and in all of it
}

func (s *turnSamples) makeRoom(turns int) { s.all, s.room = make([]sample, 0, turns), turns }

func (s *turnSamples) add(x sample) {
	if len(s.all) < s.room {
		s.all = append(s.all, x)
	}
}

// ofWholeTurns makes the rates those of whole turns, as the run's is.
func (s *turnSamples) ofWholeTurns(onNs int64) {
	for i := range s.all {
		s.all[i].paced, s.all[i].paceNs = s.all[i].whole, onNs
	}
}

// series returns what samples.csv has of them, with times since startNs, by names that a run in
// blocks has, too.
func (s *turnSamples) series(startNs int64) []measure.Series {
	if len(s.all) == 0 {
		return nil
	}
	// Turns that were booked late come last.
	slices.SortFunc(s.all, func(a, b sample) int { return cmp.Compare(a.atNs, b.atNs) })
	total := measure.Series{Name: "flow_bytes", Unit: "bytes"}
	rate := measure.Series{Name: "throughput_gbps", Unit: "Gbit/s"}
	for _, x := range s.all {
		total.T, total.V = append(total.T, x.atNs-startNs), append(total.V, float64(x.bytes))
		if x.paceNs > 0 {
			rate.T, rate.V = append(rate.T, x.atNs-startNs), append(rate.V, 8*float64(x.paced)/float64(x.paceNs))
		}
	}
	return []measure.Series{total, rate}
}
