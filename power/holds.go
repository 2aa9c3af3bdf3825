// SPDX-License-Identifier: MIT

package power

import "time"

// rates are how often each kind of source is read at the most, its [info.MinInterval], as is known
// before it is opened. A log has none: it is not read.
var rates = map[string]time.Duration{
	"rapl": 10 * time.Millisecond, "hwmon": 100 * time.Millisecond, "nvml": 100 * time.Millisecond,
	"scpi": 100 * time.Millisecond,
	"ipmi": time.Second, "redfish": time.Second, "snmp": time.Second, "ptdaemon": time.Second, "command": time.Second,
}

// Every returns how often a source is read if it is asked for a reading every interval; 0: it is a
// log, which nobody reads meanwhile.
func (s Spec) Every(interval time.Duration) time.Duration {
	least, known := rates[s.Name]
	if !known {
		return 0
	}
	return max(interval, least, LeastInterval)
}

// Holds is what a measured window holds of a source.
type Holds struct {
	Every       time.Duration // between readings; 0: it is not known, and nothing else is
	Least, Most int           // readings that count for a figure; it needs [LeastReadings]
	Covered     bool          // they surely stand for all of it: a counter's must not begin late
	Needs       time.Duration // a window that surely has a figure
}

// Enough reports whether there surely is a figure, or nothing is known of it.
func (h Holds) Enough() bool { return h.Every == 0 || h.Least >= LeastReadings && h.Covered }

// LeastReadings is how many readings a figure needs.
const LeastReadings = 2

// Holds computes how many readings count for a window with a guard on so many of its sides, as
// [Measure] takes them: those inside, and the nearest in the guard.
func (s Spec) Holds(window, guard time.Duration, sides int, interval time.Duration) Holds {
	h := Holds{Every: s.Every(interval)}
	if h.Every == 0 {
		return h
	}
	counts := s.Name == "rapl"
	near := guard
	if !counts {
		near = min(guard, h.Every*3/2)
	}
	around := time.Duration(sides) * near
	h.Least, h.Most, h.Covered = int((window+around)/h.Every), int((window+around)/h.Every)+1, true
	h.Needs = max(LeastReadings*h.Every+h.Every/2-around, 0) // readings come late, too
	if counts && near < h.Every {
		cover := time.Duration(float64(2*(h.Every-near)) / (1 - leastCovered))
		h.Covered, h.Needs = window >= cover, max(h.Needs, cover)
	}
	return h
}
