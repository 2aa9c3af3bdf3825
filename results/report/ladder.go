// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed ladder.html.tmpl
var ladderText string

// rung is a step of the ladder from the driver to the socket: what a frame costs that ends there,
// and how much more than one that ends a step above.
type rung struct {
	Cell  string `json:"cell"`
	Name  string `json:"rung"`            // mode, and where and how an XDP program has the frames
	Above string `json:"above,omitempty"` // the name of the rung above; "": there is none

	PacketsPerS *stat.Summary `json:"packets_per_s,omitempty"`
	// NsPerPacket is the time of the threads that received, where these did in all runs, and else
	// that the receiver's CPUs were busy.
	NsPerPacket *stat.Summary  `json:"ns_per_packet,omitempty"`
	RateNs      *stat.Summary  `json:"rate_ns,omitempty"` // 1/packets_per_s
	Busy        *stat.Summary  `json:"cpu_busy_cores,omitempty"`
	Own         *stat.Summary  `json:"own_cores,omitempty"` // of those threads
	HeldBy      plan.LimitedBy `json:"held_by,omitempty"`
	Slack       results.Slack  `json:"slack,omitempty"` // why RateNs is not what a frame costs
	// what a frame costs here less what it does at the rung above
	More *stat.Shift `json:"more_ns,omitempty"`
	// MoreOf is what More compares: the time of threads, where both rungs have that, and else that
	// CPUs were busy, of both.
	MoreOf string `json:"more_of,omitempty"`

	mixed    bool       // it or the one above shows the time of threads, and the other cannot
	own, all []stat.Run // ns of a frame by threads, and by busy CPUs
	mode     stream.Mode
	cell     plan.Cell
}

// What [rung].MoreOf says.
const (
	ofThreads = "threads"
	ofBusy    = "busy"
)

// ladder is the rungs of cells that differ in nothing else, those above first.
type ladder []*rung

// ladders builds the ladders of the cells that move frames; none where no two rungs are of one
// ladder.
func ladders(groups []*cellRuns, cells []Cell) (out []ladder) {
	byRest := map[plan.CellKey]int{}
	for i, g := range groups {
		m, err := modes.Find(stream.RX, g.cell.RX)
		if err != nil || m.Kind != stream.Frame {
			continue
		}
		rest := g.cell
		rest.ID, rest.RX, rest.XDPAttach, rest.XDPTouch, rest.XDPRedirect = "", "", "", "", ""
		at, ok := byRest[rest.Key()]
		if !ok {
			at = len(out)
			byRest[rest.Key()], out = at, append(out, nil)
		}
		out[at] = append(out[at], g.rung(m, &cells[i]))
	}
	out = slices.DeleteFunc(out, func(l ladder) bool { return len(l) < 2 })
	for _, l := range out {
		l.climb()
	}
	return out
}

func (g *cellRuns) rung(m stream.Mode, c *Cell) *rung {
	r := &rung{Cell: g.cell.ID, Name: rungName(m, &g.cell), PacketsPerS: c.SUT.PacketsPerS, Busy: c.SUT.BusyCores,
		HeldBy: c.HeldBy, Slack: c.Slack, mode: m, cell: g.cell}
	var rates, cores, own, busy []float64
	threads := true // of all runs, or it says nothing of the cell
	for _, rec := range g.runs {
		if rec.Warmup || rec.Verdict != results.OK {
			continue
		}
		if v := rec.SUT.NsPerPacket(); v != nil {
			busy, r.all = append(busy, *v), append(r.all, compare.RunOf(rec, *v, g.session))
		}
		if v := rec.OwnNsPerPacket(); v != nil {
			cores = append(cores, *rec.OwnCores())
			own, r.own = append(own, *v), append(r.own, compare.RunOf(rec, *v, g.session))
		} else {
			threads = false
		}
		if v := rec.SUT.PacketsPerS; v != nil && *v > 0 {
			rates = append(rates, 1e9 / *v)
		}
	}
	r.RateNs, r.all, r.own = stat.Summarize(rates), compare.SameBoots(r.all), compare.SameBoots(r.own)
	if r.NsPerPacket = stat.Summarize(busy); threads {
		r.Own, r.NsPerPacket = stat.Summarize(cores), stat.Summarize(own)
	}
	return r
}

// rungName formats the name of a rung: "xdp-drop native read".
func rungName(m stream.Mode, c *plan.Cell) string {
	name := m.Name
	if m.Has(stream.XDP) {
		name += " " + attachOf(c)
	}
	for _, more := range []string{c.XDPTouch, c.XDPRedirect} {
		if more != "" {
			name += " " + more
		}
	}
	return name
}

func attachOf(c *plan.Cell) string { return cmp.Or(c.XDPAttach, stream.XDPAttaches[0]) }

