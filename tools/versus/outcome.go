// SPDX-License-Identifier: MIT

package main

import (
	"cmp"

	"github.com/zcbench/zcbench/results/stat"
)

// Outcome is a comparison with its runs. Ours[i] and Theirs[i] ran in one turn.
type Outcome struct {
	Comparison   Comparison
	Ours, Theirs []Measured
	Disturbed    int // pairs that count although others disturbed them
	group        *group
	ours, theirs int // which of the group's ways
	softirq      [2]softirqs
}

// add takes a pair that counts, ours and theirs.
func (o *Outcome) add(ours, theirs Measured, disturbed bool) {
	o.Ours, o.Theirs = append(o.Ours, ours), append(o.Theirs, theirs)
	if disturbed {
		o.Disturbed++
	}
	for side, m := range []Measured{ours, theirs} {
		for cpu, n := range m.softirq {
			o.softirq[side][cpu] += n
		}
	}
}

// summary is an outcome in figures, as --json prints it.
type summary struct {
	Comparison    string     `json:"comparison"`
	Layout        Layout     `json:"layout"`
	Ours          string     `json:"ours"`
	Theirs        string     `json:"theirs"`
	Pairs         int        `json:"pairs"`
	Repeated      int        `json:"pairs_repeated"`  // others disturbed their turns, which were run again
	Disturbed     int        `json:"pairs_disturbed"` // others disturbed them every time: counted all the same
	Throughput    figure     `json:"throughput_gbps"`
	CPU           figure     `json:"cpu_s_per_gb"` // both ends, with all their softirqs
	RxCPU         figure     `json:"rx_cpu_s_per_gb"`
	TxCPU         figure     `json:"tx_cpu_s_per_gb"` // no target: to explain the throughput
	OursSoftirq   string     `json:"ours_softirq"`
	TheirsSoftirq string     `json:"theirs_softirq"`
	Note          string     `json:"note,omitempty"`
	Unsupported   string     `json:"unsupported,omitempty"`
	OursRuns      []Measured `json:"ours_runs"`
	TheirsRuns    []Measured `json:"theirs_runs"`
}

// figure is one figure of both, and what becomes of its target.
type figure struct {
	Ours    float64     `json:"ours"` // medians
	Theirs  float64     `json:"theirs"`
	Ratio   stat.Paired `json:"ratio"`
	Target  stat.Target `json:"target"`
	Verdict stat.Answer `json:"verdict"`
}

// figures lists the figures that have targets, or could have, in the order of the table.
func (s *summary) figures() []*figure { return []*figure{&s.Throughput, &s.CPU, &s.RxCPU, &s.TxCPU} }

func (o *Outcome) summary() summary {
	c := o.Comparison
	s := summary{Comparison: c.Name, Layout: c.Layout, Ours: c.Ours.Name, Theirs: c.Theirs.Name, Pairs: len(o.Ours),
		Repeated: o.group.repeated, Disturbed: o.Disturbed,
		Note: c.Note, Unsupported: cmp.Or(o.group.lost[o.ours], o.group.lost[o.theirs]), OursRuns: o.Ours,
		TheirsRuns:  o.Theirs,
		OursSoftirq: o.softirq[0].String(), TheirsSoftirq: o.softirq[1].String()}
	s.Throughput = o.figure(c.Throughput, func(m Measured) float64 { return m.Gbps })
	s.CPU = o.figure(c.CPU, func(m Measured) float64 { return m.CPUPGB })
	s.RxCPU = o.figure(c.RxCPU, func(m Measured) float64 { return m.RxCPUPGB })
	s.TxCPU = o.figure(stat.Target{}, func(m Measured) float64 { return m.TxCPUPGB })
	return s
}

func (o *Outcome) figure(target stat.Target, of func(Measured) float64) figure {
	f := figure{Target: target}
	if len(o.Ours) > 0 {
		f.Ours, f.Theirs, f.Ratio = compare(o.Ours, o.Theirs, of)
	}
	f.Verdict = target.Judge(f.Ratio)
	return f
}

func compare(ours, theirs []Measured, figure func(Measured) float64) (a, b float64, r stat.Paired) {
	va, vb := make([]float64, len(ours)), make([]float64, len(theirs))
	for i := range ours {
		va[i], vb[i] = figure(ours[i]), figure(theirs[i])
	}
	return stat.Median(va), stat.Median(vb), stat.Pairs(va, vb)
}
