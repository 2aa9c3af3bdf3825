// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func ptr[T any](v T) *T { return &v }

func ok(gbps float64) results.Record {
	r := results.Record{Cell: plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp"}, Verdict: results.OK}
	for _, h := range []*results.Host{&r.SUT, &r.TG} {
		h.ThroughputGbps, h.CPUBusyCores, h.Bytes = ptr(gbps), ptr(1.0), ptr(uint64(2e9))
	}
	return r
}

// everyLimit is asked for.
func everyLimit(g plan.Gates) plan.Gates {
	for _, l := range plan.Limits {
		g.Ask(l.Key, true)
	}
	return g
}

// A run of which nobody knows what others did counts, with its end's mark; one that must not have
// been disturbed does not.
func TestForeignUnknown(t *testing.T) {
	for _, flag := range []string{results.FlagCPUMissing, results.FlagForeignUnknown} {
		for _, asked := range []bool{false, true} {
			g, r := plan.Gates{ForeignCores: ptr(.05)}, ok(10)
			g.Ask("foreign_cores", asked)
			r.Flags = []string{flag}
			Run(g, &r)
			if (r.Verdict == results.OK) == asked || asked && (!strings.Contains(r.Reason, flag) || r.Fix == "") ||
				!slices.Equal(r.Flagged(), []string{flag}) {
				t.Errorf("%s, asked for %v: %s, %q (%q), flagged %q", flag, asked, r.Verdict, r.Reason, r.Fix,
					r.Flagged())
			}
		}
	}
}

func TestRun(t *testing.T) {
	for _, x := range []struct {
		name   string
		g      plan.Gates
		change func(*results.Record)
		want   string
	}{
		{"nothing measured", plan.Gates{RetransPerGB: ptr(0.0), DropsPerGB: ptr(0.0), Coverage: ptr(0.0),
			ForeignCores: ptr(0.0)}, func(*results.Record) {}, ""},
		{"retrans", plan.Gates{RetransPerGB: ptr(10.0)}, func(r *results.Record) { r.TG.Retrans = ptr(uint64(21)) },
			"10.50 retransmitted segments per GB (limit 10)"},
		{"retrans of all turns, bytes of three quarters", plan.Gates{RetransPerGB: ptr(10.0)}, func(r *results.Record) {
			r.TG.Retrans, r.TG.Bytes, r.Turns = ptr(uint64(21)), ptr(uint64(15e8)), &results.Turns{Turns: 80}
			r.TG.Metrics = append(r.TG.Metrics, measure.Metric{Name: "turns_left_out", Value: 20})
		}, "10.50 retransmitted segments per GB (limit 10)"},
		{"of round trips", plan.Gates{RetransPerGB: ptr(10.0), DropsPerGB: ptr(1.0), Limit: plan.ByReceiver},
			func(r *results.Record) {
				r.TG.Retrans, r.SUT.RXDrops, r.TG.Transactions, r.Cell.TX = ptr(uint64(21)), ptr(uint64(3)),
					ptr(uint64(100)), "rr"
			}, ""},
		{"of a stream that says it made round trips", plan.Gates{RetransPerGB: ptr(10.0)}, func(r *results.Record) {
			r.TG.Retrans, r.TG.Transactions = ptr(uint64(21)), ptr(uint64(0))
		}, "10.50 retransmitted segments per GB (limit 10)"},
		{"few retrans", plan.Gates{RetransPerGB: ptr(10.0)},
			func(r *results.Record) { r.TG.Retrans = ptr(uint64(20)) }, ""},
		{"drops", plan.Gates{DropsPerGB: ptr(1.0)}, func(r *results.Record) { r.SUT.RXDrops = ptr(uint64(3)) },
			"1.50 packets dropped"},
		{"coverage", plan.Gates{Coverage: ptr(.1)}, func(r *results.Record) { r.TG.StatCoverage = ptr(.85) },
			"TG: the /proc/stat columns cover 0.850"},
		{"counters", plan.Gates{Counters: ptr(.01)}, func(r *results.Record) {
			r.TG.Metrics = []measure.Metric{{Name: "counter_sampler_cores", Value: .02}}
		}, "TG: the time series took 2.00 % of the measured CPU time (limit 1 %)"},
		{"drops in turns", plan.Gates{DropsPerGB: ptr(1.0)}, func(r *results.Record) {
			r.SUT.RXDrops, r.Turns = ptr(uint64(3)), &results.Turns{Turns: 80}
		}, "1.50 packets dropped"},
		{"cheap counters", plan.Gates{Counters: ptr(.01)}, func(r *results.Record) {
			r.TG.Metrics = []measure.Metric{{Name: "counter_sampler_cores", Value: .0008}}
		}, ""},
		{"foreign", plan.Gates{ForeignCores: ptr(.05)}, func(r *results.Record) {
			r.SUT.Metrics = []measure.Metric{{Name: measure.MetricForeignCores, Of: []string{"3"}, Value: .2},
				{Name: "foreign_cpuN_high_cores", Of: []string{"3"}, Value: .9}}
		}, "SUT: foreign load 0.20 cores on CPU 3"},
		{"possible foreign", plan.Gates{ForeignCores: ptr(.05)}, func(r *results.Record) {
			r.SUT.Metrics = []measure.Metric{{Name: measure.MetricForeignCores, Of: []string{"3"}, Value: .01},
				{Name: "foreign_cpuN_high_cores", Of: []string{"3"}, Value: .9}}
		}, ""},
		{"warm-up", plan.Gates{RetransPerGB: ptr(1.0)}, func(r *results.Record) {
			r.Warmup, r.TG.Retrans = true,
				ptr(uint64(99))
		}, ""},
	} {
		r := ok(10)
		x.change(&r)
		Run(everyLimit(x.g), &r)
		if (r.Verdict == results.Invalid) != (x.want != "") || !strings.Contains(r.Reason, x.want) ||
			(r.Fix == "") != (x.want == "") {
			t.Errorf("%s: %s %q", x.name, r.Verdict, r.Reason)
		}
		flagged := ok(10)
		x.change(&flagged)
		switch Run(x.g, &flagged); {
		case r.Gate == plan.ByEnvironment:
			if flagged.Verdict != results.Invalid || flagged.Gate != r.Gate || len(flagged.Flags) > 0 {
				t.Errorf("%s, not asked for: %+v", x.name, flagged)
			}
		case flagged.Verdict != results.OK || (len(flagged.Flags) > 0) != (x.want != "") ||
			!strings.Contains(strings.Join(flagged.Warnings, ""), x.want):
			t.Errorf("%s, not asked for: %s, flags %q, warnings %q", x.name, flagged.Verdict, flagged.Flags,
				flagged.Warnings)
		}
	}
	r := ok(10)
	r.Verdict, r.Reason, r.TG.Retrans = results.Failed, "gone", ptr(uint64(99))
	if Run(plan.Gates{RetransPerGB: ptr(1.0)}, &r); r.Verdict != results.Failed || r.Reason != "gone" {
		t.Error("a failed run became invalid")
	}
}

// What was dropped in nobody knows whose turns flags all where they are beyond the limit together.
// A limit that was asked for is kept for sure, or it is not.
func TestDropsOfAllTurns(t *testing.T) {
	for _, x := range []struct {
		dropped, bytes float64 // in the turns of all; the run has 2e9 bytes
		asked          bool
		want           string
	}{
		{0, 0, true, ""},
		{200, 8e9, false, "25.00 packets dropped by the receiver in the turns of all"},
		{200, 8e9, true, "25.00 packets dropped by the receiver in the turns of all"},
		{40, 8e9, false, ""},
		{40, 8e9, true, "20.00 packets dropped by the receiver if all were in this run's turns"},
		{40, 0, true, "20.00 packets dropped by the receiver if all were in this run's turns"},
		{20, 8e9, true, ""},
	} {
		r := ok(10)
		r.Turns = &results.Turns{Turns: 80}
		if x.dropped > 0 {
			r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: measure.MetricAllTurnsDropped, Value: x.dropped},
				measure.Metric{Name: measure.MetricAllTurnsBytes, Value: x.bytes})
		}
		g := plan.Gates{DropsPerGB: ptr(10.0)}
		if x.asked {
			g = everyLimit(g)
		}
		Run(g, &r)
		said := r.Reason + strings.Join(r.Warnings, "")
		flagged := slices.Contains(r.Flags, "drops_per_gb")
		if (r.Verdict == results.Invalid) != (x.asked && x.want != "") || flagged != (!x.asked && x.want != "") ||
			!strings.Contains(said, x.want) || x.want == "" && said != "" {
			t.Errorf("%+v: %s, flagged %t, %q", x, r.Verdict, flagged, said)
		}
	}
}

