// SPDX-License-Identifier: MIT

package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// Ends that an agent may hold at once, and turns that one of them may have.
const (
	MostEnds  = 64
	mostTurns = 10_000
)

// TurnsNeed is the sysctl by which TCP goes on after others' turns where it was.
const TurnsNeed = "net.ipv4.tcp_slow_start_after_idle"

// TurnReads is how long an end has before a turn to read the counters, and as long after it.
const TurnReads = 2 * time.Millisecond

// MostReads is how long reading probes at an edge of a turn may take.
const MostReads = time.Second

// EndRef names one of an agent's ends; without it the parameters are of end 0.
type EndRef struct {
	End int `json:"end,omitempty"`
}

// Turns are when an end is on, where others have turns beside it: the end sends in its own only,
// and reads its counters at their edges, at rest.
type Turns struct {
	AtNs     []int64 `json:"at_ns"`     // when each begins, on the agent's CLOCK_MONOTONIC
	OnNs     int64   `json:"on_ns"`     // how long the sender sends
	SettleNs int64   `json:"settle_ns"` // after which it is at its pace
	DrainNs  int64   `json:"drain_ns"`  // after it, in which what is under way arrives
	LeadNs   int64   `json:"lead_ns"`   // how long before a turn the counters are read
}

// Check refuses turns that overlap, or that nobody could have meant.
func (t *Turns) Check() error {
	switch {
	case len(t.AtNs) == 0 || len(t.AtNs) > mostTurns:
		return fmt.Errorf("%d turns, not 1 to %d", len(t.AtNs), mostTurns)
	case t.OnNs <= 0 || t.SettleNs < 0 || t.SettleNs >= t.OnNs || t.DrainNs < 0 || t.LeadNs < 0:
		return errors.New("turns without a length, or all of which settles")
	case t.OnNs > mostNs || t.DrainNs > mostNs || t.LeadNs > mostNs:
		return errors.New("turns that do not end")
	}
	last := -mostNs
	for _, at := range t.AtNs {
		if at <= 0 || at > mostNs {
			return fmt.Errorf("a turn at %d ns", at)
		}
		if at-t.LeadNs < last {
			return fmt.Errorf("the turn at %d ns begins in the one before", at)
		}
		last = at + t.OnNs + t.DrainNs
	}
	return nil
}

// TurnsResult is what an end read at the edges of its turns.
type TurnsResult struct {
	Turns  int    `json:"turns"`      // in the window
	PaceNs int64  `json:"pace_ns"`    // of those that count, the parts at pace
	Paced  uint64 `json:"pace_bytes"` // what passed in them
	// LeftOut are those that do not count, for one reason or several: Missed, whose part at pace
	// was read late; LateCPU, whose CPU time was, in the turn or in the next one; Crowded, in which
	// bytes of others came; Untold, of which tasks do not tell who had the CPUs.
	LeftOut int `json:"left_out,omitempty"`
	Missed  int `json:"missed,omitempty"`
	LateCPU int `json:"late_cpu,omitempty"`
	Crowded int `json:"crowded,omitempty"`
	Untold  int `json:"untold,omitempty"`
	// Unsettled are those in which nothing had come when the flow was to be at its pace.
	Unsettled int `json:"unsettled,omitempty"`
	// StolenFrac is the share of the machine's CPU time that a hypervisor took, from the first turn
	// to the last.
	StolenFrac float64 `json:"stolen_frac,omitempty"`
	// DrainedNs is after how long all that was under way at a turn's end had arrived, of nine of
	// ten turns; those in which it had not by DrainNs count as twice that.
	DrainedNs int64 `json:"drained_ns"`
	MeanNs    int64 `json:"mean_ns"` // from rest to rest, a turn that counts
	// PaceAt are the parts at pace of the turns that count, in their order, where power is
	// measured.
	PaceAt []power.Window `json:"pace_at,omitempty"`
}

