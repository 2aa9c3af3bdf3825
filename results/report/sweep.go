// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results/sweep"
)

//go:embed sweep.html.tmpl
var sweepText string

// sweepColumns are the counts that any of some sweeps has.
func sweepColumns(of []sweep.Sweep) (counts []sweep.Count, copied bool) {
	for _, c := range sweep.Counts {
		if slices.ContainsFunc(of, func(s sweep.Sweep) bool {
			return slices.ContainsFunc(s.Sizes, func(x sweep.Size) bool { _, ok := x.PerGB[c.Name]; return ok })
		}) {
			counts = append(counts, c)
		}
	}
	return counts, slices.ContainsFunc(of, func(s sweep.Sweep) bool {
		return slices.ContainsFunc(s.Sizes, func(x sweep.Size) bool { return x.Copied != nil })
	})
}

// sweepTable makes the table of a factor's sweeps: two lines of heads, and the rows of each.
func sweepTable(of []sweep.Sweep) (top, unit []string, rows [][][]string) {
	counts, copied := sweepColumns(of)
	top = []string{of[0].Factor, "Gbit/s", "of full", "95 %", "runs"}
	unit = []string{"", "median", "", "interval", ""}
	for _, c := range counts {
		top, unit = append(top, c.Short[0]), append(unit, c.Short[1])
	}
	if copied {
		top, unit = append(top, "copied"), append(unit, "%")
	}
	top, unit = append(top, ""), append(unit, "")
	for i := range of {
		s := &of[i]
		var all [][]string
		for k := range s.Sizes {
			x := &s.Sizes[k]
			row := []string{s.Text(x.Size), median(x.Gbps, digits3), none, none, strconv.Itoa(x.Runs())}
			if q := x.OfFull; q != nil && x.Gbps != nil {
				if row[2] = strconv.FormatFloat(q.Value, 'f', 3, 64); q.Lo != nil {
					row[3] = fmt.Sprintf("%.3f..%.3f", *q.Lo, *q.Hi)
				}
			}
			for _, c := range counts {
				row = append(row, perGB(x.PerGB, c.Name))
			}
			if copied {
				row = append(row, none)
				if x.Copied != nil {
					row[len(row)-1] = strconv.FormatFloat(100**x.Copied, 'f', 1, 64)
				}
			}
			state := string(s.Of(k))
			if k == len(s.Sizes)-1 {
				state = "plenty"
			}
			if text := plural(x.Starved, "run") + " starved"; x.Runs() == 0 && x.Starved > 0 {
				state = text
			} else if x.Starved > 0 {
				state += ", " + text
			}
			all = append(all, append(row, state))
		}
		rows = append(rows, all)
	}
	return top, unit, rows
}

func perGB(all map[string]float64, name string) string {
	switch v, ok := all[name]; {
	case !ok:
		return none
	case v == 0:
		return "0"
	default:
		return digits3(v)
	}
}

// sweepIntro explains the section.
const sweepIntro = "Sizes from starving to plenty, of cells that differ in one size alone. of full: over the rate " +
	"with plenty, the last row, by runs of the same blocks or starts. Counts are of whole flows, per 1e9 bytes of " +
	"payload, medians; \"-\" where nobody counts. docs/devmem.md says how to read them."

func writeSweeps(b *screen.Writer, all []sweep.Sweep) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n")
	wrap(b, "", "", sweepIntro)
	for _, of := range sweep.ByFactor(all) {
		top, unit, rows := sweepTable(of)
		t := screen.Aligned(strings.Repeat(">", len(top)-1) + "<")
		t.Head(top...)
		t.Head(unit...)
		for i := range of {
			t.Text("", "  ", plaintext.Line(joinWords(of[i].Name(), of[i].Refusals())))
			for _, r := range rows[i] {
				t.Row(r...)
			}
		}
		t.Write(b)
		wrap(b, "", "", plaintext.Line(sweep.Sentence(of)))
	}
}

// sweepView is a factor's sweeps in the page.
type sweepView struct {
	Factor, Sentence string
	SVG              template.HTML
	Top, Unit        []string
	Names            []string
	Rows             [][][]string // of each
}

func sweepViews(all []sweep.Sweep, figures []Figure) (out []sweepView) {
	for _, of := range sweep.ByFactor(all) {
		v := sweepView{Factor: of[0].Factor, Sentence: plaintext.Line(sweep.Sentence(of))}
		v.Top, v.Unit, v.Rows = sweepTable(of)
		if i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == sweepName+v.Factor }); i >= 0 {
			v.SVG = template.HTML(figures[i].Inline())
		}
		for i := range of {
			v.Names = append(v.Names, plaintext.Line(joinWords(of[i].Name(), of[i].Refusals())))
		}
		out = append(out, v)
	}
	return out
}

const sweepName = "sweep_"

// sweepFigures draws the sweeps of each factor: a curve each, the interval of its knee, and the
// reference's rule.
func sweepFigures(all []sweep.Sweep) (out []Figure, err error) {
	for _, of := range sweep.ByFactor(all) {
		f := Figure{Name: sweepName + of[0].Factor, Title: "Throughput against " + of[0].Factor,
			Caption: "Gbit/s, medians, by size. A level line is where the knee is with 95 % confidence: the least " +
				"size that has its full rate."}
		at := func(v float64) float64 { return v }
		if !slices.ContainsFunc(of, func(s sweep.Sweep) bool {
			return slices.ContainsFunc(s.Sizes, func(x sweep.Size) bool { return x.Size <= 0 })
		}) {
			at = math.Log2
		}
		var curves, knees, rules []curve
		ticks := map[float64]string{}
		top := 0.0
		for i := range of {
			s := &of[i]
			c := curve{name: s.Name()}
			for _, x := range s.Sizes {
				y := 0.0
				if x.Gbps != nil {
					y = x.Gbps.Median
				} else if x.Starved == 0 {
					continue
				}
				ticks[at(x.Size)] = s.Text(x.Size)
				c.at, top = append(c.at, plotter.XY{X: at(x.Size), Y: y}), max(top, y)
			}
			curves = append(curves, c)
			if text := s.Interval(); text != "" {
				y := (1 - s.Within) * s.Sizes[len(s.Sizes)-1].Gbps.Median
				knees = append(knees, curve{name: "knee of " + s.Name() + ": " + text, plain: true,
					at: plotter.XYs{{X: at(*s.Low), Y: y}, {X: at(*s.High), Y: y}}})
			}
			rule := ""
			if s.Rule != nil {
				rule = "4 x ring x buffer length: " + s.Text(*s.Rule)
			}
			if s.Rule != nil && !slices.ContainsFunc(rules, func(c curve) bool { return c.name == rule }) {
				x := at(*s.Rule)
				rules = append(rules, curve{name: rule, dashed: true, at: plotter.XYs{{X: x}, {X: x}}})
			}
		}
		for _, r := range rules {
			r.at[1].Y = top
		}
		if f.SVG, err = curvesOver(slices.Concat(curves, knees, rules), ticks); err != nil {
			return nil, fmt.Errorf("plot %s: %w", f.Name, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// sizeTicks are the ticks of an axis of sizes: those that have room get their names.
func sizeTicks(names map[float64]string) plot.TickerFunc {
	return func(lo, hi float64) (out []plot.Tick) {
		var all []float64
		for v := range names {
			all = append(all, v)
		}
		slices.Sort(all)
		last := math.Inf(-1)
		for _, v := range all {
			t := plot.Tick{Value: v}
			if (v-last)/(hi-lo) > .11 {
				t.Label, last = names[v], v
			}
			out = append(out, t)
		}
		return out
	}
}
