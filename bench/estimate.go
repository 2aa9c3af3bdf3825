// SPDX-License-Identifier: MIT

package bench

import (
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// overhead is what a run takes beside its window and cuts: opening, closing and
// reading counters.
const overhead = 150 * time.Millisecond

// estimate returns how long a plan takes, where searches take as many trials as usual.
func (s *Session) estimate(plan []matrix.Run) time.Duration {
	return s.estimateOf(plan, func(p matrix.Run) int { usual, _ := s.tries(p); return usual })
}

// estimateOf returns how long a plan takes where each run is made so many times.
func (s *Session) estimateOf(plan []matrix.Run, times func(matrix.Run) int) time.Duration {
	var d time.Duration
	for left := s.made(plan); len(left) > 0; {
		start := matrix.Start(left)
		d += (s.Runner.Opt.startLength(start) + time.Duration(len(start))*overhead) * time.Duration(times(start[0]))
		left = left[len(start):]
	}
	d += time.Duration(s.countRenewals(plan)) * s.Renewal
	if rest := s.Runner.restTime(); rest > 0 {
		n, _ := s.countRests(plan)
		d += time.Duration(n) * rest
	}
	return d
}

// renewalEnds is what it takes to end the agents, which take back what they have set, and to set it
// again.
const renewalEnds = 100 * time.Millisecond

// renewal returns how long it takes to start the agents of two hosts anew, by how long it took
// before.
func renewal(sut, tg *host.Host) time.Duration { return max(sut.Start, tg.Start) + renewalEnds }

// countRenewals counts how often agents are started anew: before each block but the first, where
// each has its own, and for each replay.
func (s *Session) countRenewals(plan []matrix.Run) (n int) {
	replay, rep := 0, -1
	for _, p := range s.made(plan) {
		if p.Replay != replay {
			n++
		} else if first := rep < 0; s.StartsAnew && !p.Warmup && !p.Calibrates && !p.Once && p.Rep != rep {
			if rep = p.Rep; !first {
				n++
			}
		}
		replay = p.Replay
	}
	return n
}

// made leaves out the runs that cannot be made.
func (s *Session) made(plan []matrix.Run) (out []matrix.Run) {
	for _, p := range plan {
		if s.missing(p.Cell) == nil {
			out = append(out, p)
		}
	}
	return out
}

// countRests counts the rests of a plan: one after each run that counts, and one before it where
// there was none since the last run, or where that had other settings (anew).
func (s *Session) countRests(planned []matrix.Run) (n, anew int) {
	known := map[plan.CellKey]inForce{} // a plan has far more runs than cells
	var last inForce
	rested, replay, rep := false, 0, 0
	for left := s.made(planned); len(left) > 0; left = left[len(matrix.Start(left)):] {
		p := left[0] // and those that are made together with it
		k := p.Cell.Key()
		set, ok := known[k]
		if !ok {
			set.sut, set.tg = settingsOf(s.Runner.optionsOf(p.Cell), p.Cell)
			known[k] = set
		}
		rested = rested && p.Replay == replay && !(s.StartsAnew && p.Rep != rep) // else it has other agents
		switch {
		case p.Warmup:
		case !rested:
			n += 2
		case !set.same(last):
			n, anew = n+2, anew+1
		default:
			n++
		}
		rested, last, replay, rep = !p.Warmup, set, p.Replay, p.Rep
	}
	return n, anew
}
