// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// watts writes that nothing is known per watt, and why: nobody asked for power, or the sources that
// were asked for had no figure.
func (w *writer) watts() {
	cells := slices.DeleteFunc(w.Set.Candidates(),
		func(c *compare.Cell) bool { return !fits(&c.Cell, "roi_power_total") })
	if !w.Power || len(cells) < 2 {
		return
	}
	s := Sentence{Section: Open, Kind: NoFigure, Figure: "roi_power_total"}
	var without missed
	for _, c := range cells {
		for _, r := range c.Runs {
			if r.SUT.PowerW != nil || r.TG.PowerW != nil {
				return
			}
			without.add(r)
		}
		s.StandsOn = append(s.StandsOn, verdict{Cell: c.Cell.ID, Figure: "power_w", Verdict: "not measured"})
	}
	if without.sources != nil {
		s.Text = "Per watt: power was asked for, and no run has a figure. " + without.text()
		w.say(s)
		return
	}
	s.Command = "zcbench power --source list"
	s.Text = "Per watt: power was not measured. zcbench power --source list shows what can measure it here; " +
		"--power records it."
	w.say(s)
}

// missed is power that was asked for and is not there.
type missed struct {
	runs    int
	sources []string // that were asked, as results name them
	reasons []string // of these, each once
	n       []int    // of how many runs
}

// ofSource is what a warning about a source begins with, behind its end.
const ofSource = "power source "

func (m *missed) add(r *results.Record) {
	m.runs++
	said := map[string]bool{}
	for _, role := range ends.Roles {
		source := r.Host(role).PowerSource
		if source == "" {
			continue
		}
		if !slices.Contains(m.sources, source) {
			m.sources = append(m.sources, source)
		}
		for _, warning := range r.Warnings {
			why, ok := strings.CutPrefix(warning, role.Label()+": "+ofSource+source+": ")
			if !ok {
				continue
			}
			why = kindOfWhy(why)
			if said[why] {
				continue
			}
			said[why] = true
			i := slices.Index(m.reasons, why)
			if i < 0 {
				i, m.reasons, m.n = len(m.reasons), append(m.reasons, why), append(m.n, 0)
			}
			m.n[i]++
		}
	}
}

// Beginnings of what package power says of a window that is too short for its source, before how
// long the window was.
var tooShort = []string{"no reading in ", "1 reading in ", "too few readings in ", "its readings cover "}

// shortWindow is what all of them come down to.
const shortWindow = "too few readings in the window"

func kindOfWhy(why string) string {
	_, because, failed := strings.Cut(why, ": ")
	for _, begin := range tooShort {
		switch {
		case !strings.HasPrefix(why, begin):
		case failed:
			return shortWindow + ": " + because
		default:
			return shortWindow
		}
	}
	return why
}

// text gives the reasons, the commonest first, and what to do about them.
func (m *missed) text() string {
	if m.reasons == nil {
		return fmt.Sprintf("Source %s; the notes of the runs say why.", few(m.sources))
	}
	order := make([]int, len(m.reasons))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return m.n[b] - m.n[a] })
	var told []string
	for _, i := range order {
		told = append(told, fmt.Sprintf("%s (%d of %s)", m.reasons[i], m.n[i], plural(m.runs, "run")))
	}
	text := fmt.Sprintf("Source %s: %s.", few(m.sources), list(told))
	if slices.Contains(m.reasons, shortWindow) {
		text += " A figure needs two readings: measure longer (--duration), or give the window a guard (--power-guard)."
	}
	return text
}
