// SPDX-License-Identifier: MIT

package sweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/compare"
)

// ByFactor groups sweeps by their factor, in their order.
func ByFactor(all []Sweep) (groups [][]Sweep) {
	for _, s := range all {
		if n := len(groups); n > 0 && groups[n-1][0].Factor == s.Factor {
			groups[n-1] = append(groups[n-1], s)
		} else {
			groups = append(groups, []Sweep{s})
		}
	}
	return groups
}

// mostTold is of how many sweeps a sentence tells.
const mostTold = 4

// Sentence says of the sweeps of one factor where the knee of each is.
func Sentence(all []Sweep) string {
	var parts []string
	for i := range all {
		if i == mostTold {
			parts = append(parts, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		parts = append(parts, all[i].clause())
	}
	s := &all[0]
	same := func(of func(*Sweep) string) bool {
		return !slices.ContainsFunc(all, func(x Sweep) bool { return of(&x) != of(s) })
	}
	at := map[bool]string{false: "the most", true: "the least"}[s.Falls()]
	if same((*Sweep).plenty) {
		at = s.plenty()
	}
	of := fmt.Sprintf("for the full rate, within %.3g %% of that with %s", 100*s.Within, at)
	if s.level != "" && same(func(x *Sweep) string { return x.level }) {
		of += "; " + s.level
	}
	text := s.Factor + ": " + strings.Join(parts, ", ") + " (" + of + ")."
	if rule := rules(all); rule != "" {
		text += " " + rule
	}
	return text
}

// plenty formats the size with which the rate is full.
func (s *Sweep) plenty() string { return s.Text(s.Sizes[len(s.Sizes)-1].Size) }

// Name names a sweep beside others of its factor.
func (s *Sweep) Name() string { return strings.TrimSpace(s.RX + " " + s.With) }

// Refusals names the sizes with which the mode could not run; "": none.
func (s *Sweep) Refusals() string {
	var words []string
	for _, v := range s.Refused {
		words = append(words, s.Text(v))
	}
	if words == nil {
		return ""
	}
	return "(could not run with " + strings.Join(words, ", ") + ")"
}

// Told reports whether the interval of the knee has an end.
func (s *Sweep) Told() bool { return !s.Disorder && (s.Low != nil || s.High != nil) }

// Falls reports whether sizes fall from scarce to plenty.
func (s *Sweep) Falls() bool { return s.Plenty != plan.More }

// State is what is known of a size.
type State string

// The states.
const (
	Full    State = "full"
	Below   State = "below full"
	Untold  State = "cannot tell"
	Starved State = "starved" // no run of it went through
)

// Of returns what is known of one of the sizes.
func (s *Sweep) Of(i int) State {
	x := &s.Sizes[i]
	switch q := x.OfFull; {
	case i == len(s.Sizes)-1:
		return Full
	case x.Gbps == nil && x.Starved > 0:
		return Starved
	case q != nil && q.Hi != nil && *q.Hi < 1-s.Within:
		return Below
	case q != nil && q.Lo != nil && *q.Lo >= 1-s.Within:
		return Full
	}
	return Untold
}

// Runs counts the runs of a size that went through.
func (x *Size) Runs() int {
	if x.Gbps == nil {
		return 0
	}
	return x.Gbps.N
}

// full reports whether the throughput is known to be full at all sizes.
func (s *Sweep) full() bool { return s.High != nil && *s.High == s.Sizes[0].Size }

// clause says where the knee is.
func (s *Sweep) clause() string {
	who, need, most, beyond := s.RX, "needs", "at most", "more than"
	if s.With != "" {
		who += " with " + s.With
	}
	if s.Falls() {
		need, most, beyond = "bears", "at least", "less than"
	}
	text := fmt.Sprintf("the knee of %s cannot be told", who)
	switch {
	case s.Disorder:
		return who + " has no knee: it is slower at some sizes than nearer to starving"
	case s.full():
		text = fmt.Sprintf("%s shows no knee from %s to %s", who, s.Text(s.Sizes[0].Size), s.plenty())
	case s.Low != nil && s.High != nil:
		text = fmt.Sprintf("%s %s %s", who, need, s.Interval())
	case s.High != nil:
		text = fmt.Sprintf("%s %s %s %s", who, need, most, s.Text(*s.High))
	case s.Low != nil:
		text = fmt.Sprintf("%s %s %s %s, and even %s may be too scarce", who, need, beyond, s.Text(*s.Low), s.plenty())
	}
	if s.held != "" {
		text += " (" + compare.AtLimit(s.held) + ", without which it may ask for more)"
	}
	return text
}

// Interval formats the knee with its interval; "" where it has not both ends.
func (s *Sweep) Interval() string {
	if s.Low == nil || s.High == nil || s.Knee == nil {
		return ""
	}
	from, to := s.Text(min(*s.Low, *s.High)), s.Text(max(*s.Low, *s.High))
	if number, unit, ok := strings.Cut(from, " "); ok && strings.HasSuffix(to, " "+unit) {
		from = number
	}
	return fmt.Sprintf("%s [%s..%s]", s.Text(*s.Knee), from, to)
}

// Verdicts of a rule.
const (
	holds   = "enough"
	fails   = "too little"
	untried = "neither shown to be enough nor to be too little"
)

// RuleHolds says whether the reference's rule holds; "" where there is none.
func (s *Sweep) RuleHolds() string {
	switch {
	case s.Rule == nil || s.Disorder:
		return ""
	case s.High != nil && *s.Rule >= *s.High:
		return holds
	case s.Low != nil && *s.Rule <= *s.Low:
		return fails
	}
	return untried
}

// rules says whether the reference's rule holds for sweeps.
func rules(all []Sweep) string {
	verdict := "holds here"
	var words []string
	for i := range all {
		s := &all[i]
		text := s.RuleHolds()
		switch text {
		case "":
			continue
		case fails:
			verdict = "does not hold here"
		case untried:
			if verdict == "holds here" {
				verdict = "is not shown to hold here"
			}
		}
		text = fmt.Sprintf("%s is %s for %s", s.Text(*s.Rule), text, s.Name())
		if s.RuleHolds() == holds && !s.full() && *s.Rule >= 1.1**s.High {
			text += fmt.Sprintf(", %.2g times what is known to suffice", *s.Rule / *s.High)
		}
		words = append(words, text)
	}
	if words == nil {
		return ""
	}
	return fmt.Sprintf("The reference's rule, 4 x ring x buffer length, %s: %s.", verdict, strings.Join(words, "; "))
}

// Text formats a size.
func (s *Sweep) Text(v float64) string {
	if s.unit != "bytes" {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	for _, u := range []struct {
		name string
		of   float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if v >= u.of {
			return short(v/u.of) + " " + u.name
		}
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// short shows three digits, and no zeros behind the point.
func short(v float64) string {
	decimals := 2
	switch {
	case v >= 100:
		decimals = 0
	case v >= 10:
		decimals = 1
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
