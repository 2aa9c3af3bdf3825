// SPDX-License-Identifier: MIT

package report

import (
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Probed is what probes saw of one end of a cell (docs/probes.md): medians
// over its ok runs. A nil figure was not measured.
type Probed struct {
	Stages   []results.Stage   `json:"stages,omitempty"` // in the order of a packet's way
	T0       string            `json:"t0,omitempty"`     // where the stages' times begin
	Calls    []results.Syscall `json:"syscalls,omitempty"`
	Counters []counter         `json:"counters,omitempty"`
	Drops    []results.Drop    `json:"drops,omitempty"` // most packets first
	Lost     *Lost             `json:"lost_segments,omitempty"`
	Flow     []measure.Series  `json:"flow,omitempty"` // of one run, thinned
	Profile  *profile          `json:"profile,omitempty"`
}

// Lost are the segments of its flow that a sender sent and that did not come, medians over the
// runs.
type Lost struct {
	Segments     float64 `json:"lost"`
	Unattributed float64 `json:"unattributed"` // of them, or beyond them where it is below 0
}

// lostOf joins the runs whose account is known; nil: none is.
func lostOf(runs []*results.Record, host func(*results.Record) *results.Host) *Lost {
	var lost, left []float64
	for _, r := range runs {
		p := host(r).Probes
		if p == nil || p.Drops == nil || p.Drops.Segments == nil {
			continue
		}
		if s := p.Drops.Segments; s.Lost != nil && s.Unattributed != nil {
			lost, left = append(lost, *s.Lost), append(left, *s.Unattributed)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return &Lost{*medianOf(lost), *medianOf(left)}
}

// counter is one counter of the receive path.
type counter struct {
	results.Counter
	PerMB *float64 `json:"per_mb"`
}

// Figures returns the figures of the counter.
func (c *counter) Figures() []results.ProbeFigure {
	return []results.ProbeFigure{{Value: &c.Value}, {Value: &c.PerMB}}
}

// bounded leaves out medians of least and most times that are of other runs than that of the
// average, because some runs do not know theirs, where that shows.
func bounded(c *results.Syscall) {
	if c.Avg != nil && (c.Min != nil && *c.Min > *c.Avg || c.Max != nil && *c.Max < *c.Avg) {
		c.Min, c.Max = nil, nil
	}
}

// probed joins what the probes saw of one end; nil if there were none.
func probed(runs []*results.Record, host func(*results.Record) *results.Host) *Probed {
	var p Probed
	for _, r := range runs {
		h := host(r)
		if h.Probes == nil {
			continue
		}
		p.Stages, p.Calls = append(p.Stages, h.Probes.Stages...), append(p.Calls, h.Probes.Calls...)
		for _, c := range h.Probes.Counters {
			p.Counters = append(p.Counters, counter{c, perMB(c.Value, h.Bytes)})
		}
		if p.Flow == nil {
			p.Flow = h.Probes.Flow
		}
		if h.Probes.T0 != "" {
			p.T0 = h.Probes.T0
		}
	}
	p.Drops, p.Lost = dropMedians(runs, host), lostOf(runs, host)
	p.Profile = profileOf(runs, host)
	if len(p.Stages)+len(p.Calls)+len(p.Counters)+len(p.Drops)+len(p.Flow) == 0 && p.Profile == nil && p.Lost == nil {
		return nil
	}
	p.Stages = medians(p.Stages, func(s results.Stage) string { return s.Name })
	p.Calls = medians(p.Calls, func(c results.Syscall) string { return c.Name })
	for i := range p.Calls {
		bounded(&p.Calls[i])
	}
	p.Counters = medians(p.Counters, func(c counter) string { return c.Name })
	slices.SortStableFunc(p.Calls, func(a, b results.Syscall) int { // the data path's first
		switch {
		case a.OfRuntime() == b.OfRuntime():
			return compareDown(a.Total, b.Total)
		case b.OfRuntime():
			return -1
		}
		return 1
	})
	return &p
}

// dropMedians computes the median drops of the runs that were checked for them: one that a run does
// not have was not dropped there.
func dropMedians(runs []*results.Record, host func(*results.Record) *results.Host) []results.Drop {
	var each []map[string]results.Drop
	var all []results.Drop // each once, in the order in which they first came
	for _, r := range runs {
		h := host(r)
		if h.Probes == nil || h.Probes.Drops == nil {
			continue
		}
		in := map[string]results.Drop{}
		for _, d := range h.Probes.Drops.Places {
			in[d.Key()] = d
			if !slices.ContainsFunc(all, func(x results.Drop) bool { return x.Key() == d.Key() }) {
				all = append(all, d)
			}
		}
		each = append(each, in)
	}
	var of []results.Drop
	for _, d := range all {
		for _, in := range each {
			one, dropped := in[d.Key()]
			if !dropped {
				one = results.Drop{Reason: d.Reason, Function: d.Function, Packets: new(0.0), SKBs: new(0.0),
					Flow: new(0.0)}
			}
			one.Where = d.Where
			of = append(of, one)
		}
	}
	of = medians(of, func(d results.Drop) string { return d.Key() })
	slices.SortStableFunc(of, func(a, b results.Drop) int { return compareDown(a.Packets, b.Packets) })
	return of
}

func perMB(v *float64, bytes *uint64) *float64 {
	if v == nil || bytes == nil || *bytes == 0 {
		return nil
	}
	return new(*v / (float64(*bytes) / 1e6))
}

// medians makes one of all that have a name, with the median of each figure, in the
// order they first came.
func medians[T any, P interface {
	*T
	Figures() []results.ProbeFigure
}](all []T, name func(T) string) (out []T) {
	for len(all) > 0 {
		one, same, rest := all[0], []T(nil), []T(nil)
		for _, x := range all {
			if name(x) == name(one) {
				same = append(same, x)
			} else {
				rest = append(rest, x)
			}
		}
		for k, f := range P(&one).Figures() {
			var v []float64
			for i := range same {
				if x := *P(&same[i]).Figures()[k].Value; x != nil {
					v = append(v, *x)
				}
			}
			*f.Value = medianOf(v)
		}
		out, all = append(out, one), rest
	}
	return out
}

func compareDown(a, b *float64) int {
	switch {
	case a == nil || b == nil || *a == *b:
		return 0
	case *a > *b:
		return -1
	}
	return 1
}

func medianOf(v []float64) *float64 {
	if s := stat.Summarize(v); s != nil {
		return &s.Median
	}
	return nil
}
