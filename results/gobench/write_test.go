// SPDX-License-Identifier: MIT

package gobench

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

const _ = kind.Pure

// What is written is what the format's own reader reads.
func TestWrite(t *testing.T) {
	var ok, warm, bad results.Record
	for _, r := range []*results.Record{&ok, &warm, &bad} {
		r.Verdict, r.Warmup = results.OK, false
		r.Cell = plan.Cell{ID: "x", RX: "uring", TX: "uring zc/1", MTU: 4148, GRO: new(true)}
		r.SUT = results.Host{ThroughputGbps: new(16.5), CPUBusyCores: new(0.75), Env: measure.Env{Kernel: "6.18.5",
			CPUModel: "Example\nCPU"}}
		r.TG = results.Host{}
	}
	warm.Warmup, bad.Verdict = true, results.Invalid
	var b bytes.Buffer
	if err := Write(&b, []results.Record{ok, warm, bad}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\nBenchmark"); n != 1 {
		t.Errorf("%d lines in\n%s", n, b.String())
	}
	units, found := 0, 0
	for r := benchfmt.NewReader(&b, "x"); r.Scan(); {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.UnitMetadata:
			units++
		case *benchfmt.Result:
			found++
			if got := rec.Name.String(); got != "Flow/rx=uring/tx=uring_zc_1/gro=on/mtu=4148" {
				t.Errorf("name %s", got)
			}
			if v, ok := rec.Value("Gbit/s"); !ok || v != 16.5 {
				t.Errorf("throughput %v", v)
			}
			if v, ok := rec.Value("sut-cores"); !ok || v != 0.75 {
				t.Errorf("cores %v", v)
			}
			if _, ok := rec.Value("tg-cores"); ok {
				t.Error("a figure that was not measured")
			}
			if got := rec.GetConfig("cpu"); got != "Example CPU" || rec.GetConfig("kernel") != "6.18.5" {
				t.Errorf("cpu %q", got)
			}
		}
	}
	if found != 1 || units != len(benchUnits) {
		t.Errorf("%d results, %d units", found, units)
	}
}

// Of several flows the least and Jain's index stand beside the sum; one flow has neither.
func TestWriteFlows(t *testing.T) {
	run := func(rates ...float64) results.Record {
		r := results.Record{Verdict: results.OK, Cell: plan.Cell{RX: "tcp", TX: "tcp", Flows: len(rates)}}
		r.SUT.ThroughputGbps = new(10.)
		for _, v := range rates {
			r.SUT.Flows = append(r.SUT.Flows, results.Flow{ThroughputGbps: new(v)})
		}
		return r
	}
	var b bytes.Buffer
	if err := Write(&b, []results.Record{run(10), run(2, 2, 6)}); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		least, jain float64
		ok          bool
	}{{0, 0, false}, {2, 100. / (3 * 44), true}}
	found := 0
	for r := benchfmt.NewReader(&b, "x"); r.Scan(); {
		rec, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		least, ok1 := rec.Value("least-flow-Gbit/s")
		jain, ok2 := rec.Value("flows-Jain")
		if w := want[found]; ok1 != w.ok || ok2 != w.ok || least != w.least || math.Abs(jain-w.jain) > 1e-12 {
			t.Errorf("%s: least %v, Jain %v; want %+v", rec.Name, least, jain, w)
		}
		found++
	}
	if found != len(want) {
		t.Errorf("%d results", found)
	}
}
