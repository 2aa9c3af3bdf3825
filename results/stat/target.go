// SPDX-License-Identifier: MIT

package stat

import "fmt"

// Target is what is asked of a ratio ours / theirs. The zero Target asks
// nothing.
type Target struct {
	// Min asks for at least so much, up to what the runs can tell apart;
	// Floor is what the whole interval must stay above.
	Min, Floor float64
	// Max asks for at most so much.
	Max float64
}

// AtLeast makes a target for figures of which more is better.
func AtLeast(min, floor float64) Target { return Target{Min: min, Floor: floor} }

// AtMost makes a target for figures of which less is better.
func AtMost(max float64) Target { return Target{Max: max} }

func (t Target) String() string {
	switch {
	case t.Min > 0:
		return fmt.Sprintf(">= %.2f", t.Min)
	case t.Max > 0:
		return fmt.Sprintf("<= %.2f", t.Max)
	}
	return "-"
}

// MarshalText gives the target as tables show it.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Answer is what runs say of a target.
type Answer string

// The answers.
const (
	Met        Answer = "met"
	NotMet     Answer = "not met"
	CannotTell Answer = "cannot tell"
	NoTarget   Answer = "-"
)

// Judge holds a ratio against the target.
//
// A minimum is met when the interval reaches it and stays above the floor, and
// not met when the whole interval is below it: "1.0 within the noise, never
// below 0.97". A maximum is met when the whole interval is at or below it, not
// met when all of it is above. Everything else, and a ratio without interval,
// cannot be told from these runs.
func (t Target) Judge(p Paired) Answer {
	met, missed := p.Hi <= t.Max, p.Lo > t.Max
	if t.Min > 0 {
		met, missed = p.Hi >= t.Min && p.Lo >= t.Floor, p.Hi < t.Min
	}
	switch {
	case t == Target{}:
		return NoTarget
	case !p.HasInterval():
		return CannotTell
	case met:
		return Met
	case missed:
		return NotMet
	}
	return CannotTell
}
