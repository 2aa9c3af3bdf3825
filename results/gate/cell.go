// SPDX-License-Identifier: MIT

package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Least numbers of runs from which a cell is judged.
const (
	minForCV    = 3
	minForDrift = stat.MinRuns
)

// Apply judges the cells of a journal by the gates of its plan: where one does not
// hold, the cell's ok runs become invalid with the reason. The records are changed
// in place; the file is not. A journal without a plan has no such gates.
func Apply(j *results.Journal) {
	if j.Header.Plan == nil {
		return
	}
	cells := map[results.CellKey][]*results.Record{}
	for i := range j.Records {
		if r := &j.Records[i]; r.Verdict == results.OK && !r.Warmup {
			cells[r.Cell.Key()] = append(cells[r.Cell.Key()], r)
		}
	}
	for _, runs := range cells {
		f := cell(j.Header.Plan.Gates, runs)
		if f == nil {
			continue
		}
		for _, r := range runs {
			r.Verdict, r.Reason, r.Fix = results.Invalid, f.reason, f.fix
		}
	}
}

// Read reads a journal and applies its gates.
func Read(path string) (results.Journal, error) {
	j, err := results.Read(path)
	if err == nil {
		Apply(&j)
	}
	return j, err
}

// ReadFigures is [Read] without the metrics and series of the hosts, which no
// table needs.
func ReadFigures(path string) (results.Journal, error) {
	j, err := results.ReadFigures(path)
	if err == nil {
		Apply(&j)
	}
	return j, err
}

func cell(g results.Gates, runs []*results.Record) *failure {
	for _, f := range []*failure{
		spreadGate(runs, "throughput", g.ThroughputCV, func(r *results.Record) *float64 { return r.SUT.ThroughputGbps }),
		spreadGate(runs, "busy cores of the SUT", g.CPUCV, func(r *results.Record) *float64 { return r.SUT.CPUBusyCores }),
		spreadGate(runs, "busy cores of the TG", g.CPUCV, func(r *results.Record) *float64 { return r.TG.CPUBusyCores }),
		drift(g, runs),
		frequency(g, runs),
		temperature(g, runs),
	} {
		if f != nil {
			return f
		}
	}
	return nil
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

func spreadGate(runs []*results.Record, what string, limit *float64, of func(*results.Record) *float64) *failure {
	v := values(runs, of)
	if limit == nil || len(v) < minForCV {
		return nil
	}
	if cv := stat.CV(v); cv != nil && *cv > *limit {
		return &failure{fmt.Sprintf("the %s of the cell's %d runs varies by %.1f %% (CV, limit %g %%)", what, len(v), 100**cv, 100**limit),
			"quiet the hosts (governor, other load, IRQ balance), measure longer, or accept it with a higher gate"}
	}
	return nil
}

// drift: the throughput follows the order of the runs, and by how much matters.
func drift(g results.Gates, runs []*results.Record) *failure {
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
	return &failure{fmt.Sprintf("the throughput drifts with the order of the runs: %+.1f %% from the first to the second half (limit %g %%; Spearman %.2f, p = %.3f)",
		100*change, 100**g.Drift, d.Rho, d.P), "let the hosts warm up, fix the CPU frequency, look for what changes over time"}
}

func frequency(g results.Gates, runs []*results.Record) *failure {
	return hostRange(runs, (*results.Host).MHz, g.Frequency, func(lo, median, hi float64) (float64, string) {
		return (hi - lo) / median, fmt.Sprintf("the CPU frequency is %.0f to %.0f MHz over the cell's runs", lo, hi)
	}, "fix it: governor performance, no turbo, enough cooling")
}

func temperature(g results.Gates, runs []*results.Record) *failure {
	return hostRange(runs, func(h *results.Host) *float64 { return h.CPUTempC }, g.TemperatureC, func(lo, _, hi float64) (float64, string) {
		return hi - lo, fmt.Sprintf("the CPU is at %.1f to %.1f degrees C over the cell's runs", lo, hi)
	}, "let the hosts warm up before the first run: a longer warmup_duration")
}

func hostRange(runs []*results.Record, of func(*results.Host) *float64, limit *float64, judge func(lo, median, hi float64) (float64, string), fix string) *failure {
	if limit == nil {
		return nil
	}
	for _, role := range results.Roles {
		v := values(runs, func(r *results.Record) *float64 { return of(r.Host(role)) })
		if len(v) < minForCV {
			continue
		}
		lo, hi := slices.Min(v), slices.Max(v)
		if width, text := judge(lo, stat.Summarize(v).Median, hi); width > *limit {
			return &failure{fmt.Sprintf("%s: %s (limit %g)", role.Label(), text, *limit), fix}
		}
	}
	return nil
}
