// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed roi.html.tmpl
var roiText string

// roi is the return on what the cells cost: throughput^2 / cost, medians over
// the runs of a cell, and whether the order of the cells depends on the
// exponents.
type roi struct {
	Cells []roiCell `json:"cells"`
	// Means is what is said of all runs that changes what returns on a cost mean.
	Means map[results.Cost][]string `json:"caveats,omitempty"`
	// Sensitivity has a table for each side and cost by which at least two cells
	// can be ordered.
	Sensitivity []Sensitivity `json:"sensitivity,omitempty"`
	// Charts are what is drawn, with the exponents that were asked for.
	Charts []roiChart `json:"charts,omitempty"`

	groups []*cellRuns // all, also those without a return
}

// roiCell is a cell's returns by side; a missing one was not measured.
type roiCell struct {
	Cell  string                     `json:"cell"`
	CPU   map[results.Side]roiFigure `json:"cpu,omitempty"`       // (Gbit/s)^2 per core
	Power map[results.Side]roiFigure `json:"power,omitempty"`     // (Gbit/s)^2 per watt, gross
	Net   map[results.Side]roiFigure `json:"net_power,omitempty"` // beyond those of the idle hosts
	// Rank is the cell's by the total of CPU, 1 the best; Tied: others have it, too. 0: none.
	Rank int  `json:"rank,omitempty"`
	Tied bool `json:"tied,omitempty"`
	// Caveat is what comparisons would say of its place: what held its runs up, how fast its CPUs
	// ran, which of its options did not act.
	Caveat string `json:"caveat,omitempty"`
	// Means is what is said of its runs that changes what its returns on a cost mean, and not of
	// all cells.
	Means map[results.Cost][]string `json:"caveats,omitempty"`
}

// roiFigure is a median and its 95 % interval.
type roiFigure struct {
	Median float64  `json:"median"`
	Lo     *float64 `json:"lo"` // nil below 6 runs
	Hi     *float64 `json:"hi"`
}

// Sensitivity is how cells are ordered under other exponents.
type Sensitivity struct {
	Side     results.Side `json:"side"`
	Cost     results.Cost `json:"cost"`
	Cells    []string     `json:"cells"`
	Rankings []ranked     `json:"rankings"`
}

var (
	sides = []results.Side{results.Receiver, results.Sender, results.Total}
	costs = []results.Cost{results.CostCPU, results.CostPower, results.CostNetPower}
)

// of selects the cell's figures by cost.
func (c *roiCell) of(cost results.Cost) *map[results.Side]roiFigure {
	switch cost {
	case results.CostPower:
		return &c.Power
	case results.CostNetPower:
		return &c.Net
	}
	return &c.CPU
}

// roiOf sums up the ok runs of cells that are no warm-ups; nil if nothing has a
// return.
func roiOf(groups []*cellRuns, q asked) *roi {
	out := &roi{}
	for _, g := range groups {
		c := roiCell{Cell: g.cell.ID}
		for _, cost := range costs {
			for _, side := range sides {
				if f := g.roi(side, cost); f != nil {
					to := c.of(cost)
					if *to == nil {
						*to = map[results.Side]roiFigure{}
					}
					(*to)[side] = *f
				}
			}
		}
		if len(c.CPU)+len(c.Power)+len(c.Net) > 0 {
			out.Cells = append(out.Cells, c)
		}
	}
	if len(out.Cells) == 0 {
		return nil
	}
	out.mean(groups)
	for _, cost := range costs {
		// The total comes first: of one end, and beyond idle, it is asked only where that has a
		// leader.
		of := map[results.Side]*Sensitivity{}
		of[results.Total] = sensitivity(groups, results.Total, cost, q, cost != results.CostNetPower || out.leads())
		for _, side := range sides {
			if side != results.Total {
				own := q
				if own.times = 2; cost != results.CostCPU { // the other half is for other exponents
					own.times = 4
				}
				lead := of[results.Total] != nil && of[results.Total].lead(of[results.Total].base()) != ""
				of[side] = sensitivity(groups, side, cost, own, lead)
			}
			if s := of[side]; s != nil {
				out.Sensitivity = append(out.Sensitivity, *s)
			}
		}
		if s := of[results.Total]; s != nil && cost == results.CostCPU {
			out.takeRanks(s)
		}
	}
	return out
}

