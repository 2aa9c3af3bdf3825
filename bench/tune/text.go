// SPDX-License-Identifier: MIT

package tune

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/race"
)

// Write writes a report as text: the answer first, and then what it stands on.
func (r *Report) Write(w io.Writer) error {
	p := &printer{w: w}
	p.line(
		"", "  ", fmt.Sprintf(
			"Each mode at its defaults and at its best, for %s. These runs, %s, are others than those by which "+
				"settings were chosen. The intervals of this table and of the modes beside each other hold "+
				"together with 95 %%.", r.what(), r.standsOn()))
	p.blank()
	t := screen.Aligned("lrrrll")
	t.Head("mode", "default", "best", "gain", "", "settings of the best")
	for i := range r.Modes {
		m := &r.Modes[i]
		settings := strings.Join(m.Settings, " ")
		if settings == "" {
			settings = "the defaults"
		}
		gain, said := "", "no better setting was found"
		if m.Gain != nil {
			gain, said = m.Gain.text(), string(m.Gain.Verdict)
		}
		t.Row(m.Mode, figure(m.DefaultV), figure(m.BestV), gain, said, settings)
	}
	p.table(t)
	if len(r.Between) > 0 {
		p.blank()
		p.line("", "  ", "At their best:")
		for i := range r.Between {
			c := &r.Between[i]
			p.line("  ", "    ", fmt.Sprintf("%s is %s times as good as %s: %s", mode(c.Cell), c.text(), mode(c.With),
				map[Verdict]string{Better: "better", Worse: "worse", Equal: "equal, within 2 %",
					Open: "open"}[c.Verdict]))
		}
	}
	p.limits(r)
	for i := range r.Modes {
		p.mode(&r.Modes[i])
	}
	p.cannot(r.Cannot)
	return p.err
}

// what says what was to be good.
func (r *Report) what() string {
	out := r.For + " (" + r.Unit + ")"
	if r.PaceGbps > 0 {
		out += fmt.Sprintf(" at %.3f Gbit/s", r.PaceGbps)
	}
	return out
}

// standsOn says of what the comparisons are.
func (r *Report) standsOn() string {
	all := r.comparisons()
	if len(all) == 0 {
		return "of which none are compared"
	}
	least := slices.MinFunc(all, func(a, b *Comparison) int { return a.Pairs - b.Pairs }).Pairs
	most := slices.MaxFunc(all, func(a, b *Comparison) int { return a.Pairs - b.Pairs }).Pairs
	pairs := fmt.Sprintf("%d pairs", most)
	if least < most {
		pairs = fmt.Sprintf("%d to %d pairs", least, most)
	}
	if r.Level == AcrossStarts {
		return pairs + ", each of a start of its own"
	}
	return fmt.Sprintf("%s in %d %s, within which the verdicts hold", pairs, r.Starts,
		map[bool]string{true: "start", false: "starts"}[r.Starts == 1])
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(first, rest, text string) {
	if p.err == nil {
		p.err = screen.Line(p.w, first, rest, plaintext.Line(text))
	}
}

func (p *printer) blank() {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w)
	}
}

func (p *printer) table(t *screen.Table) {
	if p.err == nil {
		p.err = t.Write(p.w)
	}
}

func figure(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *v)
}

