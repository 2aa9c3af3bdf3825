// SPDX-License-Identifier: MIT

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
)

// width is the number of columns that cells, reasons and notes keep to; the tables of flows and of
// costs, which few results have, keep to WidestTable.
const width, widestTable = 80, 100

// Most that a terminal shows; the JSON and the HTML have everything.
const (
	maxStops = 20
	maxNotes = 12
	maxLines = 5 // journal lines not used
)

// Short writes what a command ends with that measured several cells: the answer, the small table,
// the doubts, and why runs gave no number; of a demo only of those that were to have one. All else
// is in the report.
func Short(w io.Writer, s *Summary, demo bool) error {
	if s.Brief == nil || len(s.Brief.Rows) == 0 {
		return Table(w, s)
	}
	b := screen.NewWriter(w)
	if err := answer.WriteBrief(b, s.Brief); err != nil {
		return err
	}
	var wrong []stop
	for _, x := range s.Stops {
		if !demo || x.Verdict != results.Unsupported && !s.expected(&x) {
			wrong = append(wrong, x)
		}
	}
	writeStops(b, wrong)
	for i, p := range s.Skipped { // what the numbers are not of
		if i == maxLines {
			fmt.Fprintf(b, "\nand %s of the journal not used\n", plural(len(s.Skipped)-i, "more line"))
			break
		}
		b.WriteString("\n")
		wrap(b, "", "  ", plaintext.Line("journal not used: "+p.String()))
	}
	return b.Flush()
}

// expected reports whether runs with a reason could not be anything else where they were made.
func (s *Summary) expected(x *stop) bool {
	for i := range s.Cells {
		if c := &s.Cells[i]; slices.Contains(c.Stops, x.Number) && c.Expected < c.Invalid+c.Failed {
			return false
		}
	}
	return true
}

// Table writes the summary for a terminal: the answer in short, then in full a row per cell, then
// the reasons and fixes that it cites by number, then flags and warnings.
func Table(w io.Writer, s *Summary) error {
	b := screen.NewWriter(w)
	if s.Brief != nil {
		if err := answer.WriteBrief(b, s.Brief); err != nil {
			return err
		}
		b.WriteString("\n")
	}
	writeRows(b, s)
	writeMeans(b, strings.Join(s.Means, "; "))
	writeLegend(b, s)
	writeSweeps(b, s.Sweeps)
	writeLossFree(b, s.LossFree)
	writeTrips(b, s.Trips)
	writeAlong(b, s.Along)
	writeFlows(b, s.Flows)
	writeCostRates(b, s.CostRate)
	writeROI(b, s.ROI)
	writeLadders(b, s.Ladders)
	writeCosts(b, s.Costs)
	writeHardware(b, s)
	writePolled(b, s)
	writeProbes(b, s)
	writeStops(b, s.Stops)
	writeNotes(b, s)
	writeEnvironment(b, s)
	return b.Flush()
}

// JSON writes the summary as one indented object.
func JSON(w io.Writer, s *Summary) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(s)
}

// heading is a column of a table: its two header lines; > aligns to the right.
type heading struct{ top, unit, align string }

// head is that of the cells that move a stream.
var head = []heading{
	{"RX mode", "", "<"},
	{"TX mode", "", "<"},
	{"Gbit/s", "median", ">"},
	{"95 % interval", "Gbit/s", ">"},
	{"busy", "SUT", ">"},
	{"busy", "TG", ">"},
	{"ns/kB", "SUT", ">"},
	{"copied", "% RX", ">"},
	{"", "% TX", ">"},
	{"verdict", "", "<"},
}

func tableRow(c *Cell) []string {
	v := verdict(c)
	gbps, between := c.throughput()
	if len(c.Stops) > 0 {
		v += " " + cites(c.Stops)
	}
	return []string{
		plaintext.Line(c.Cell.RX), plaintext.Line(c.Cell.TX),
		gbps, between,
		median(c.SUT.BusyCores, fixed2), median(c.TG.BusyCores, fixed2),
		median(c.SUT.NsPerKB, digits3),
		copied(c.SUT.Proof), copied(c.TG.Proof),
		v,
	}
}

