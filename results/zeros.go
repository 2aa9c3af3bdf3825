// SPDX-License-Identifier: MIT

package results

import (
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
)

// moved are the metrics that any of some runs has a row of.
type moved struct {
	names *nameSet
	first map[string]measure.Metric
}

// movedIn finds them; where no run says what did not move there is nothing to fill in.
func movedIn(recs []Record) *moved {
	all := &moved{newNameSet(), map[string]measure.Metric{}}
	if !slices.ContainsFunc(recs, func(r Record) bool { return len(r.SUT.Idle)+len(r.TG.Idle) > 0 }) {
		return all
	}
	for i := range recs {
		for _, h := range []*Host{&recs[i].SUT, &recs[i].TG} {
			for _, m := range h.Metrics {
				if _, known := all.first[m.Name]; !known && len(m.Of) == 0 {
					all.first[m.Name] = m
					all.names.add(m.Name)
				}
			}
		}
	}
	return all
}

// zeros makes rows for what moved elsewhere and, as this host says, not here.
func (all *moved) zeros(h *Host) (out []measure.Metric) {
	if len(all.first) == 0 {
		return nil
	}
	var names []string
	for _, f := range h.Idle {
		names = all.names.among(names, f)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) { // whoever wrote the journal may say things twice
		m := all.first[name]
		zero := measure.Metric{Name: m.Name, Unit: m.Unit, Source: m.Source}
		if m.PerSecond != nil {
			zero.PerSecond = new(float64)
		}
		if m.PerPacket != nil {
			zero.PerPacket = new(float64)
		}
		out = append(out, zero)
	}
	return out
}
