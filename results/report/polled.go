// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"math"
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed polled.html.tmpl
var polledText string

// polledOf summarizes who took packets from the queues, by column; nil: nobody tells.
func polledOf(of func(func(*results.Host) *float64) *stat.Summary) map[string]*stat.Summary {
	out := map[string]*stat.Summary{}
	for _, m := range results.PolledFigures {
		s := of(func(h *results.Host) *float64 {
			if v := h.Value(m.Name); !math.IsNaN(v) {
				return &v
			}
			return nil
		})
		if s != nil {
			out[m.Name] = s
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// polledRow is an end of a cell.
type polledRow struct {
	Cell, End string
	Fields    []string
}

// polledHeads are the columns behind the end, and their units, in the order of the figures.
var polledHeads = [][2]string{{"interrupts", "1/s"}, {"by app", "%"}, {"by thread", "%"}, {"by softirq", "%"},
	{"empty polls", "%"}, {"spinning", "cores"}, {"asleep", "%"}}

// PolledHeads returns the columns for the page.
func (s *Summary) PolledHeads() [][2]string { return polledHeads }

// PolledRows returns the ends of all cells where one of them says who polls.
func (s *Summary) PolledRows() (out []polledRow) {
	if !slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.Cell.Polls() != plan.PollIRQ }) {
		return nil
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		for _, role := range ends.Roles {
			e := map[ends.Role]*End{ends.SUT: &c.SUT, ends.TG: &c.TG}[role]
			if e.Polled == nil {
				continue
			}
			r := polledRow{Cell: c.Cell.ID, End: role.Label()}
			for _, m := range results.PolledFigures {
				f := map[string]func(float64) string{"%": fixed1, "cores": fixed2, "1/s": digits3}[m.Unit]
				r.Fields = append(r.Fields, median(e.Polled[m.Name], f))
			}
			out = append(out, r)
		}
	}
	return out
}

// polledMeans explains the table.
const polledMeans = "Who polled, medians: interrupts of the interface's queues; of the packets that polls " +
	"brought those of zcbench's own threads, which busy-poll while they wait (app), of NAPI threads, and of " +
	"softirq; polls by both sorts of threads that brought none, and the time that they spent on such; and how " +
	"long the threads that move the flows slept"

// PolledMeans returns that for the page.
func (s *Summary) PolledMeans() string { return polledMeans }

func writePolled(b *screen.Writer, s *Summary) {
	rows := s.PolledRows()
	if rows == nil {
		return
	}
	b.WriteString("\n")
	wrap(b, "", "", polledMeans)
	t := screen.Aligned("<<>>>>>>>")
	var heads, units []string
	for _, h := range polledHeads {
		heads, units = append(heads, h[0]), append(units, h[1])
	}
	t.Head(slices.Concat([]string{"cell", "end"}, heads)...)
	t.Head(slices.Concat([]string{"", ""}, units)...)
	for _, r := range rows[:min(len(rows), maxFlowRows)] {
		t.Row(slices.Concat([]string{plaintext.Line(r.Cell), r.End}, r.Fields)...)
	}
	t.Write(b)
	if n := len(rows) - maxFlowRows; n > 0 {
		wrap(b, "", "", plural(n, "more row")+": --json and the page have all")
	}
}
