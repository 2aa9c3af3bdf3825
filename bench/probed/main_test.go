package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// Runs of the same block are compared, whatever the order of the records; runs
// that are not ok, and warm-ups, are not.
func TestCosts(t *testing.T) {
	var j results.Journal
	add := func(probe string, rep int, gbps float64, change func(*results.Record)) {
		r := results.Record{Cell: results.Cell{RX: "tcp", TX: "tcp", Probe: probe}, Rep: rep, Verdict: results.OK}
		r.SUT.ThroughputGbps = &gbps
		if change != nil {
			change(&r)
		}
		j.Records = append(j.Records, r)
	}
	for rep := range 8 {
		drift := 1 + float64(rep)
		if rep%2 == 0 {
			add("", rep, 10*drift, nil)
		}
		add("latency", rep, 9.8*drift, nil)
		if rep%2 == 1 {
			add("", rep, 10*drift, nil)
		}
	}
	add("latency", 8, 1, nil) // alone
	add("latency", 3, 1, func(r *results.Record) { r.Warmup = true })
	add("latency", 4, 1, func(r *results.Record) { r.Verdict = results.Invalid })
	got := costs(j)
	if len(got) != 1 || got[0].Ratio.N != 8 || math.Abs(got[0].Ratio.Estimate-.98) > 1e-9 || !got[0].Ratio.HasInterval() {
		t.Errorf("%+v", got)
	}
	var b bytes.Buffer
	if err := printTable(&b, got); err != nil || !strings.Contains(b.String(), "tcp <- tcp, latency  throughput  8      0.9800") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err := printTable(&b, costs(results.Journal{})); err == nil {
		t.Error("nothing was compared, and nobody complains")
	}
}
