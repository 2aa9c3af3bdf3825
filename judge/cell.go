// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Least numbers of runs from which a cell is judged.
const (
	minForCV    = 3
	minForDrift = stat.MinRuns
)

// Apply judges the cells of a journal by the gates of its plan. Where the runs of a cell vary,
// drift or warm up by more than a limit, they are flagged, and count; where the limit was asked
// for, they become invalid. A run at another CPU frequency than the others of its cell is flagged.
// The records are changed in place; the file is not. A journal without a plan has no such gates.
// Runs of whose block something else spoilt another run do not count, whoever planned them.
func Apply(j *results.Journal) {
	Settle(j.Records)
	if j.Header.Plan == nil {
		return
	}
	g := j.Header.Plan.Gates
	cells, keys := map[plan.CellKey][]*results.Record{}, plan.Keys{}
	for i := range j.Records {
		r := &j.Records[i]
		if r.Verdict != results.OK || r.Warmup {
			continue
		}
		k := keys.Of(&r.Cell)
		cells[k] = append(cells[k], r)
	}
	for _, runs := range cells {
		for _, rule := range rules {
			if rule.each != nil {
				rule.each(g, runs)
			}
		}
		for _, f := range cell(g, runs) {
			outcome(g, f, runs...)
		}
	}
}

// Read reads the journal of a folder and applies its gates.
func Read(in *results.Folder) (results.Journal, error) {
	j, err := in.Read()
	if err == nil {
		Apply(&j)
	}
	return j, err
}

// ReadFigures reads what [Read] does, without the hosts' metrics and series, which no table needs.
func ReadFigures(in *results.Folder) (results.Journal, error) {
	j, err := in.ReadFigures()
	if err == nil {
		Apply(&j)
	}
	return j, err
}

// cell checks the limits that concern a cell as a whole, and lists those that its runs exceed.
func cell(g plan.Gates, runs []*results.Record) (out []*failure) {
	for _, rule := range rules {
		if rule.cell == nil {
			continue
		}
		if f := rule.cell(g, runs); f != nil {
			out = append(out, f)
		}
	}
	return out
}

func throughputCV(g plan.Gates, runs []*results.Record) *failure {
	return spreadGate(runs, "throughput_cv", "throughput", g.ThroughputCV,
		func(r *results.Record) *float64 { return r.SUT.ThroughputGbps })
}

func sutCPUCV(g plan.Gates, runs []*results.Record) *failure {
	return spreadGate(runs, "cpu_cv", "busy cores of the SUT", g.CPUCV,
		func(r *results.Record) *float64 { return r.SUT.CPUBusyCores })
}

func tgCPUCV(g plan.Gates, runs []*results.Record) *failure {
	return spreadGate(runs, "cpu_cv", "busy cores of the TG", g.CPUCV,
		func(r *results.Record) *float64 { return r.TG.CPUBusyCores })
}

func values(runs []*results.Record, of func(*results.Record) *float64) []float64 {
	var out []float64
	for _, r := range runs {
		if v := of(r); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

func spreadGate(runs []*results.Record, key, what string, limit *float64, of func(*results.Record) *float64) *failure {
	v := values(runs, of)
	if limit == nil || len(v) < minForCV {
		return nil
	}
	if cv := stat.CV(v); cv != nil && *cv > *limit {
		return &failure{key, fmt.Sprintf("the %s of the cell's %d runs varies by %.1f %% (CV, limit %g %%)", what,
			len(v), 100**cv, 100**limit),
			"quiet the hosts (governor, other load, irqbalance), measure longer, or leave the gate out: then the " +
				"runs count, but are flagged"}
	}
	return nil
}

// drift: the throughput follows the order of the runs, and by how much matters.
func drift(g plan.Gates, runs []*results.Record) *failure {
	v := values(runs, func(r *results.Record) *float64 { return r.SUT.ThroughputGbps })
	if g.Drift == nil || len(v) < minForDrift {
		return nil
	}
	d := stat.Spearman(v)
	if d == nil || d.P >= stat.Alpha {
		return nil
	}
	half := len(v) / 2
	before, after, all := stat.Summarize(v[:half]), stat.Summarize(v[len(v)-half:]), stat.Summarize(v)
	change := (after.Median - before.Median) / all.Median
	if math.Abs(change) <= *g.Drift {
		return nil
	}
	return &failure{"drift", fmt.Sprintf("the throughput drifts with the order of the runs: %+.1f %% from the "+
		"first to the second half (limit %g %%; Spearman %.2f, p = %.3f)",
		100*change, 100**g.Drift, d.Rho, d.P),
		"let the hosts warm up, fix the CPU frequency, look for what changes over time"}
}

// temperature: the machine was as warm in all of a cell's runs.
func temperature(g plan.Gates, runs []*results.Record) *failure {
	if g.TemperatureC == nil {
		return nil
	}
	for _, role := range ends.Roles {
		v := values(runs, func(r *results.Record) *float64 { return r.Host(role).CPUTempC })
		if len(v) < minForCV {
			continue
		}
		if lo, hi := slices.Min(v), slices.Max(v); hi-lo > *g.TemperatureC {
			return &failure{"temperature_c",
				fmt.Sprintf("%s: the CPU is at %.1f to %.1f degrees C over the cell's runs (limit %g)", role.Label(),
					lo, hi, *g.TemperatureC),
				"let the hosts warm up before the first run: use a longer warmup_duration"}
		}
	}
	return nil
}
