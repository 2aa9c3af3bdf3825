// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Runs of the same block are compared, whatever the order of the records; runs
// that are not ok, and warm-ups, are not.
func TestCosts(t *testing.T) {
	var j results.Journal
	add := func(probe string, rep int, gbps float64, change func(*results.Record)) {
		r := results.Record{Cell: plan.Cell{RX: "tcp", TX: "tcp", Probe: probe}, Rep: rep, Verdict: results.OK}
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
	if len(got) != 1 || got[0].Ratio.N != 8 || math.Abs(got[0].Ratio.Estimate-.98) > 1e-9 ||
		!got[0].Ratio.HasInterval() {
		t.Errorf("%+v", got)
	}
	var b bytes.Buffer
	if err := printTable(&b, got, nil, ""); err != nil ||
		!strings.Contains(b.String(), "tcp <- tcp, latency  throughput  8      0.9800") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err := printTable(&b, costs(results.Journal{}), nil, ""); err == nil {
		t.Error("nothing was compared, and nobody complains")
	}
}

// A limit is kept only if the interval excludes it.
func TestLimits(t *testing.T) {
	l := limits{}
	if err := l.Set("latency=2,zc+syscalls=1.5"); err != nil {
		t.Fatal(err)
	}
	ratio := func(lo, hi float64) stat.Paired {
		return stat.Paired{N: 10, Estimate: (lo + hi) / 2, Lo: lo, Hi: hi, Confidence: .95}
	}
	for _, c := range []struct {
		cost cost
		want string
	}{
		{cost{"", "latency", throughput, ratio(.985, 1.01)}, "loses less than 2 %"},
		{cost{"", "latency", throughput, ratio(.97, 1.01)}, "cannot tell"},
		{cost{"", "latency", throughput, ratio(.95, .97)}, "loses more than 2 %"},
		{cost{"", "latency", throughput, stat.Paired{N: 5, Estimate: 1}}, "cannot tell"},
		{cost{"", "syscalls+zc", throughput, ratio(.984, .99)}, "cannot tell"},
		{cost{"", "syscalls+zc", throughput, ratio(.986, .99)}, "loses less than 1.5 %"},
		{cost{"", "syscalls", throughput, ratio(.5, .6)}, ""},
		{cost{"", "latency", "CPU time per byte, SUT", ratio(.5, .6)}, ""},
	} {
		if got, _ := l.verdict(c.cost); got != c.want {
			t.Errorf("%+v: %q, want %q", c.cost, got, c.want)
		}
		kept := c.want == "" || strings.HasPrefix(c.want, "loses less")
		one := limits{}
		if c.want != "" {
			one[c.cost.Probes] = l[c.cost.Probes]
		}
		if err := one.check([]cost{c.cost}); (err == nil) != kept {
			t.Errorf("%+v: %v", c.cost, err)
		}
	}
	if err := l.check(nil); err == nil {
		t.Error("limits of runs that are not there are kept")
	}
	for _, bad := range []string{"", "latency", "latency=", "latency=0", "latency=100", "latency=NaN", "colour=1",
		"=1"} {
		if err := (limits{}).Set(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// The exit status says what the results say of the limit.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]int{"": 2, "--limit latency=x DIR": 2, "--limit colour=1 DIR": 2, "DIR": 1,
		"--help": 0} {
		var out, stderr bytes.Buffer
		if got := run(strings.Fields(strings.ReplaceAll(args, "DIR", dir)), &out, &stderr); got != want ||
			out.Len() > 0 || stderr.Len() == 0 {
			t.Errorf("probed %s: exit status %d, want %d: %s%s", args, got, want, &out, &stderr)
		}
	}
}