// throughput formats the median and its interval; none for round trips, which have a table of their
// own.
func (c *Cell) throughput() (middle, between string) {
	if c.SUT.trips {
		return none, none
	}
	return median(c.SUT.ThroughputGbps, fixed2), interval(c.SUT.ThroughputGbps, fixed2)
}

// cites formats "[1]" or "[1 2 3]"; of a cell that stopped for many reasons only a few.
func cites(numbers []int) string {
	const most = 3
	more := ""
	if len(numbers) > most {
		numbers, more = numbers[:most], " ..."
	}
	return strings.TrimSuffix(fmt.Sprint(numbers), "]") + more + "]"
}

func writeRows(b *screen.Writer, s *Summary) {
	shown, rest := part(s.Cells)
	cells := make([]Cell, len(shown))
	for i, n := range shown {
		cells[i] = s.Cells[n]
	}
	streams, packets := byKind(cells)
	if len(streams) > 0 || len(packets) == 0 {
		writeCells(b, head, streams, tableRow)
	}
	if len(packets) > 0 {
		if len(streams) > 0 {
			b.WriteString("\n")
		}
		writeCells(b, packetHead, packets, packetRow)
	}
	if len(s.Cells) == 0 {
		b.WriteString("no runs\n")
	}
	rest.write(b)
}

// writeCells writes a row of each cell, and below it what is to be said of that.
func writeCells(b *screen.Writer, head []heading, cells []Cell, row func(*Cell) []string) {
	top, unit := make([]string, len(head)), make([]string, len(head))
	for i, h := range head {
		top[i], unit[i] = h.top, h.unit
	}
	rows := [][]string{top, unit}
	for i := range cells {
		rows = append(rows, row(&cells[i]))
	}
	under := settings(cells)
	if b.Columns() > 0 {
		t := tableOf(head, rows[:2])
		for i, r := range rows[2:] {
			t.Row(r...)
			for _, text := range []string{under[i], remarks(&cells[i])} {
				if text != "" {
					t.Text("  ", "  ", text)
				}
			}
		}
		t.Write(b)
		return
	}
	widths, gap := layout(head, rows)
	for i, r := range rows {
		writeRow(b, head, r, widths, gap)
		if i < 2 {
			continue
		}
		for _, text := range []string{under[i-2], remarks(&cells[i-2])} {
			if text != "" {
				wrap(b, "  ", "  ", text)
			}
		}
	}
}

// tableOf makes a table for a terminal.
func tableOf(head []heading, heads [][]string) *screen.Table {
	columns := ""
	for _, h := range head {
		columns += h.align
	}
	t := screen.Aligned(columns)
	for _, h := range heads {
		t.Head(h...)
	}
	return t
}

// layout finds the width of each column and of the gap between them. Where they do not fit,
// columns of shares that nothing was measured for have none, then gaps become narrower. A verdict
// that does not fit stands in a line of its own.
func layout(head []heading, rows [][]string) (widths []int, gap int) {
	widths = make([]int, len(head))
	total := 0
	for i := range head {
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
		total += widths[i]
	}
	total -= max(widths[len(widths)-1]-longVerdict, 0)
	gap = 2
	columns := len(head)
	if total+gap*(columns-1) > width && unmeasured(head, rows) {
		for _, i := range shares(head) {
			total, columns = total-widths[i], columns-1
			widths[i] = 0
		}
	}
	if total+gap*(columns-1) > width {
		gap = 1
	}
	return widths, gap
}

// longVerdict is up to which length verdicts have room beside the figures.
const longVerdict = 14

// shares finds the columns of what was copied.
func shares(head []heading) (columns []int) {
	for i, h := range head {
		if strings.HasPrefix(h.unit, "% ") {
			columns = append(columns, i)
		}
	}
	return columns
}

// unmeasured reports whether no cell has a share of what was copied.
func unmeasured(head []heading, rows [][]string) bool {
	for _, r := range rows[2:] {
		for _, i := range shares(head) {
			if r[i] != none {
				return false
			}
		}
	}
	return true
}

