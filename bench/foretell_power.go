// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
)

// foretell warns of each power source for which a run's window, or its rest, is too short.
func (o PowerOptions) foretell(window time.Duration, say func(string)) {
	interval := o.Interval
	if interval == 0 {
		interval = power.DefaultInterval
	}
	slowest := power.Spec{Name: "ipmi"} // of those that auto finds
	if load := slowest.Holds(window, o.Guard, 2, interval); o.Auto && !load.Enough() {
		say(warns + fmt.Sprintf("--power auto may take ipmi: %s; a window of %v does (duration)",
			tooFewReadings(slowest, load, window, "window"), rounded(load.Needs)))
	}
	leads := map[ends.Role]bool{}
	for _, s := range o.Sources {
		first := o.first(s, leads)
		if load := s.Holds(window, o.Guard, 2, interval); !load.Enough() {
			line := fmt.Sprintf("%s; a window of %v does (duration), or --power-guard %v",
				tooFewReadings(s, load, window, "window"), rounded(load.Needs),
				rounded(o.Guard+(load.Needs-window+1)/2))
			if first && load.Most < power.LeastReadings {
				line += "; as it is, power_w stays empty"
			}
			say(warns + line)
		}
		if rest := s.Holds(o.Idle, o.Guard, 1, interval); o.Idle > 0 && !rest.Enough() {
			say(warns + fmt.Sprintf("%s for idle power; --power-idle %v does", tooFewReadings(s, rest, o.Idle, "rest"),
				rounded(rest.Needs)))
		}
	}
}

// first reports whether power_w of a host is to come from a source: it is the first that the host
// has. It adds such hosts to leads, those that have one.
func (o PowerOptions) first(s power.Spec, leads map[ends.Role]bool) bool {
	is := false
	for _, role := range ends.Roles {
		if (s.Host == "" || s.Host == role) && !leads[role] {
			is, leads[role] = true, true
		}
	}
	return is
}

// tooFewReadings explains how many readings there may be, and how many are needed.
func tooFewReadings(s power.Spec, h power.Holds, length time.Duration, what string) string {
	if h.Least >= power.LeastReadings {
		return fmt.Sprintf("power source %s is read every %v: its readings may not cover enough of the %s of %v", s,
			h.Every, what, length)
	}
	most := ""
	if h.Most >= power.LeastReadings {
		most = "perhaps only "
	}
	return fmt.Sprintf("power source %s is read every %v: it needs %d readings, and the %s of %v gives %s%d", s,
		h.Every, power.LeastReadings, what, length, most, max(h.Least, min(h.Most, 1)))
}

// rounded rounds up, to what people type.
func rounded(d time.Duration) time.Duration {
	const step = 10 * time.Millisecond
	return (d + step - 1).Truncate(step)
}

// foretellFew warns of what the runs will have too little of: readings of power, samples of
// profiles.
func (e *Experiment) foretellFew(st *stage, missing func(plan.Cell) *Missing, say func(string)) {
	window := e.window(st)
	foretellProfile(e.Spec, window, missing, say)
	e.Power.foretell(window, say)
}

// window returns for how long the runs of an experiment are measured.
func (e *Experiment) window(st *stage) time.Duration {
	if st != nil && st.opt.Duration > 0 {
		return st.opt.Duration
	}
	return e.Spec.Duration
}