func (c *Comparison) text() string {
	switch {
	case c.Pairs == 0:
		return "-"
	case c.Low == 0:
		return fmt.Sprintf("%.3f", c.Ratio)
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", c.Ratio, c.Low, c.High)
}

// mode returns the modes of a cell's id.
func mode(id string) string {
	name, _, _ := strings.Cut(id, " ")
	return name
}

// limits says where it was not the receiver that kept modes at their best from being better.
func (p *printer) limits(r *Report) {
	if r.PaceGbps > 0 {
		return
	}
	by := map[plan.LimitedBy][]string{}
	for _, m := range r.Modes {
		if m.Limit != "" && m.Limit != plan.ByReceiver && m.Limit != plan.ByDisk {
			by[m.Limit] = append(by[m.Limit], m.Mode)
		}
	}
	for _, l := range plan.LimitedBys {
		if by[l] != nil {
			p.blank()
			p.line(
				"", "  ", fmt.Sprintf(
					"At their best, %s %s limited by the %s, and not by the receiver: they may be better than "+
						"this path shows.", strings.Join(by[l], ", "),
					map[bool]string{true: "is", false: "are"}[len(by[l]) == 1], l))
		}
	}
}

// mode writes what the search says of a mode.
func (p *printer) mode(m *Mode) {
	s := &m.Search
	p.blank()
	p.line("", "  ", fmt.Sprintf("%s: %d of %d combinations raced, for %v.", m.Mode, s.Settings, s.Combinations,
		time.Duration(s.Seconds*float64(time.Second)).Round(time.Second)))
	beside := ""
	if len(s.Beside) > 0 {
		beside = ", beside " + strings.Join(s.Beside, " ")
	}
	p.effects("mattered"+beside, s.Mattered, "nothing that was told apart")
	if len(s.Together) > 0 {
		p.effects("together they do more, or less, than each", s.Together, "")
	}
	for _, x := range []struct {
		what  string
		names []string
	}{{"did not matter (less than 2 %)", s.DidNot}, {"cannot tell", s.CannotTell}} {
		if len(x.names) > 0 {
			p.line("  ", "    ", x.what+": "+strings.Join(x.names, ", "))
		}
	}
	if n := len(s.Ties); n > 0 {
		var some []string
		for _, words := range s.Ties[:min(n, 3)] {
			text := strings.Join(words, " ")
			if text == "" {
				text = "the defaults"
			}
			some = append(some, text)
		}
		more := ""
		if n > len(some) {
			more = fmt.Sprintf(", and %d more", n-len(some))
		}
		p.line("  ", "    ", fmt.Sprintf("not told from the best: %s%s", strings.Join(some, "; "), more))
	}
	switch {
	case s.Settings < 2 || s.Gain == 0:
	case s.Resolution == nil:
		p.line("  ", "    ", "resolution: none, for there were too few starts to tell how much they vary")
	case *s.Resolution <= 0:
		p.line("  ", "    ", "resolution: all others that ran are told to be worse, by the search")
	default:
		p.line(
			"  ", "    ", fmt.Sprintf(
				"resolution: no setting that ran may be more than %.1f %% better than the best, by the "+
					"search", 100**s.Resolution))
	}
	if m.Gain != nil && s.Optimism != nil {
		p.line(
			"  ", "    ", fmt.Sprintf(
				"optimism: the search told a gain of %.3f, the confirmation %.3f: %+.1f %% [%+.1f, %+.1f]",
				s.Gain, m.Gain.Ratio, 100*(s.Optimism.Value-1), 100*(s.Optimism.Lo-1), 100*(s.Optimism.Hi-1)))
	}
}

func (p *printer) effects(what string, all []Effect, none string) {
	const most = 6
	var words []string
	for _, e := range all[:min(len(all), most)] {
		words = append(words, fmt.Sprintf("%s %s", e.What, percent(e.Ratio)))
	}
	if len(all) > most {
		words = append(words, fmt.Sprintf("and %d more (%s)", len(all)-most, ReportFile))
	}
	if words == nil {
		words = []string{none}
	}
	p.line("  ", "    ", what+": "+strings.Join(words, "; "))
}

func percent(r race.Ratio) string {
	return fmt.Sprintf("%+.1f %% [%+.1f, %+.1f]", 100*(r.Value-1), 100*(r.Lo-1), 100*(r.Hi-1))
}

// cannot writes what could not be tried, what has the same reason together.
func (p *printer) cannot(all []Cannot) {
	if len(all) == 0 {
		return
	}
	p.blank()
	p.line("", "  ", "Could not be tried, or was in vain:")
	const most = 300
	for i, c := range all {
		same := func(o Cannot) bool { return o.Reason == c.Reason && o.Fix == c.Fix }
		if slices.IndexFunc(all, same) < i {
			continue
		}
		var whose []string
		for _, o := range all {
			if word := strings.TrimSpace(o.Mode + " " + o.What); same(o) && !slices.Contains(whose, word) {
				whose = append(whose, word)
			}
		}
		if n := len(whose); n > 4 {
			whose = append(whose[:3], fmt.Sprintf("and %d more", n-3))
		}
		text := strings.Join(whose, ", ") + ": " + c.Reason
		if len(text) > most {
			text = strings.ToValidUTF8(text[:most], "") + "..."
		}
		if c.Fix != "" {
			text += "; " + c.Fix
		}
		p.line("  ", "    ", text)
	}
}

// preview writes what would be tried.
func (s *Search) preview(w io.Writer) error {
	p := &printer{w: w}
	tries := s.took(s.queue)
	cells := 2 * s.running()
	window, confirm, starts := s.confirmed(cells)
	how := "that can be open together take turns"
	if s.plan.TurnLength() == 0 {
		how = "follow one another"
	}
	p.line("", "  ", fmt.Sprintf("tune for %s: %s; cells %s", s.goal.Name, s.goal.Help, how))
	p.line("", "  ", fmt.Sprintf("about %v: %v to try each level once, %v to search, %v to confirm what is found",
		s.time.Round(time.Second), tries.Round(time.Second), max(0, s.time-tries-confirm).Round(time.Second),
		confirm.Round(time.Second)))
	for _, e := range s.entries {
		if e.out() {
			continue
		}
		f := e.Space.field(e.most, s.spec.Seed, s.can(e))
		groups := map[int]bool{}
		for _, arm := range f.Arms[:f.First] {
			c := s.cell(e, arm)
			groups[s.group(e, &c)] = true
		}
		p.blank()
		p.line(
			"", "  ", fmt.Sprintf(
				"%s: %d of %d combinations race, in %d groups of hosts' settings, %d at once, for %.0f s%s",
				e.Name, f.First, e.count(), len(groups), e.together, e.seconds, e.waiting(&f)))
		for i := range e.Factors {
			words := []string{"default"}
			for level := 1; level < len(e.Factors[i].Levels); level++ {
				_, word, _ := strings.Cut(e.Factors[i].word(level), "=")
				words = append(words, word)
			}
			p.line("  ", "    ", e.Factors[i].Option+": "+strings.Join(words, ", "))
		}
	}
	p.blank()
	p.line(
		"", "  ", fmt.Sprintf(
			"then %d cells at most, each mode at its defaults and at its best, in %d starts of %v each",
			cells, starts, window))
	var all []Cannot
	for _, e := range s.entries {
		all = append(all, e.Cannot...)
	}
	p.cannot(all)
	return p.err
}
