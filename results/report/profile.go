// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"slices"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// profile is where an end's busy time went in a cell (docs/profile.md): nanoseconds per kB of
// payload, per packet after GRO and per packet of the wire, over its ok runs, with intervals.
type profile struct {
	Event     string        `json:"event"`
	Busy      *stat.Summary `json:"busy_ns_per_kb"`
	Classes   []profilePart `json:"classes"`   // the largest first
	Functions []profilePart `json:"functions"` // likewise

	runs []string // that have one, by their ids
}

// profilePart is one class's, or one function's, part of it. A run in which it was not met has 0.
type profilePart struct {
	Name      string        `json:"name"`
	Where     string        `json:"where,omitempty"`
	Class     string        `json:"class,omitempty"`
	PerKB     *stat.Summary `json:"ns_per_kb"` // of its own
	PerPacket *stat.Summary `json:"ns_per_packet,omitempty"`
	PerWire   *stat.Summary `json:"ns_per_wire_packet,omitempty"`
	TotalKB   *stat.Summary `json:"total_ns_per_kb,omitempty"` // with what it called
}

// profileOf joins the profiles of one end; nil: there are none.
func profileOf(runs []*results.Record, host func(*results.Record) *results.Host) *profile {
	var all []*results.Profiled
	var ids []string
	for _, r := range runs {
		if p := host(r).Probes; p != nil && p.Profile != nil && p.Profile.Busy.SelfPerKB != nil {
			all, ids = append(all, p.Profile), append(ids, r.RunID)
		}
	}
	if len(all) == 0 {
		return nil
	}
	out := &profile{Event: all[0].Event, runs: ids}
	out.Busy = stat.Summarize(each(all, func(p *results.Profiled) *float64 { return p.Busy.SelfPerKB }))
	out.Classes = parts(all, func(p *results.Profiled) []results.ProfiledPart { return p.Classes })
	out.Functions = parts(all, func(p *results.Profiled) []results.ProfiledPart { return p.Functions })
	return out
}

// each collects a figure of all runs; where a run lacks it, it counts as 0.
func each(all []*results.Profiled, figure func(*results.Profiled) *float64) (v []float64) {
	for _, p := range all {
		if f := figure(p); f != nil {
			v = append(v, *f)
		} else {
			v = append(v, 0)
		}
	}
	return v
}

// parts joins the parts of the same name and account.
func parts(all []*results.Profiled, of func(*results.Profiled) []results.ProfiledPart) (out []profilePart) {
	type key struct{ name, where string }
	seen := map[key]bool{}
	onWire := !slices.ContainsFunc(all, func(p *results.Profiled) bool { return p.WirePackets == nil })
	for _, p := range all {
		for _, part := range of(p) {
			k := key{part.Name, part.Where}
			if seen[k] {
				continue
			}
			seen[k] = true
			figure := func(f func(*results.ProfiledPart) *float64) *stat.Summary {
				return stat.Summarize(each(all, func(p *results.Profiled) *float64 {
					i := slices.IndexFunc(of(p), func(x results.ProfiledPart) bool { return key{x.Name, x.Where} == k })
					if i < 0 {
						return nil
					}
					return f(&of(p)[i])
				}))
			}
			one := profilePart{Name: part.Name, Where: part.Where, Class: part.Class,
				PerKB: figure(func(x *results.ProfiledPart) *float64 { return x.SelfPerKB })}
			if part.SelfPerPacket != nil {
				one.PerPacket = figure(func(x *results.ProfiledPart) *float64 { return x.SelfPerPacket })
			}
			if onWire {
				one.PerWire = figure(func(x *results.ProfiledPart) *float64 { return x.SelfPerWire })
			}
			if part.TotalPerKB != nil {
				one.TotalKB = figure(func(x *results.ProfiledPart) *float64 { return x.TotalPerKB })
			}
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b profilePart) int {
		return cmp.Or(cmp.Compare(b.PerKB.Median, a.PerKB.Median), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Where, b.Where))
	})
	return out
}