// leads reports whether a cell leads by the watts of both ends.
func (r *roi) leads() bool {
	i := slices.IndexFunc(r.Sensitivity,
		func(s Sensitivity) bool { return s.Cost == results.CostPower && s.Side == results.Total })
	return i >= 0 && r.Sensitivity[i].lead(r.Sensitivity[i].base()) != ""
}

// takeRanks notes the ranks at n = 2, m = 1.
func (r *roi) takeRanks(s *Sensitivity) {
	base, n := s.base(), map[int]int{}
	for _, k := range base.Rank {
		n[k]++
	}
	at := make(map[string]int, len(s.Cells))
	for i, name := range s.Cells {
		at[name] = i
	}
	for k := range r.Cells {
		i, ok := at[r.Cells[k].Cell]
		if !ok {
			continue
		}
		r.Cells[k].Rank, r.Cells[k].Tied = base.Rank[i], base.Rank[i] > 0 && n[base.Rank[i]] > 1
		if base.Caveats != nil {
			r.Cells[k].Caveat = base.Caveats[i]
		}
	}
}

// base returns the ranking with the reference experiment's exponents.
func (s *Sensitivity) base() ranked {
	return s.Rankings[slices.IndexFunc(s.Rankings, func(r ranked) bool { return r.N == 2 && r.M == 1 })]
}

// counted selects the runs that count in the figures.
func (g *cellRuns) counted() (out []*results.Record) {
	for _, r := range g.runs {
		if !r.Warmup && r.Verdict == results.OK {
			out = append(out, r)
		}
	}
	return out
}

// roi computes the median return over the runs of a cell.
func (g *cellRuns) roi(side results.Side, cost results.Cost) *roiFigure {
	var v []float64
	for _, r := range g.counted() {
		if x := r.ROI(side, cost, 2, 1); x != nil {
			v = append(v, *x)
		}
	}
	if s := stat.Summarize(v); s != nil {
		return &roiFigure{s.Median, s.Lo, s.Hi}
	}
	return nil
}

// sensitivity orders the cells by all exponents. ask: else they have an order, and no cell leads.
// Cells whose power was measured with other instruments have no order.
func sensitivity(groups []*cellRuns, side results.Side, cost results.Cost, q asked, ask bool) *Sensitivity {
	if cost != results.CostCPU && !oneInstrument(groups, side) {
		return nil
	}
	all := candidates(groups, side, cost)
	if len(all) < 2 {
		return nil
	}
	atBase := mostRanked
	if cost == results.CostCPU && side == results.Total {
		atBase = len(all) // the table of the cells has these ranks
	}
	if side == results.Total {
		if cost != results.CostCPU {
			q.exponents = 2
		}
		q.same = map[results.Cost]string{results.CostCPU: "roi_cpu_total",
			results.CostPower: "roi_power_total"}[cost]
	}
	q.closed = !ask
	s := &Sensitivity{Side: side, Cost: cost, Rankings: rankings(all, q, atBase, cost == results.CostCPU &&
		side == results.Total)}
	for _, c := range all {
		s.Cells = append(s.Cells, c.cell)
	}
	return s
}

// oneInstrument reports whether all power figures of a side are comparable.
func oneInstrument(groups []*cellRuns, side results.Side) bool {
	var first [2]*results.Instrument
	for _, g := range groups {
		for _, r := range g.runs {
			for i, h := range []*results.Host{&r.SUT, &r.TG} {
				if h.PowerW == nil || i == 1 && side == results.Receiver || i == 0 && side == results.Sender {
					continue
				}
				by := h.Instrument()
				if first[i] == nil {
					first[i] = &by
				} else if !first[i].Comparable(by) {
					return false
				}
			}
		}
	}
	return true
}

