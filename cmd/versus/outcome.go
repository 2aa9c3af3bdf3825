// SPDX-License-Identifier: MIT

package main

import "github.com/zcbench/zcbench/results/stat"

// Outcome is a comparison with its runs. Ours[i] and Theirs[i] ran next to each
// other.
type Outcome struct {
	Comparison   Comparison
	Ours, Theirs []Measured
	Repeated     int    // pairs run again because others disturbed them
	Disturbed    int    // pairs that count although others disturbed them
	Unsupported  string // why it could not run
	softirq      [2]softirqs
}

func newOutcomes(cs []Comparison) []*Outcome {
	var os []*Outcome
	for _, c := range cs {
		os = append(os, &Outcome{Comparison: c, softirq: [2]softirqs{{}, {}}})
	}
	return os
}

// add takes a pair that counts, ours and theirs.
func (o *Outcome) add(pair [2]Measured, disturbed bool) {
	o.Ours, o.Theirs = append(o.Ours, pair[0]), append(o.Theirs, pair[1])
	if disturbed {
		o.Disturbed++
	}
	for side, m := range pair {
		for cpu, n := range m.softirq {
			o.softirq[side][cpu] += n
		}
	}
}

// summary is an outcome in figures, as --json prints it.
type summary struct {
	Comparison        string      `json:"comparison"`
	Ours              string      `json:"ours"`
	Theirs            string      `json:"theirs"`
	Pairs             int         `json:"pairs"`
	Repeated          int         `json:"pairs_repeated"`  // others disturbed them: run again
	Disturbed         int         `json:"pairs_disturbed"` // others disturbed them every time: counted all the same
	OursGbps          float64     `json:"ours_gbps"`       // medians
	TheirsGbps        float64     `json:"theirs_gbps"`
	Throughput        stat.Paired `json:"throughput_ratio"`
	ThroughputTarget  stat.Target `json:"throughput_target"`
	ThroughputVerdict stat.Answer `json:"throughput_verdict"`
	OursCPU           float64     `json:"ours_rx_cpu_s_per_gb"`
	TheirsCPU         float64     `json:"theirs_rx_cpu_s_per_gb"`
	CPU               stat.Paired `json:"rx_cpu_ratio"`
	CPUTarget         stat.Target `json:"rx_cpu_target"`
	CPUVerdict        stat.Answer `json:"rx_cpu_verdict"`
	TxCPU             stat.Paired `json:"tx_cpu_ratio"` // no target: to explain the throughput
	OursSoftirq       string      `json:"ours_softirq"`
	TheirsSoftirq     string      `json:"theirs_softirq"`
	Note              string      `json:"note,omitempty"`
	Unsupported       string      `json:"unsupported,omitempty"`
	OursRuns          []Measured  `json:"ours_runs"`
	TheirsRuns        []Measured  `json:"theirs_runs"`
}

func (o *Outcome) summary() summary {
	c, ours, theirs := o.Comparison, o.Ours, o.Theirs
	s := summary{Comparison: c.Name, Ours: c.Ours.Name, Theirs: c.Theirs.Name, Pairs: len(ours), Repeated: o.Repeated, Disturbed: o.Disturbed,
		Note: c.Note, Unsupported: o.Unsupported, ThroughputTarget: c.Throughput, CPUTarget: c.CPU, OursRuns: ours, TheirsRuns: theirs,
		OursSoftirq: o.softirq[0].String(), TheirsSoftirq: o.softirq[1].String()}
	if s.Pairs == 0 {
		s.ThroughputVerdict, s.CPUVerdict = c.Throughput.Judge(stat.Paired{}), c.CPU.Judge(stat.Paired{})
		return s
	}
	s.OursGbps, s.TheirsGbps, s.Throughput = compare(ours, theirs, func(m Measured) float64 { return m.Gbps })
	s.OursCPU, s.TheirsCPU, s.CPU = compare(ours, theirs, func(m Measured) float64 { return m.RxCPUPGB })
	_, _, s.TxCPU = compare(ours, theirs, func(m Measured) float64 { return m.TxCPUPGB })
	s.ThroughputVerdict, s.CPUVerdict = c.Throughput.Judge(s.Throughput), c.CPU.Judge(s.CPU)
	return s
}

func compare(ours, theirs []Measured, figure func(Measured) float64) (a, b float64, r stat.Paired) {
	va, vb := make([]float64, len(ours)), make([]float64, len(theirs))
	for i := range ours {
		va[i], vb[i] = figure(ours[i]), figure(theirs[i])
	}
	return stat.Median(va), stat.Median(vb), stat.Pairs(va, vb)
}
