// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

//go:embed probe.html.tmpl
var probeText string

// maxCalls is the most system calls of one end that a table shows, those with the
// most time.
const maxCalls = 8

// probeView is what the probes saw, as texts. Rows of the same cell and end stand
// together; the first has their names.
type probeView struct {
	Stages, Calls, Counters, Drops []probeRow
	TCP                            []probeRow
	Left                           int // system calls not shown

	Classes, Functions []probeRow // of profiles
}

type probeRow struct {
	Number    int
	Cell, End string
	Name, Dim string
	Fields    []string
}

func newProbeView(cells []Cell) probeView { return probeViewOf(cells, maxFunctions) }

// probeViewOf builds the view of the probes, with so many functions of each profile.
func probeViewOf(cells []Cell, functions int) (v probeView) {
	names := shortNames(cells)
	shown := liveCounters(cells)
	for i := range cells {
		for _, e := range []struct {
			name string
			p    *Probed
		}{{"SUT", cells[i].SUT.Probed}, {"TG", cells[i].TG.Probed}} {
			if e.p == nil {
				continue
			}
			row := func(name, dim string, fields ...string) probeRow {
				return probeRow{i + 1, names[i], e.name, name, dim, fields}
			}
			for _, s := range e.p.Stages {
				v.Stages = append(v.Stages, row(s.Label(), s.Hook, ageOr(s), number(s.Count), us(s.Mean), us(s.P50),
					us(s.P90), us(s.P99), us(s.P999), us(s.Max), number(s.Negative), number(s.Unstamped)))
			}
			for k, c := range e.p.Calls {
				if k == maxCalls {
					v.Left += len(e.p.Calls) - k
					break
				}
				v.Calls = append(v.Calls, row(c.Name, "", number(c.Calls), number(c.Errors), digits(c.Total),
					digits(c.Min), digits(c.Avg), digits(c.Max), digits(c.Stddev), digits(c.PerSecond),
					digits(c.PerMB)))
			}
			for _, d := range e.p.Drops {
				v.Drops = append(v.Drops, row(d.Key(), d.Where, number(d.Packets), number(d.SKBs), number(d.Flow)))
			}
			if l := e.p.Lost; l != nil && (l.Segments != 0 || l.Unattributed != 0) {
				v.Drops = append(v.Drops, row("the flow's segments: sent and not received", "", none, none,
					number(&l.Segments)),
					row("of these, unattributed", "", none, none, number(&l.Unattributed)))
			}
			v.addTCP(e.p.Flow, row)
			v.addProfile(e.p.Profile, functions, row)
			for _, c := range e.p.Counters {
				if shown[c.Name] {
					v.Counters = append(v.Counters, row(c.Name, c.Unit, number(c.Value), digits(c.PerMB)))
				}
			}
		}
	}
	return v
}

// runtimeLegend says whose the last calls of a table are.
const runtimeLegend = "futex, nanosleep, epoll and the like, the last ones, are of Go's other threads, which " +
	"wait beside the data path: their time is no work."

func runtimeCalls(rows []probeRow) bool {
	return slices.ContainsFunc(rows, func(r probeRow) bool { return results.Syscall{Name: r.Name}.OfRuntime() })
}

// stageLegend says what the two kinds of stages are.
const stageLegend = "age: of a packet, from its receive stamp to the stage. duration: of what happens there, " +
	"from an event of its own: " +
	"softirq-run since the softirq was raised, wake-return since data arrived. The two do not add up."

// ageOr names what a stage's times are: ages of packets, or durations.
func ageOr(s results.Stage) string {
	if s.OwnEvent() {
		return "duration"
	}
	return "age"
}

// addTCP adds the figures of the probe tcp; their course is drawn.
func (v *probeView) addTCP(flow []measure.Series, row func(name, dim string, fields ...string) probeRow) {
	for _, s := range flow {
		if len(s.V) == 0 {
			continue
		}
		of := slices.Sorted(slices.Values(s.V))
		show := func(x float64) string { return digits(&x) }
		v.TCP = append(v.TCP, row(s.Name, s.Unit, show(of[0]), show(of[len(of)/2]), show(of[len(of)-1]),
			show(s.V[len(s.V)-1])))
	}
}