// Leaders names the cells that lead a ranking, several if they are tied.
func (s Sensitivity) Leaders(r ranked) []string { return s.named(r.Leaders()) }

func (s Sensitivity) named(cells []int) (names []string) {
	for _, i := range cells {
		names = append(names, s.Cells[i])
	}
	return names
}

// lead returns the one cell that leads a ranking; "" if some are tied.
func (s Sensitivity) lead(r ranked) string {
	if l := s.Leaders(r); len(l) == 1 {
		return l[0]
	}
	return ""
}

// Line sums up which mode leads, and whether the order depends on the exponents. Cells that cannot
// be told apart do not lead.
func (s Sensitivity) Line() string {
	held, tied, all := 0, 0, 0
	var best []string
	for _, r := range s.Rankings {
		if r.Work != "" {
			continue
		}
		all++
		if r.Holds {
			held++
		}
		switch b := s.lead(r); {
		case b == "":
			tied++
		case !slices.Contains(best, b):
			best = append(best, b)
		}
	}
	base, of := s.base(), "n in 1..3, m in 0.5..2"
	if all < len(s.Rankings) {
		of += ", n > m"
	}
	leads, unranked := "leads", s.named(base.Unranked())
	if len(unranked) > 0 {
		leads = "leads the ranked cells" // the others may be as good
	}
	line := fmt.Sprintf("%s, %s: ", s.Side, s.Cost)
	if s.alone() {
		return line + fmt.Sprintf("%s is the highest, and nothing can be ranked against it, because something "+
			"else may explain why the others are lower: %s",
			s.lead(base), few(unranked))
	}
	switch {
	case s.lead(base) == "":
		line += fmt.Sprintf("no clear leader at n = 2, m = 1: %s cannot be told apart", few(s.Leaders(base)))
		if len(best) > 0 {
			line += fmt.Sprintf("; with other n and m %s", strings.Join(best, " or "))
		}
	case len(best) > 1:
		line += fmt.Sprintf("which mode leads depends on n and m (%s)", strings.Join(best, ", "))
	case tied > 0:
		line += fmt.Sprintf("%s %s for %d of %d choices of %s, and is tied for the others", best[0],
			leads, all-tied, all, of)
	default:
		line += fmt.Sprintf("%s %s for all %s", best[0], leads, of)
	}
	if line += "; no two modes swap ranks"; held < all {
		line += fmt.Sprintf(" for %d of %d choices", held, all)
	}
	if all < len(s.Rankings) {
		line += "; with n <= m it is a price, which has no order at unequal rates"
	}
	if tested := s.tested(); tested > 0 {
		line += fmt.Sprintf("; only the best %d of %d cells by each n and m were compared", tested, len(s.Cells))
		if base.Tested == 0 {
			line += ", except for n = 2, m = 1"
		}
	}
	if len(unranked) > 0 {
		line += fmt.Sprintf("; not ranked, because something else may explain why they are lower: %s", few(unranked))
	}
	return line
}

// alone reports whether no ranking has a place for more than one cell: such a cell leads nobody.
func (s Sensitivity) alone() bool {
	return !slices.ContainsFunc(s.Rankings, func(r ranked) bool { return len(r.Order)-len(r.Unranked()) > 1 })
}

// tested returns how many of the best cells some ranking compared; 0: all.
func (s Sensitivity) tested() int {
	for _, r := range s.Rankings {
		if r.Tested > 0 {
			return r.Tested
		}
	}
	return 0
}

