// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"slices"
)

// Bounds of what a report shows. A journal may have 20,000 cells, and nobody reads a page of them:
// the CSV files, and report --json, have all.
const (
	mostCompared = 4_000 // pairs of cells
	mostDrawn    = 1_000 // cells of a plot
	mostShown    = 2_000 // of a table of the page
)

// firstOf warns that not all cells are shown.
func firstOf(most, all int) string {
	if all <= most {
		return ""
	}
	return fmt.Sprintf("These are the first %d of %d cells: zcbench report --json has all.", most, all)
}

// first cuts the summary to the first cells.
func (s *Summary) first(most int) *Summary {
	p := *s
	p.Cells, p.Costs, p.Trips, p.LossFree = upTo(s.Cells, most), upTo(s.Costs, 2*most), upTo(s.Trips, most),
		upTo(s.LossFree, most)
	p.Along, p.Ladders = upTo(s.Along, most), upTo(s.Ladders, most)
	if s.ROI != nil {
		r := *s.ROI
		r.Cells = upTo(r.Cells, most)
		p.ROI = &r
	}
	p.Flows = upTo(slices.Clone(s.Flows), most)
	for i := range p.Flows {
		p.Flows[i].Cells = upTo(p.Flows[i].Cells, most)
	}
	return &p
}

func upTo[T any](all []T, most int) []T { return all[:min(len(all), most)] }