func journal(g plan.Gates, runs ...results.Record) *results.Journal {
	return &results.Journal{Header: results.Header{Plan: &plan.Origin{Gates: g}}, Records: runs}
}

func series(gbps ...float64) []results.Record {
	var out []results.Record
	for i, v := range gbps {
		r := ok(v)
		r.RunID = fmt.Sprint("r", i)
		out = append(out, r)
	}
	return out
}

func TestApply(t *testing.T) {
	steady := series(100, 101, 100, 99, 100, 100)
	temp := func(h *results.Host, v *float64) { h.CPUTempC = v }
	with := func(set func(*results.Host, *float64), v ...float64) []results.Record {
		out := series(100, 101, 100, 99, 100, 100)
		for i := range out {
			set(&out[i].TG, &v[i])
		}
		return out
	}
	for _, x := range []struct {
		name string
		g    plan.Gates
		runs []results.Record
		want string
	}{
		{"steady", plan.Gates{ThroughputCV: ptr(.02), CPUCV: ptr(.03), Drift: ptr(.02), Frequency: ptr(.02),
			TemperatureC: ptr(10.0)}, steady, ""},
		{"cv", plan.Gates{ThroughputCV: ptr(.02)}, series(100, 110, 90, 100, 105, 95), "varies by 7.1 %"},
		{"no cv gate", plan.Gates{}, series(100, 110, 90, 100, 105, 95), ""},
		{"cv of two", plan.Gates{ThroughputCV: ptr(.02)}, series(100, 110), ""},
		{"drift", plan.Gates{Drift: ptr(.02)}, series(100, 101, 102, 103, 104, 105),
			"drifts with the order of the runs: +2.9 %"},
		{"a small drift", plan.Gates{Drift: ptr(.02)}, series(100, 100.1, 100.2, 100.3, 100.4, 100.5), ""},
		{"no drift but spread", plan.Gates{Drift: ptr(.02)}, series(105, 100, 95, 104, 96, 101), ""},
		{"temperature", plan.Gates{TemperatureC: ptr(10.0)}, with(temp, 50, 55, 58, 60, 61, 61),
			"TG: the CPU is at 50.0 to 61.0"},
		{"temperature holds", plan.Gates{TemperatureC: ptr(11.0)}, with(temp, 50, 55, 58, 60, 61, 61), ""},
	} {
		j := journal(x.g, x.runs...)
		Apply(j)
		for _, r := range j.Records {
			if r.Verdict != results.OK || (len(r.Flagged()) > 0) != (x.want != "") ||
				!strings.Contains(strings.Join(r.Warnings, ""), x.want) {
				t.Errorf("%s, not asked for: %s, flags %q, warnings %q, want %q", x.name, r.Verdict, r.Flags,
					r.Warnings, x.want)
			}
		}
		j = journal(everyLimit(x.g), x.runs...)
		Apply(j)
		for _, r := range j.Records {
			if (r.Verdict == results.Invalid) != (x.want != "") || !strings.Contains(r.Reason, x.want) {
				t.Errorf("%s: %s %q, want %q", x.name, r.Verdict, r.Reason, x.want)
			}
		}
	}
}

