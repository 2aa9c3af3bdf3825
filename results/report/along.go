// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed along.html.tmpl
var alongText string

// alongCell is what passed along the path of a cell's runs.
type alongCell struct {
	Cell  string      `json:"cell"`
	Steps []alongStep `json:"between"`
}

// alongStep is one direction between two neighbours, or an end of the path, which has no packets
// that are compared. Packets are those of a run's window.
type alongStep struct {
	Where   string        `json:"where"` // "tg:eth0 tx -> vif1 rx"
	Sent    *stat.Summary `json:"sent_packets,omitempty"`
	Lost    *stat.Summary `json:"lost_packets,omitempty"`
	Least   *stat.Summary `json:"lost_least_packets,omitempty"`
	Most    *stat.Summary `json:"lost_most_packets,omitempty"`
	Untold  *stat.Summary `json:"untold_least_packets,omitempty"`
	Told    []alongLoss   `json:"told,omitempty"`
	Unknown []string      `json:"waiting_unknown,omitempty"`
	Assumed bool          `json:"assumed,omitempty"`
}

// alongLoss is a counter that tells of a loss.
type alongLoss struct {
	Counter string        `json:"counter"`
	Packets *stat.Summary `json:"packets"` // of the runs in which it moved
}

// alongOf collects the cells whose packets were followed along a path.
func alongOf(groups []*cellRuns, cells []Cell) (out []alongCell) {
	about := settings(cells)
	for i, g := range groups {
		var all []*results.AlongPath
		for _, r := range g.runs {
			if p := r.SUT.Path; p != nil && r.Verdict == results.OK && !r.Warmup {
				all = append(all, p)
			}
		}
		if len(all) > 0 {
			out = append(out, alongCell{Cell: joinWords(g.cell.RX+"/"+g.cell.TX, about[i]), Steps: alongSteps(all)})
		}
	}
	return out
}

// alongRows gathers the figures of one step.
type alongRows struct {
	step                           alongStep
	sent, lost, least, most, never []float64
	told                           map[string][]float64
	names                          []string
}

func (a *alongRows) tell(all []results.PathLoss) {
	for _, l := range all {
		if a.told[l.Counter] == nil {
			a.names = append(a.names, l.Counter)
		}
		a.told[l.Counter] = append(a.told[l.Counter], float64(l.Packets))
	}
}

// alongSteps summarizes the steps of all runs together, in the order of the path.
func alongSteps(all []*results.AlongPath) (out []alongStep) {
	var order []string
	rows := map[string]*alongRows{}
	row := func(where string) *alongRows {
		if rows[where] == nil {
			rows[where] = &alongRows{step: alongStep{Where: where}, told: map[string][]float64{}}
			order = append(order, where)
		}
		return rows[where]
	}
	for _, p := range all {
		for i := range p.Between {
			s := &p.Between[i]
			a := row(p.Step(s))
			if s.Sent == nil {
				continue
			}
			a.sent, a.lost = append(a.sent, float64(*s.Sent)), append(a.lost, float64(*s.Lost))
			a.least, a.most, a.never = append(a.least, float64(*s.LostLeast)), append(a.most, float64(*s.LostMost)),
				append(a.never, float64(*s.UntoldLeast))
			a.step.Unknown, a.step.Assumed = s.Unknown, s.Assumed
			a.tell(s.Told)
		}
	}
	for _, p := range all {
		for _, e := range p.Ends {
			row(p.Interfaces[e.Hop-1].Name + map[string]string{"tx": ", before it sent",
				"rx": ", after it received"}[e.Way]).tell(e.Told)
		}
	}
	for _, where := range order {
		a := rows[where]
		a.step.Sent, a.step.Lost = stat.Summarize(a.sent), stat.Summarize(a.lost)
		a.step.Least, a.step.Most, a.step.Untold = stat.Summarize(a.least), stat.Summarize(a.most),
			stat.Summarize(a.never)
		for _, name := range a.names {
			a.step.Told = append(a.step.Told, alongLoss{name, stat.Summarize(a.told[name])})
		}
		out = append(out, a.step)
	}
	return out
}

// Figures formats the medians, in the order of the table.
func (s alongStep) Figures() []string {
	return []string{median(s.Sent, whole), median(s.Lost, whole), median(s.Least, whole), median(s.Most, whole)}
}

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

// Why names the counters that account for the loss, and how much of it no counter does.
func (s alongStep) Why() string {
	var words []string
	for _, l := range s.Told {
		words = append(words, plaintext.Line(l.Counter)+" "+median(l.Packets, whole))
	}
	if s.Most != nil && s.Most.Median < 0 {
		words = append(words, "more arrived than were sent: some came another way, or were split into more packets")
	}
	if s.Untold != nil && s.Untold.Median > 0 {
		words = append(words, "at least "+whole(s.Untold.Median)+" that no counter tells")
		for _, q := range s.Unknown {
			words = append(words, "unless they waited where nobody counts them: "+plaintext.Line(q))
		}
	}
	if s.Assumed && s.Lost != nil && s.Lost.Median != 0 {
		words = append(words, "if the two are neighbours, which the kernel does not say")
	}
	return strings.Join(words, "; ")
}

func writeAlong(b *screen.Writer, all []alongCell) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n")
	wrap(b, "", "", "Along the path: packets in the window that one interface counted; of these, those that the "+
		"next one did not count; and between which numbers the real loss is. Medians over the runs")
	const format = "%12s %10s %10s %10s  %-s"
	t := screen.Formatted(format)
	t.Head("packets", "lost", "at least", "at most", "between")
	for _, c := range all {
		t.Text("", "  ", plaintext.Line(c.Cell))
		for _, s := range c.Steps {
			f := s.Figures()
			t.Row(f[0], f[1], f[2], f[3], plaintext.Line(s.Where))
			if why := s.Why(); why != "" {
				t.Text("      ", "      ", why)
			}
		}
	}
	t.Write(b)
}