func writeRow(b *screen.Writer, head []heading, fields []string, widths []int, gap int) {
	var line strings.Builder
	last := len(fields) - 1
	for i, f := range fields[:last] {
		if widths[i] == 0 {
			continue
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(f))
		if head[i].align == ">" {
			line.WriteString(pad + f)
		} else {
			line.WriteString(f + pad)
		}
		line.WriteString(strings.Repeat(" ", gap))
	}
	if fields[last] == "" {
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		return
	}
	if utf8.RuneCountInString(line.String()+fields[last]) <= width {
		b.WriteString(line.String() + fields[last] + "\n")
		return
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	wrap(b, "  ", "  ", fields[last])
}

func writeLegend(b *screen.Writer, s *Summary) {
	b.WriteString("\n")
	wrap(b, "", "", "SUT = receiver, TG = sender. Gbit/s is payload, 1e9 bits. busy = wall - idle - iowait, 1.00 "+
		"= one CPU. "+
		"ns/kB = busy CPU time per 1000 bytes. \"-\" = not measured. Only ok runs are in the numbers, warm-ups "+
		"are not."+packetLegend(s)+limitLegend(s))
}

// limitLegend explains what it means that a cell was held up, where one was.
func limitLegend(s *Summary) string {
	if !slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.HeldBy != "" }) {
		return ""
	}
	legend := " \"at the sender's limit\" (window's, path's, link's): that limited most runs of the cell, not the " +
		"receiver, whose own limit is not known."
	if slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.HeldBy == plan.ByOneCPU }) {
		legend += " \"At the limit of one CPU for both ends\": a CPU without time left worked for the receiver " +
			"and the " +
			"sender, so it is neither's limit."
	}
	return legend
}

func writeStops(b *screen.Writer, stops []stop) {
	for i, s := range stops {
		if i == maxStops {
			fmt.Fprintf(b, "\n... and %s: see the HTML report or the journal\n", plural(len(stops)-i, "more reason"))
			return
		}
		b.WriteString("\n")
		number := fmt.Sprintf("[%d] ", s.Number)
		indent := strings.Repeat(" ", len(number))
		reason := s.Reason
		if reason == "" {
			reason = "no reason given"
		}
		wrap(b, number, indent, fmt.Sprintf("%s: %s", s.Said(), plaintext.Line(reason)))
		if s.Fix != "" {
			wrap(b, indent+"fix: ", indent+"     ", plaintext.Line(s.Fix))
		}
		wrap(b, indent+"in:  ", indent+"     ", plaintext.Line(strings.Join(s.Cells, ", "))+" ("+
			plural(s.Runs, "run")+")")
	}
}

func writeNotes(b *screen.Writer, s *Summary) {
	lines := noteLines(s)
	if len(lines) == 0 {
		return
	}
	b.WriteString("\nnotes\n")
	for i, l := range lines {
		if i == maxNotes {
			fmt.Fprintf(b, "  ... and %s: see the HTML report or the journal\n", plural(len(lines)-i, "more note"))
			break
		}
		wrap(b, "  - ", "    ", plaintext.Line(l))
	}
}

// noteLines lists everything else that a reader of the numbers should know.
func noteLines(s *Summary) []string {
	var out []string
	for i, p := range s.Skipped {
		if i == maxLines {
			out = append(out, fmt.Sprintf("and %s of the journal not used", plural(len(s.Skipped)-i, "more line")))
			break
		}
		out = append(out, "journal not used: "+p.String())
	}
	for _, m := range []struct {
		role string
		Machine
	}{{"SUT", s.SUT}, {"TG", s.TG}} {
		for _, name := range m.Mixed {
			out = append(out, fmt.Sprintf("%s: %s differs between runs: these are not numbers of one machine", m.role,
				name))
		}
	}
	if s.Uncompared != "" {
		out = append(out, s.Uncompared)
	}
	for _, c := range s.Calibrations {
		out = append(out, c.String())
	}
	if text := s.returnless(); text != "" {
		out = append(out, text)
	}
	for _, n := range s.Notes {
		out = append(out, fmt.Sprintf("%s (%s)", worded(n.Text), plural(n.Count, n.Unit)))
	}
	return out
}

// wrap writes text in lines of at most Width columns where its words allow it.
func wrap(b *screen.Writer, first, rest, text string) {
	screen.Text(b, first, rest, text)
}