// climb puts the rungs in order, and says how much more each costs than the one above.
func (l ladder) climb() {
	slices.SortStableFunc(l, func(a, b *rung) int {
		return cmp.Or(cmp.Compare(a.level(), b.level()), cmp.Compare(a.place(), b.place()))
	})
	for _, r := range l {
		above := l.above(r)
		if above == nil || len(above.all) == 0 || len(r.all) == 0 { // nothing was measured
			continue
		}
		s := stat.ShiftOf(above.all, r.all, stat.Between{})
		r.MoreOf = ofBusy
		if above.Own != nil && r.Own != nil {
			s, r.MoreOf = stat.ShiftOf(above.own, r.own, stat.Between{}), ofThreads
		}
		r.Above, r.More, r.mixed = above.Name, &s, (above.Own != nil) != (r.Own != nil)
	}
}

// level returns 0 in the driver, 1 where the stack begins, and 2 within it.
func (r *rung) level() int {
	below, _ := modes.Find(stream.RX, r.mode.Above)
	switch {
	case !r.mode.Has(stream.XDP) || r.mode.Above != "" && !below.Has(stream.XDP):
		return 2
	case attachOf(&r.cell) == stream.XDPAttaches[0]:
		return 0
	}
	return 1
}

// place returns the index of the rung's mode in the list of modes.
func (r *rung) place() int {
	return slices.IndexFunc(modes.All, func(m stream.Mode) bool {
		return m.Role == stream.RX &&
			m.Name == r.mode.Name
	})
}

// above finds the rung above one, if there is any: with the same touch where possible.
func (l ladder) above(r *rung) *rung {
	if r.mode.Above == "" && r.level() == 1 {
		return l.find(r, r.mode.Name, 0)
	}
	for name := r.mode.Above; name != ""; {
		for _, level := range []int{r.level(), 1, 0} {
			if a := l.find(r, name, level); a != nil {
				return a
			}
		}
		m, err := modes.Find(stream.RX, name)
		if err != nil {
			return nil
		}
		name = m.Above
	}
	return nil
}

func (l ladder) find(r *rung, name string, level int) (found *rung) {
	for _, x := range l {
		if x == r || x.mode.Name != name || x.level() != level {
			continue
		}
		if x.cell.XDPTouch == r.cell.XDPTouch {
			return x
		}
		found = cmp.Or(found, x)
	}
	return found
}

// Words formats the columns of the table.
func (r *rung) Words() []string {
	more := none
	if s := r.More; s != nil {
		more = signed(s.Diff)
		if s.Lo != nil && s.Hi != nil {
			more += fmt.Sprintf(" [%s..%s]", signed(*s.Lo), signed(*s.Hi))
		}
		if r.mixed {
			more += " " + r.MoreOf
		}
	}
	return []string{plaintext.Line(r.Name), median(r.PacketsPerS, kilo), median(r.NsPerPacket, digits3),
		interval(r.NsPerPacket, digits3), median(r.RateNs, digits3), r.busy(), more,
		cmp.Or(plaintext.Line(r.Above), none)}
}

// busy marks a CPU that had time left, or was others' too.
func (r *rung) busy() string {
	used := r.Own
	if used == nil {
		used = r.Busy
	}
	s := median(used, fixed2)
	if r.Slack != "" {
		s += " " + string(r.Slack)
	}
	return s
}

func signed(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	if v > 0 {
		s = "+" + s
	}
	return s
}

var ladderHead = []heading{
	{"rung", "", "<"},
	{"kpps", "median", ">"},
	{"ns/pkt", "median", ">"},
	{"95 % interval", "ns", ">"},
	{"1/rate", "ns", ">"},
	{"cores", "used", ">"},
	{"more than above", "ns/pkt", ">"},
	{"above", "", "<"},
}

func writeLadders(b *screen.Writer, all []ladder) {
	for _, l := range all {
		b.WriteString("\n")
		wrap(b, "", "", "The ladder: what a frame that ends at each rung costs the receiver's CPUs, and how much "+
			"more than at the rung above, with the 95 % interval (docs/xdp.md). "+
			"cores used: by the receiving threads, where threads receive. busy: not both rungs have thread "+
			"times, so the difference is of busy CPUs. 1/rate is not a frame's cost where these CPUs had time "+
			"left (idle) or were shared with others (shared). sender: the generator was the limit.")
		rows := [][]string{{}, {}}
		for _, h := range ladderHead {
			rows[0], rows[1] = append(rows[0], h.top), append(rows[1], h.unit)
		}
		for _, r := range l {
			rows = append(rows, r.Words())
		}
		if b.Columns() > 0 {
			t := tableOf(ladderHead, rows[:2])
			for _, r := range rows[2:] {
				t.Row(r...)
			}
			t.Write(b)
			continue
		}
		widths, gap := layout(ladderHead, rows)
		for _, r := range rows {
			writeRow(b, ladderHead, r, widths, gap)
		}
	}
}