// few names some cells, and how many more there are.
func few(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Grid lays out the leading cell for each n (rows) and m (columns).
func (s Sensitivity) Grid() [][]string {
	var out [][]string
	for i, n := range sensitivityN {
		row := []string{digits3(n)}
		for k := range sensitivityM {
			r := s.Rankings[i*len(sensitivityM)+k]
			text := s.lead(r)
			if r.Work != "" {
				row = append(row, "none: "+string(r.Work))
				continue
			}
			if text == "" {
				text = fmt.Sprintf("%d tied: %s", len(r.Leaders()), few(s.Leaders(r)))
			}
			if r.Holds {
				text += " ="
			}
			row = append(row, text)
		}
		out = append(out, row)
	}
	return out
}

// Columns returns the heads of Grid.
func (Sensitivity) Columns() []string {
	out := []string{"n \\ m"}
	for _, m := range sensitivityM {
		out = append(out, digits3(m))
	}
	return out
}

// Figures formats a cell's returns on a cost: receiver, sender, total, and the interval of the
// total.
func (c roiCell) Figures(cost results.Cost) []string {
	var out []string
	m := *c.of(cost)
	for _, s := range sides {
		if f, ok := m[s]; ok {
			out = append(out, digits3(f.Median))
		} else {
			out = append(out, none)
		}
	}
	if f := m[results.Total]; f.Lo != nil {
		return append(out, digits3(*f.Lo)+".."+digits3(*f.Hi))
	}
	return append(out, none)
}

// RankText formats the rank: "1", or "1=" where several have it.
func (c roiCell) RankText() string {
	switch {
	case c.Rank == 0:
		return none
	case c.Tied:
		return fmt.Sprint(c.Rank, "=")
	}
	return fmt.Sprint(c.Rank)
}

// CPUFigures returns those by CPUs, for the page.
func (c roiCell) CPUFigures() []string { return c.Figures(results.CostCPU) }

// PowerRows returns those by watts, in the order of [roi.PowerKinds].
func (c roiCell) PowerRows() [][]string {
	return [][]string{c.Figures(results.CostPower), c.Figures(results.CostNetPower)}
}

// PowerKinds names the kinds of watts, for the page.
func (*roi) PowerKinds() []string { return []string{"gross", "net"} }

// Power reports whether any cell has a return on power.
func (r *roi) Power() bool {
	return slices.ContainsFunc(r.Cells, func(c roiCell) bool { return len(c.Power)+len(c.Net) > 0 })
}

// maxROICells is how many cells a terminal shows; JSON and HTML have all.
const maxROICells = 24

func writeROI(b *screen.Writer, r *roi) {
	if r == nil {
		return
	}
	for _, cost := range costs {
		writeROITable(b, r, cost)
	}
	for _, s := range r.Sensitivity {
		if s.Side == results.Total {
			wrap(b, "", "  ", "T^n / cost^m, "+plaintext.Line(s.Line()))
		}
	}
}

var perUnit = map[results.Cost]string{results.CostCPU: "busy core", results.CostPower: "watt, gross",
	results.CostNetPower: "watt beyond idle"}

func writeROITable(b *screen.Writer, r *roi, cost results.Cost) {
	if !slices.ContainsFunc(r.Cells, func(c roiCell) bool { return len(*c.of(cost)) > 0 }) {
		return
	}
	fmt.Fprintf(b, "\nROI = throughput^2 / cost, per %s\n", perUnit[cost])
	const mostName = 36
	width := 0
	for _, c := range r.Cells {
		width = max(width, min(mostName, utf8.RuneCountInString(plaintext.Line(c.Cell))))
	}
	format, head := fmt.Sprintf("%%-%d.%ds %%9s %%9s %%9s %%18s", width, mostName), []string{"cell", "receiver",
		"sender", "total", "95 % interval"}
	if cost == results.CostCPU {
		format, head = format+"  %4s  %-s", append(head, "rank")
	}
	t := screen.Formatted(format)
	t.Head(head...)
	for i, c := range r.Cells {
		if i == maxROICells {
			t.Text("", "", fmt.Sprintf("... and %d more in the report", len(r.Cells)-i))
			break
		}
		f := c.Figures(cost)
		row := append([]string{plaintext.Line(c.Cell)}, f[:4]...)
		if cost == results.CostCPU {
			row = append(row, c.RankText(), plaintext.Line(c.Caveat))
		}
		t.Row(row...)
		if text := strings.Join(c.Means[cost], "; "); text != "" {
			t.Text("  ", "  ", plaintext.Line(text))
		}
	}
	t.Write(b)
	writeMeans(b, r.meansOf(cost))
}
