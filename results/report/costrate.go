// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// costRate is what a GB of payload costs an end, over the rate at which it is delivered: a curve
// for each of its modes, whose last point is what the mode does without a pace.
type costRate struct {
	Role   ends.Role   `json:"role"`
	Curves []rateCurve `json:"curves"`
	// Crossings are of each two curves that differ in the mode alone, and that can be chosen.
	Crossings []crossing `json:"crossings,omitempty"`
	// Unit is what means and intervals are of: boots, starts or runs; Within names those that all
	// are confined to, where they are few.
	Unit   string `json:"unit"`
	Within string `json:"within,omitempty"`
	Few    bool   `json:"few,omitempty"` // a cell has too few of these for an interval

	alone bool // the cells differ in this end's mode: the chart is one of the page's first
	more  int  // curves that are left out: there are too many
}

// rateCurve is a mode's.
type rateCurve struct {
	Name   string      `json:"name"`
	Points []ratePoint `json:"points"` // in the order of their rates
	// Missed are the points that did not reach their pace: what they cost is of the rate that they
	// held.
	Missed []ratePoint `json:"missed,omitempty"`
	// Bound says that the application never gets the payload: nobody can choose it.
	Bound bool `json:"bound,omitempty"`

	cell *plan.Cell
	of   []stat.Point // beside the points
}

// ratePoint is a cell.
type ratePoint struct {
	Cell     string   `json:"cell"`
	Pace     string   `json:"pace"`                // none: its rate is its capacity
	PaceGbps *float64 `json:"pace_gbps,omitempty"` // the mean, where calibrations gave several
	Runs     int      `json:"runs"`
	Units    int      `json:"units"`
	Missed   int      `json:"runs_missed,omitempty"` // slower than their pace by more than 1 %
	// HeldBy is what kept a cell without a pace from being faster, where that was not this end: its
	// capacity is at least this.
	HeldBy plan.LimitedBy `json:"held_by,omitempty"`
	Gbps   spread         `json:"gbps"`
	Cost   spread         `json:"cpu_s_per_gb"`
	// Band are the sides of the box in which the point is, which hold together for all points of
	// the curve.
	Band *rateBand `json:"band,omitempty"`

	number int // of the cell, from 1
}

// spread is a mean and its 95 % interval; null where there are too few for one.
type spread struct {
	Mean float64  `json:"mean"`
	Lo   *float64 `json:"lo"`
	Hi   *float64 `json:"hi"`
}

type rateBand struct {
	GbpsLo float64 `json:"gbps_lo"`
	GbpsHi float64 `json:"gbps_hi"`
	CostLo float64 `json:"cpu_s_per_gb_lo"`
	CostHi float64 `json:"cpu_s_per_gb_hi"`
}

func spreadOf(m, lo, hi float64, known bool) spread {
	if !known {
		return spread{Mean: m}
	}
	return spread{m, &lo, &hi}
}

// capacity reports whether a point had no pace.
func (p *ratePoint) capacity() bool { return p.PaceGbps == nil }

// mostCurves is how many curves are drawn; report --json has all.
const mostCurves = 24

