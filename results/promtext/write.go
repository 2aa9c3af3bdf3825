// SPDX-License-Identifier: MIT

// Package promtext writes results in Prometheus's text format, as node_exporter's textfile
// collector reads it.
package promtext

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// File is the export of a folder: the collector reads files of this ending alone.
const File = "runs.prom"

// Write writes gauges of each cell: the median of its ok runs and its 95 % interval of each figure,
// how many runs there are of each verdict, and when the last one began. folder tells results apart
// that are on one host. What was not measured has no sample. All units are base units.
func Write(w io.Writer, folder string, j results.Journal) error {
	e := exporter{at: map[string]*dto.MetricFamily{}, used: map[string]int{}, folder: label("folder", folder)}
	e.journal(&j)
	for _, g := range groups(&j) {
		e.cell(g)
	}
	for _, f := range e.families {
		if len(f.GetMetric()) == 0 {
			continue
		}
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return fmt.Errorf("write %s: %w", f.GetName(), err)
		}
	}
	return nil
}

type exporter struct {
	families []*dto.MetricFamily
	at       map[string]*dto.MetricFamily
	folder   *dto.LabelPair
	used     map[string]int // cells by their labels
}

// add adds a sample to a family, which comes into being with the first one.
func (e *exporter) add(name, help string, value float64, labels ...*dto.LabelPair) {
	f := e.at[name]
	if f == nil {
		f = &dto.MetricFamily{Name: new(name), Help: new(help), Type: dto.MetricType_GAUGE.Enum()}
		e.at[name] = f
		e.families = append(e.families, f)
	}
	labels = slices.DeleteFunc(labels, func(l *dto.LabelPair) bool { return l.GetValue() == "" }) // the same as none
	f.Metric = append(f.Metric, &dto.Metric{Label: append([]*dto.LabelPair{e.folder}, labels...),
		Gauge: &dto.Gauge{Value: &value}})
}

// mostLabel is how long a label's value may be, in bytes.
const mostLabel = 256

// label makes a label of plain text on one line; expfmt adds the format's own escapes.
func label(name, value string) *dto.LabelPair {
	value = plaintext.Line(value)
	if len(value) > mostLabel {
		value = plaintext.Line(value[:mostLabel])
	}
	return &dto.LabelPair{Name: &name, Value: &value}
}

func (e *exporter) journal(j *results.Journal) {
	var sut, tg measure.Env
	last := int64(0)
	for i := range j.Records {
		r := &j.Records[i]
		if r.SUT.Env.Hostname != "" {
			sut = r.SUT.Env
		}
		if r.TG.Env.Hostname != "" {
			tg = r.TG.Env
		}
		last = max(last, r.StartUTCNs)
	}
	h := &j.Header
	e.add("zcbench_results_info", "The results that the other metrics of this folder are of; always 1.", 1,
		label("session", h.SessionID), label("version", cmp.Or(h.ToolVersion, sut.ToolVersion)),
		label("sut", sut.Hostname), label("tg", tg.Hostname),
		label("sut_kernel", sut.Kernel), label("sut_driver", sut.Driver), label("sut_firmware", sut.Firmware))
	if h.CreatedUTCNs > 0 {
		e.add("zcbench_results_created_timestamp_seconds", "When the results were begun.", float64(h.CreatedUTCNs)/1e9)
	}
	if last > 0 {
		e.add("zcbench_results_last_run_timestamp_seconds", "When the steady window of the last run began.",
			float64(last)/1e9)
	}
	if n := len(j.Skipped); n > 0 {
		e.add("zcbench_results_unused_lines", "Lines of the journal that are torn or not to be used.", float64(n))
	}
}

// group is a cell with its runs, without warm-ups.
type group struct {
	cell plan.Cell
	runs []*results.Record
}

// groups sorts the runs by cell, in the order of the plan, then in that of the runs.
func groups(j *results.Journal) (out []*group) {
	at := map[plan.CellKey]*group{}
	var keys plan.Keys
	find := func(c *plan.Cell) *group {
		k := keys.Of(c)
		if at[k] == nil {
			at[k] = &group{cell: *c}
			out = append(out, at[k])
		}
		return at[k]
	}
	for i := range j.Header.Cells {
		find(&j.Header.Cells[i])
	}
	for i := range j.Records {
		if r := &j.Records[i]; !r.Warmup && r.Source == "" {
			g := find(&r.Cell)
			g.runs = append(g.runs, r)
		}
	}
	return out
}

// labels name a cell. Of several that would have the same ones, which Prometheus refuses, the later
// ones are numbered.
func (e *exporter) labels(c *plan.Cell) []*dto.LabelPair {
	id, rx, tx := label("cell", c.ID), label("rx_mode", c.RX), label("tx_mode", c.TX)
	key := keyOf(id, rx, tx)
	first := id.GetValue()
	for n := max(2, e.used[key]+1); e.used[keyOf(id, rx, tx)] > 0; n++ { // a cell may be called "x #2"
		id.Value, e.used[key] = new(fmt.Sprintf("%s #%d", first, n)), n
	}
	if k := keyOf(id, rx, tx); e.used[k] == 0 {
		e.used[k] = 1
	}
	return []*dto.LabelPair{id, rx, tx}
}

// keyOf joins the labels of a cell into a key: none has a line feed.
func keyOf(id, rx, tx *dto.LabelPair) string {
	return id.GetValue() + "\n" + rx.GetValue() + "\n" + tx.GetValue()
}

func (e *exporter) cell(g *group) {
	of := e.labels(&g.cell)
	counts := map[results.Verdict]int{}
	var ok []*results.Record
	for _, r := range g.runs {
		if counts[r.Verdict]++; r.Verdict == results.OK {
			ok = append(ok, r)
		}
	}
	for _, v := range []results.Verdict{results.OK, results.Invalid, results.Failed, results.Unsupported} {
		e.add("zcbench_runs", "Runs by verdict, without warm-ups.", float64(counts[v]),
			append(slices.Clone(of), label("verdict", string(v)))...)
	}
	for i := range figures {
		f := &figures[i]
		for _, role := range f.roles {
			var values []float64
			for _, r := range ok {
				if v := f.value(r, role); v != nil {
					values = append(values, *v*f.base)
				}
			}
			s := stat.Summarize(values)
			if s == nil {
				continue
			}
			labels := append(slices.Clone(of), label("role", string(role)))
			name := func(which string) string { return "zcbench_" + f.name + "_" + which + "_" + f.unit }
			e.add(name("median"), f.help+", median of the ok runs.", s.Median, slices.Clone(labels)...)
			if s.Lo != nil {
				e.add(name("lower"), f.help+", lower end of the 95 % interval of the median.", *s.Lo,
					slices.Clone(labels)...)
				e.add(name("upper"), f.help+", upper end of the 95 % interval of the median.", *s.Hi, labels...)
			}
		}
	}
}
