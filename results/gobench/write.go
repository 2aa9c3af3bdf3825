// SPDX-License-Identifier: MIT

// Package gobench writes results in the Go benchmark format, which benchstat reads.
package gobench

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// File is the export of a folder.
const File = "runs.bench"

// benchUnits are the figures of a run in the Go benchmark format.
var benchUnits = []struct {
	unit, better string
	value        func(*results.Record) *float64
}{
	{"Gbit/s", "higher", func(r *results.Record) *float64 { return r.SUT.ThroughputGbps }},
	{"sut-cores", "lower", func(r *results.Record) *float64 { return r.SUT.CPUBusyCores }},
	{"tg-cores", "lower", func(r *results.Record) *float64 { return r.TG.CPUBusyCores }},
	{"sut-ns/kB", "lower", func(r *results.Record) *float64 { return r.SUT.NsPerKB() }},
	{"tg-ns/kB", "lower", func(r *results.Record) *float64 { return r.TG.NsPerKB() }},
	{"sut-W", "lower", func(r *results.Record) *float64 { return r.SUT.PowerW }},
	{"tg-W", "lower", func(r *results.Record) *float64 { return r.TG.PowerW }},
	{"least-flow-Gbit/s", "higher", spread(func(s *results.FlowSpread) *float64 { return &s.Min })},
	{"flows-Jain", "higher", spread(func(s *results.FlowSpread) *float64 { return &s.Jain })},
}

// spread reads a figure of how far apart several flows are, which a single flow does not have.
func spread(figure func(*results.FlowSpread) *float64) func(*results.Record) *float64 {
	return func(r *results.Record) *float64 {
		if s := r.FlowSpread(); s != nil {
			return figure(s)
		}
		return nil
	}
}

// Write writes the runs: one line per run that is ok and no warm-up, with the cell as the
// benchmark's name. What was not measured is not there.
func Write(w io.Writer, recs []results.Record) error {
	b := benchfmt.NewWriter(w)
	for _, u := range benchUnits {
		if err := b.Write(&benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: u.unit, Key: "better"},
			OrigUnit: u.unit, Value: u.better}); err != nil {
			return err
		}
	}
	for i := range recs {
		res := benchResult(&recs[i])
		if res == nil {
			continue
		}
		if err := b.Write(res); err != nil {
			return err
		}
	}
	return nil
}

func benchResult(r *results.Record) *benchfmt.Result {
	if r.Verdict != results.OK || r.Warmup {
		return nil
	}
	res := &benchfmt.Result{Name: benchfmt.Name(benchName(&r.Cell)), Iters: 1}
	for _, u := range benchUnits {
		if v := u.value(r); v != nil {
			res.Values = append(res.Values, benchfmt.Value{Value: *v, Unit: u.unit})
		}
	}
	if len(res.Values) == 0 {
		return nil
	}
	for _, c := range []struct{ key, value string }{
		{"kernel", r.SUT.Env.Kernel}, {"cpu", r.SUT.Env.CPUModel}, {"driver", r.SUT.Env.Driver},
		{"zcbench", r.SUT.Env.ToolVersion},
	} {
		if c.value != "" {
			res.Config = append(res.Config, benchfmt.Config{Key: c.key, Value: []byte(oneLine(c.value)), File: true})
		}
	}
	return res
}

// benchName joins every factor that is set: "Flow/rx=tcp/tx=sendfile/gro=on".
func benchName(c *plan.Cell) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Flow/rx=%s/tx=%s", benchWord(c.RX), benchWord(c.TX))
	for _, f := range plan.Factors {
		if v := f.Value(c); f.Raw(c) != "" && v != plan.AsFound && (f.Name != "probe" || v != plan.NoProbe) {
			fmt.Fprintf(&b, "/%s=%s", f.Name, benchWord(v))
		}
	}
	return b.String()
}

// benchWord makes a text one that the format can hold in a name.
func benchWord(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) || unicode.IsControl(c) || c == '/' {
			return '_'
		}
		return c
	}, s)
}

func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, s)
}