// costRatesOf makes the chart of each end: of the receiver's from the cells that differ in the
// receive mode, of the sender's from those that differ in the send mode. What has a pace is in
// both.
func costRatesOf(groups []*cellRuns, cells []Cell) (out []costRate) {
	for _, role := range ends.Roles {
		if c := costRateOf(role, groups, cells); c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// rateCell is a cell with what its runs say of an end.
type rateCell struct {
	number     int
	g          *cellRuns
	gbps, cost []stat.Run
	missed     int
	pace       float64 // Gbit/s, the mean; 0: none
}

func rateCellOf(number int, g *cellRuns, role ends.Role) (c rateCell, ok bool) {
	c.number, c.g = number, g
	if g.cell.RoundTrips() || g.cell.LossFree || g.cell.MovesPackets() && !g.cell.Paced() {
		return c, false
	}
	for _, r := range g.counted() {
		t, ns := r.SUT.ThroughputGbps, r.Host(role).NsPerKB()
		if t == nil || ns == nil {
			continue
		}
		c.gbps = append(c.gbps, compare.RunOf(r, *t, g.session))
		c.cost = append(c.cost, compare.RunOf(r, *ns/1000, g.session)) // ns per kB are ms per GB
		c.pace += float64(r.Cell.PaceRate()) / 1e9
		if r.MissedPace() {
			c.missed++
		}
	}
	if len(c.gbps) == 0 || g.cell.Paced() && c.pace == 0 {
		return c, false
	}
	c.pace /= float64(len(c.gbps))
	return c, true
}

func costRateOf(role ends.Role, groups []*cellRuns, cells []Cell) *costRate {
	var all []rateCell
	paced := false
	for i, g := range groups {
		if c, ok := rateCellOf(i+1, g, role); ok {
			all, paced = append(all, c), paced || c.pace > 0
		}
	}
	var of []*plan.Cell
	for i := range all {
		of = append(of, &all[i].g.cell)
	}
	own, other := partnered(of, role),
		partnered(of, map[ends.Role]ends.Role{ends.SUT: ends.TG, ends.TG: ends.SUT}[role])
	alone := slices.Contains(own, true)
	switch {
	case role == ends.TG && !alone && !paced:
		return nil // the receiver's chart has all cells
	case alone:
		var kept []rateCell
		for i, c := range all {
			if own[i] || role == ends.SUT && !other[i] {
				kept = append(kept, c)
			}
		}
		all = kept
	}
	if len(all) == 0 {
		return nil
	}
	out := &costRate{Role: role, alone: alone || role == ends.SUT}
	var runs [][]stat.Run
	for _, c := range all {
		runs = append(runs, c.cost)
	}
	units := stat.UnitsOf(runs...)
	out.Unit, out.Within = units.Name, units.Within(runs...)
	out.build(all, units, cells)
	out.cross()
	return out
}

// partnered reports for each cell whether another differs from it in the mode of an end and in
// nothing else that concerns all of them.
func partnered(cells []*plan.Cell, role ends.Role) []bool {
	var common []*plan.Option
	for i := range plan.Options {
		o := &plan.Options[i]
		if o.Name != "pace" && o.Name != modeOf[role] &&
			!slices.ContainsFunc(cells, func(c *plan.Cell) bool { return !o.MayConcern(c) }) {
			common = append(common, o)
		}
	}
	keys, modes := make([]string, len(cells)), map[string]map[string]bool{}
	for i, c := range cells {
		for _, o := range common {
			keys[i] += o.Raw(c) + "\x00"
		}
		if modes[keys[i]] == nil {
			modes[keys[i]] = map[string]bool{}
		}
		modes[keys[i]][modeAt(c, role)] = true
	}
	out := make([]bool, len(cells))
	for i := range cells {
		out[i] = len(modes[keys[i]]) > 1
	}
	return out
}

// modeOf names the option that is the mode of an end.
var modeOf = map[ends.Role]string{ends.SUT: "rx", ends.TG: "tx"}

func modeAt(c *plan.Cell, role ends.Role) string {
	if role == ends.TG {
		return c.TX
	}
	return c.RX
}

// build makes the curves.
func (r *costRate) build(all []rateCell, units stat.Units, cells []Cell) {
	at := map[plan.CellKey]int{}
	byCurve := [][]rateCell(nil)
	for _, c := range all {
		k := c.g.cell.AtPaceOf(plan.Cell{}).Key()
		if _, ok := at[k]; !ok {
			at[k] = len(byCurve)
			byCurve = append(byCurve, nil)
		}
		byCurve[at[k]] = append(byCurve[at[k]], c)
	}
	names := curveNames(byCurve, cells)
	for i, of := range byCurve {
		curve := rateCurve{Name: names[i], cell: &of[0].g.cell,
			Bound: r.Role == ends.SUT && of[0].g.set != nil && of[0].g.set.Discards()}
		for _, c := range of {
			p, point := c.point(r.Role, units)
			if p.Units < stat.MinRuns {
				r.Few = true
			}
			if c.pace > 0 && 2*c.missed > len(c.gbps) {
				curve.Missed = append(curve.Missed, p)
				continue
			}
			curve.Points, curve.of = append(curve.Points, p), append(curve.of, point)
		}
		curve.sort()
		curve.band()
		r.Curves = append(r.Curves, curve)
	}
}

// point makes a cell a point of its curve.
func (c *rateCell) point(role ends.Role, units stat.Units) (ratePoint, stat.Point) {
	of := stat.Point{X: units.Means(c.gbps), Y: units.Means(c.cost), FixedX: c.pace}
	b := stat.BoxOf(of, 1)
	p := ratePoint{Cell: c.g.cell.ID, number: c.number, Pace: plan.NoPace, Runs: len(c.gbps), Units: b.N,
		Missed: c.missed,
		Gbps:   spreadOf(b.X, b.XLo, b.XHi, b.Known), Cost: spreadOf(b.Y, max(0, b.YLo), b.YHi, b.Known)}
	if c.pace > 0 {
		p.Pace, p.PaceGbps = paceText(&c.g.cell), new(c.pace)
	} else if c.g.set != nil {
		p.HeldBy = c.g.set.HeldBy(map[ends.Role]plan.LimitedBy{ends.SUT: plan.ByReceiver, ends.TG: plan.BySender}[role],
			plan.ByPace)
	}
	return p, of
}

// paceText is the pace as it was asked for.
func paceText(c *plan.Cell) string {
	if raw := plan.RawPace(c); strings.HasSuffix(raw, "%") {
		return raw
	}
	return short(float64(c.PaceRate())/1e9) + " Gbit/s"
}

// sort orders points by their rates.
func (c *rateCurve) sort() {
	order := make([]int, len(c.Points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(c.Points[a].Gbps.Mean, c.Points[b].Gbps.Mean)
	})
	points, of := make([]ratePoint, len(order)), make([]stat.Point, len(order))
	for i, k := range order {
		points[i], of[i] = c.Points[k], c.of[k]
	}
	c.Points, c.of = points, of
	slices.SortStableFunc(c.Missed, func(a, b ratePoint) int { return cmp.Compare(*a.PaceGbps, *b.PaceGbps) })
}

// band gives the points the boxes that hold together, where all of them have enough units.
func (c *rateCurve) band() {
	boxes := stat.Band(c.of)
	if slices.ContainsFunc(boxes, func(b stat.Box) bool { return !b.Known }) {
		return
	}
	for i, b := range boxes {
		c.Points[i].Band = &rateBand{b.XLo, b.XHi, max(0, b.YLo), b.YHi}
	}
}

// curveNames finds the shortest names that tell curves apart: one end's mode where the other's are
// all one, and what else differs.
func curveNames(curves [][]rateCell, cells []Cell) []string {
	var firsts []Cell
	rx, tx := map[string]bool{}, map[string]bool{}
	for _, of := range curves {
		c := of[0].g.cell
		firsts = append(firsts, Cell{Cell: c})
		rx[c.RX], tx[c.TX] = true, true
	}
	under := settings(firsts, "pace")
	out := make([]string, len(curves))
	for i, c := range firsts {
		switch {
		case len(tx) == 1:
			out[i] = c.Cell.RX
		case len(rx) == 1:
			out[i] = c.Cell.TX
		default:
			out[i] = c.Cell.RX + " ← " + c.Cell.TX
		}
		if under[i] != "" {
			out[i] += ", " + under[i]
		}
		out[i] = plaintext.Line(out[i])
	}
	return out
}

// first cuts the chart to the first curves.
func (r costRate) first(most int) *costRate {
	if r.more = max(0, len(r.Curves)-most); r.more > 0 {
		r.Curves = r.Curves[:most]
		r.Crossings = slices.DeleteFunc(slices.Clone(r.Crossings), func(c crossing) bool { return c.b >= most })
	}
	return &r
}