// Check refuses what no turns come to.
func (t *TurnsResult) Check() error {
	for _, n := range []int{t.LeftOut, t.Missed, t.LateCPU, t.Crowded, t.Untold, t.Unsettled} {
		if n < 0 || n > t.Turns {
			return fmt.Errorf("%d of %d turns", n, t.Turns)
		}
	}
	most := t.Missed + t.LateCPU + t.Crowded + t.Untold
	if t.LeftOut > most || t.LeftOut < max(t.Missed, t.LateCPU, t.Crowded, t.Untold) {
		return fmt.Errorf("%d turns left out, for %d reasons", t.LeftOut, most)
	}
	if t.Turns < 0 || t.Turns > mostTurns || t.PaceNs < 0 || t.PaceNs > mostNs || t.MeanNs < 0 || t.MeanNs > mostNs ||
		t.DrainedNs < 0 || t.DrainedNs > mostNs {
		return fmt.Errorf("%d turns, %d ns at pace", t.Turns, t.PaceNs)
	}
	if !(t.StolenFrac >= 0 && t.StolenFrac <= 1) {
		return fmt.Errorf("%g of the CPU time stolen", t.StolenFrac)
	}
	return nil
}

// InWindow counts the turns that are in the window: those before it are the ramp.
func (s *Schedule) InWindow() (n int) {
	if s.Turns == nil {
		return 0
	}
	for _, at := range s.Turns.AtNs {
		if at >= s.FromNs {
			n++
		}
	}
	return n
}

// CheckTurns refuses turns that are not those of the schedule. A run that is well had all of them.
func (s *Schedule) CheckTurns(r *EndResult) error {
	asked, t, ok := s.Turns, r.Turns, r.Verdict == results.OK
	switch {
	case t == nil && asked != nil && ok:
		return errors.New("nothing of the turns that were asked for")
	case t == nil:
		return nil
	case asked == nil:
		return fmt.Errorf("%d turns that nobody asked for", t.Turns)
	}
	n, window := s.InWindow(), s.ToNs-s.FromNs
	for i := range r.Host.Series {
		if x := &r.Host.Series[i]; len(x.T) > n {
			return fmt.Errorf("series %q has %d points, of %d turns", x.Name, len(x.T), n)
		}
	}
	at := s.FromNs
	for _, w := range t.PaceAt {
		if w.FromNs < at || w.ToNs < w.FromNs || w.ToNs > s.ToNs {
			return fmt.Errorf("a turn from %d to %d ns, in a window from %d to %d", w.FromNs, w.ToNs, s.FromNs, s.ToNs)
		}
		at = w.ToNs
	}
	switch {
	case len(t.PaceAt) > t.Turns-t.LeftOut:
		return fmt.Errorf("the times of %d turns, of %d that count", len(t.PaceAt), t.Turns-t.LeftOut)
	case t.Turns > n || ok && t.Turns != n:
		return fmt.Errorf("%d turns instead of %d", t.Turns, n)
	case t.PaceNs > int64(t.Turns-t.LeftOut)*asked.OnNs:
		return fmt.Errorf("%d ns at pace in %d turns of %d ns", t.PaceNs, t.Turns-t.LeftOut, asked.OnNs)
	case t.MeanNs > 2*window/int64(max(t.Turns-t.LeftOut, 1)):
		return fmt.Errorf("%d turns of %d ns in a window of %d ns", t.Turns, t.MeanNs, window)
	case t.DrainedNs > 2*asked.DrainNs:
		return fmt.Errorf("%d ns until all had come, of %d", t.DrainedNs, asked.DrainNs)
	case ok && t.Paced > r.Window.Bytes, t.Paced > r.Total.Bytes:
		return fmt.Errorf("%d bytes at pace, and %d in the window of a flow of %d", t.Paced, r.Window.Bytes,
			r.Total.Bytes)
	}
	return nil
}