// liveCounters finds the counters that counted something in some cell.
func liveCounters(cells []Cell) map[string]bool {
	live := map[string]bool{}
	for i := range cells {
		for _, p := range []*Probed{cells[i].SUT.Probed, cells[i].TG.Probed} {
			if p == nil {
				continue
			}
			for _, c := range p.Counters {
				if c.Value != nil && *c.Value != 0 {
					live[c.Name] = true
				}
			}
		}
	}
	return live
}

// number formats a count.
func number(v *float64) string {
	if v == nil {
		return none
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

func us(ns *float64) string {
	if ns == nil {
		return none
	}
	v := *ns / 1e3
	return digits(&v)
}

// digits shows about three digits, and never an exponent.
func digits(v *float64) string {
	switch {
	case v == nil:
		return none
	case *v == 0:
		return "0"
	case *v < 0.001:
		return strconv.FormatFloat(*v, 'f', 6, 64)
	case *v < 0.995:
		return strconv.FormatFloat(*v, 'f', 4, 64)
	}
	return digits3(*v)
}

// maxProbedCells is the most cells whose probes' figures a terminal shows.
const maxProbedCells = 4

// writeProbes writes what the probes saw for a terminal.
func writeProbes(b *screen.Writer, s *Summary) {
	n := 0
	for i := range s.Cells {
		if s.Cells[i].SUT.Probed != nil || s.Cells[i].TG.Probed != nil {
			n++
		}
	}
	if n > maxProbedCells && s.Top == 0 {
		b.WriteString("\n")
		screen.Line(b, "", "  ", fmt.Sprintf("probes: figures of %d cells: see the HTML report, or zcbench report "+
			"--top N", n))
		return
	}
	v := probeViewOf(s.Cells, cmp.Or(s.Top, maxFunctions))
	write := func(title, columns string, rows []probeRow, fields int) {
		if len(rows) == 0 {
			return
		}
		fmt.Fprintf(b, "\n%s\n", title)
		var t *screen.Table
		last := ""
		for _, r := range rows {
			if at := fmt.Sprintf("%s, %s", r.Cell, r.End); at != last {
				if t != nil {
					t.Write(b) // columns fit the rows below each name
				}
				screen.Line(b, "", "  ", at)
				head := strings.Split(strings.TrimSuffix(columns, "\t"), "\t")
				t = screen.Aligned(strings.Repeat(">", len(head)))
				t.Head(head...)
				last = at
			}
			t.Row(append([]string{plaintext.Line(r.Name)}, r.Fields[:fields]...)...)
		}
		t.Write(b)
	}
	write("latency by stage, us, medians over the runs",
		"stage\tis\tcount\tmean\tp50\tp90\tp99\tp99.9\tmax\tnegative\tunstamped\t", v.Stages, 10)
	if len(v.Stages) > 0 {
		b.WriteString("\n")
		wrap(b, "", "", stageLegend)
	}
	write("TCP over time (probe tcp), of one run", "figure\tmin\tmedian\tmax\tlast\t", v.TCP, 4)
	write("system calls, ms, medians over the runs",
		"syscall\tcalls\terrors\ttotal\tmin\tavg\tmax\tstddev %\tper s\tper MB\t", v.Calls, 9)
	if runtimeCalls(v.Calls) {
		b.WriteString("\n")
		wrap(b, "", "", runtimeLegend)
	}
	write("where the busy time goes, by class, medians over the runs",
		"class\tns/kB\tinterval\t%\tns/packet\tns/wire packet\t", v.Classes, 5)
	write("where the busy time goes, by function, medians over the runs",
		"function\tns/kB\tinterval\t%\tns/packet\twith callees ns/kB\twhere\tclass\tns/wire packet\t", v.Functions, 8)
	write("receive path, medians over the runs", "counter\tcount\tper MB\t", v.Counters, 2)
	write("dropped packets, medians over the runs", "reason and place\tpackets\tskbs\tof the flow\t", v.Drops, 3)
}