// One bad cell leaves the others alone; warm-ups and runs that went wrong are
// neither judged nor counted.
func TestApplyOnlyItsCell(t *testing.T) {
	bad := series(100, 120, 80)
	good := series(50, 50, 50)
	for i := range good {
		good[i].Cell.RX = "uring"
	}
	warm, failed := ok(500), ok(1)
	warm.Cell, failed.Cell = good[0].Cell, good[0].Cell
	warm.Warmup, failed.Verdict = true, results.Failed
	j := journal(everyLimit(plan.Gates{ThroughputCV: ptr(.02)}), append(append(bad, good...), warm, failed)...)
	Apply(j)
	for i, want := range []results.Verdict{"invalid", "invalid", "invalid", "ok", "ok", "ok", "ok", "failed"} {
		if j.Records[i].Verdict != want {
			t.Errorf("run %d: %s, want %s", i, j.Records[i].Verdict, want)
		}
	}
	j.Header.Plan = nil
	Apply(j) // a journal of other commands has no gates
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		asked, was plan.LimitedBy
		ok         bool
	}{{"", "", true}, {"", plan.BySender, true}, {plan.ByReceiver, plan.ByReceiver, true},
		{plan.ByReceiver, plan.BySender, false}, {plan.ByReceiver, "", false}} {
		r := results.Record{Verdict: results.OK, Limit: c.was}
		Run(plan.Gates{Limit: c.asked}, &r)
		if (r.Verdict == results.OK) != c.ok || (r.Reason == "") != c.ok || (r.Fix == "") != c.ok {
			t.Errorf("asked for %q, was %q: %s: %s; %s", c.asked, c.was, r.Verdict, r.Reason, r.Fix)
		}
	}
}
