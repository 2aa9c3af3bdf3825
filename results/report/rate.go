// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// pace is the rate that a cell's runs were to keep to, and whether they did.
type pace struct {
	BitsPS []int `json:"bits_ps"` // of payload; of runs with several calibrations several
	Runs   int   `json:"runs"`    // that were paced
	Missed int   `json:"missed"`  // of those, by more than 1 %
}

// paceOf looks at the ok runs of a cell; nil: none was paced.
func paceOf(runs []*results.Record) *pace {
	var p *pace
	for _, r := range runs {
		if r.Cell.PaceRate() == 0 {
			continue
		}
		if p == nil {
			p = &pace{}
		}
		if p.Runs++; r.OffPace() {
			p.Missed++
		}
		if !slices.Contains(p.BitsPS, r.Cell.PaceRate()) {
			p.BitsPS = append(p.BitsPS, r.Cell.PaceRate())
		}
	}
	return p
}

// leaveROI takes the returns from a cell that has none: see [plan.Cell.Returns].
func (c *Cell) leaveROI() {
	if c.Pace == nil && c.Cell.Returns() {
		return
	}
	for _, e := range []*End{&c.SUT, &c.TG} {
		e.ROICPU, e.ROIPower = nil, nil
	}
}

// unpaced drops the cells that were paced, whose sum of flows was asked for, and those that move
// packets.
func unpaced(groups []*cellRuns) []*cellRuns {
	return slices.DeleteFunc(slices.Clone(groups), func(g *cellRuns) bool {
		return g.cell.Paced() || g.cell.MovesPackets()
	})
}

// returning selects the cells that have a return.
func returning(groups []*cellRuns) []*cellRuns {
	return slices.DeleteFunc(slices.Clone(groups), func(g *cellRuns) bool { return !g.cell.Returns() })
}

// returnless lists which cells have no return, and why; "" where all have one.
func (s *Summary) returnless() string {
	var of []string
	add := func(what string, is func(*Cell) bool) {
		if slices.ContainsFunc(s.Cells, func(c Cell) bool { return is(&c) }) {
			of = append(of, what)
		}
	}
	add("of paced cells: it would say how fast their pace was", func(c *Cell) bool { return c.Pace != nil })
	add("of packets and round trips: it is of bytes", func(c *Cell) bool {
		return c.Cell.MovesPackets() ||
			c.Cell.RoundTrips()
	})
	if of == nil {
		return ""
	}
	return "no ROI " + strings.Join(of, "; nor ")
}

// deliveryP99 returns by when 99 of 100 pieces of a paced flow had arrived; nil: they were not
// timed.
func deliveryP99(h *results.Host) *float64 {
	if h.Delivery == nil {
		return nil
	}
	return h.Delivery.P99Us
}

// offPace counts, for a cell's verdict, the runs that missed their pace; "" where none did.
func (p *pace) offPace() string {
	if p == nil || p.Missed == 0 {
		return ""
	}
	return fmt.Sprintf("%d off pace", p.Missed)
}

// calibrations collects the calibrations of the families that a plan's cells fall into.
func calibrations(j *results.Journal) (out []*results.Calibration) {
	var about []string
	if j.Header.Plan != nil {
		about = j.Header.Plan.About
	}
	keys, of := results.CalibrateEach(j.Records, compare.Family(j.Header.Cells, about))
	for _, k := range keys {
		if of[k] != nil {
			out = append(out, of[k])
		}
	}
	return out
}

// calibrates reports whether a run was made to learn what shares of a pace refer to: it belongs to
// no cell of the plan.
func calibrates(r *results.Record) bool { return slices.Contains(r.Flags, results.FlagCalibration) }
