// SPDX-License-Identifier: MIT

package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

func TestAutoRest(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{
		time.Second: 0, 2 * time.Second: 200 * time.Millisecond, 5 * time.Second: 500 * time.Millisecond,
		10 * time.Second: time.Second, time.Minute: time.Second,
	} {
		if got := autoRest(window); got != want {
			t.Errorf("a window of %v: a rest of %v, want %v", window, got, want)
		}
	}
}

// A run's background is the mean of the rests before and after it, on the CPUs that the
// run measured and no others, without what polls for the flow.
func TestBackground(t *testing.T) {
	rest := func(busy0, busy1, polled1 float64) *[2]wire.Rest {
		r := wire.Rest{WallS: 1, CPUs: []counter.RestCPU{{CPU: 0, BusyCores: busy0, PollerCores: new(0.),
			UncertaintyCores: .01}, {CPU: 1, BusyCores: busy1, PollerCores: &polled1, UncertaintyCores: .01}}}
		return &[2]wire.Rest{r, r}
	}
	unknown := rest(.1, .2, 0)
	unknown[0].CPUs[1].PollerCores = nil
	hidden := rest(.1, .2, 0)
	hidden[0].Why = "napi-get: operation not supported"
	for name, x := range map[string]struct {
		before, after *[2]wire.Rest
		cpus          string
		idle, u       float64 // idle below 0: not known
		warn          string
	}{
		"both": {rest(.1, .2, 0), rest(.1, .2, 0), "0-1", .3,
			math.Hypot(.01, .01) / math.Sqrt(3) / math.Sqrt2, ""},
		"one CPU":         {rest(.1, .2, 0), rest(.1, .2, 0), "1", .2, .01 / math.Sqrt(3) / math.Sqrt2, ""},
		"it changed":      {rest(0, .1, 0), rest(0, .3, 0), "1", .2, math.Hypot(.01/math.Sqrt2, .1) / math.Sqrt(3), ""},
		"a poller":        {rest(0, .95, .9), rest(0, .95, .9), "1", .05, .01 / math.Sqrt(3) / math.Sqrt2, ""},
		"after alone":     {nil, rest(.1, .2, 0), "1", .2, .01 / math.Sqrt(3), ""},
		"another CPU":     {rest(.1, .2, 0), rest(.1, .2, 0), "1,7", -1, 0, "CPU 7 was not online"},
		"poller anywhere": {nil, unknown, "1", -1, 0, "unknown on which CPUs the NAPI threads ran"},
		"none":            {nil, nil, "1", -1, 0, ""},
		"pollers hidden": {hidden, rest(.1, .2, 0), "0-1", .3, math.Hypot(.01, .01) / math.Sqrt(3) / math.Sqrt2,
			"may include threads that poll for the flow, if there are any: napi-get: operation not supported"},
	} {
		rec := results.Record{}
		rec.SUT.Env.CPUsMeasured, rec.SUT.CPUBusyCores = x.cpus, new(1.)
		m := &restMeter{last: x.after}
		m.fill(&rec, x.before)
		if h := rec.SUT; (h.CPUIdleCores != nil) != (x.idle >= 0) || h.CPUIdleCores != nil &&
			(math.Abs(*h.CPUIdleCores-x.idle) > 1e-9 || math.Abs(*h.CPUIdleU-x.u) > 1e-9) {
			t.Errorf("%s: %v +- %v, want %v +- %v", name, deref(h.CPUIdleCores), deref(h.CPUIdleU), x.idle, x.u)
		}
		if got := strings.Join(rec.Warnings, " "); !strings.Contains(got, x.warn) || (got == "") != (x.warn == "") {
			t.Errorf("%s: %q, want %q", name, got, x.warn)
		}
		if rec.TG.CPUIdleCores != nil {
			t.Errorf("%s: the sender measured no CPU, and has a background", name)
		}
	}
}

// A rest that is asked for beside idle power is not taken: the dry run says what is.
func TestUnusedRest(t *testing.T) {
	idle := PowerOptions{Auto: true, Idle: 10 * time.Second, Guard: 4 * time.Second}
	none := idle
	none.Idle = 0
	later := idle
	later.Auto, later.Later = false, true
	for name, x := range map[string]struct {
		rest   string
		power  PowerOptions
		unused bool
		taken  string // of the dry run
	}{
		"beside idle power":        {"rest: 5s\n", idle, true, "idle power and what the CPUs do at rest, 14s of rest"},
		"none, beside idle power":  {"rest: 0s\n", idle, true, "14s of rest"},
		"a log comes later":        {"rest: 5s\n", later, true, "14s of rest"},
		"the same":                 {"rest: 10s\n", idle, false, "14s of rest"},
		"auto":                     {"rest: auto\n", idle, false, "14s of rest"},
		"not said":                 {"", idle, false, "14s of rest"},
		"power, and no idle power": {"rest: 5s\n", none, false, "what the CPUs do at rest, 5.5s after"},
		"no power":                 {"rest: 5s\n", PowerOptions{}, false, "what the CPUs do at rest, 5.5s after"},
	} {
		e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp}\n"+x.rest)
		var b strings.Builder
		preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil }, power: x.power}.time(&b)
		const says = " is not used: CPU use at rest is measured together with idle power, for 10s after 4s of guard"
		if got := strings.Contains(b.String(), strings.Replace(strings.TrimSpace(x.rest), ":", "", 1)+
			says); got != x.unused || !x.unused && strings.Contains(b.String(), "not used") {
			t.Errorf("%s: told: %v\n%s", name, got, b.String())
		}
		if !strings.Contains(b.String(), x.taken) {
			t.Errorf("%s: no %q in\n%s", name, x.taken, b.String())
		}
	}
	if (*PowerMeter)(nil).unusedRest(new(5*time.Second)) != "" {
		t.Error("without power, a rest is not used")
	}
}

// What others did while the flow ran they may do on another CPU at rest: it is taken off the sum.
func TestBackgroundMoves(t *testing.T) {
	r := wire.Rest{CPUs: []counter.RestCPU{{CPU: 0, BusyCores: .5, PollerCores: new(0.)},
		{CPU: 1, BusyCores: .1, PollerCores: new(0.)}}}
	for off, want := range map[float64]float64{.4: .2, .7: 0} {
		if b, why := backgroundOf(r, []int{0, 1}, map[int]float64{1: off}); math.Abs(b.others-want) > 1e-9 ||
			why != "" {
			t.Errorf("%g less: %g, %s", off, b.others, why)
		}
	}
}

// Power cannot be told apart as CPU time can: where a thread polls at rest, idle power has
// it, and the run says so.
func TestPollingAtRestIsInIdlePower(t *testing.T) {
	for polled, want := range map[float64]int{0: 0, .01: 0, .9: 1} {
		r := wire.Rest{WallS: 1, CPUs: []counter.RestCPU{{CPU: 0, BusyCores: .95, PollerCores: &polled,
			UncertaintyCores: .01}}}
		rec := results.Record{}
		rec.SUT.Env.CPUsMeasured, rec.SUT.CPUBusyCores, rec.SUT.PowerIdleW = "0", new(1.), new(100.)
		(&restMeter{last: &[2]wire.Rest{r, r}}).fill(&rec, nil)
		if len(rec.Warnings) != want || want > 0 && !strings.Contains(rec.Warnings[0],
			"SUT: NAPI threads poll at rest too (0.90 cores)") {
			t.Errorf("%v cores at rest: %q", polled, rec.Warnings)
		}
	}
}

// Runs of a session rest before the first and after each, and their net figures are what
// is left of the gross ones; warm-ups and sessions without rests have none.
func TestIntegrationRests(t *testing.T) {
	r := newRig(t)
	r.bounded(64 << 20)
	r.Runner.Opt.Rest = 300 * time.Millisecond
	whole := matrix.Interleave([]plan.Cell{cell("tcp", "tcp")}, 2, true, 1)
	recs, err := r.Play(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s", rec.Verdict, rec.Reason)
		}
		for _, h := range []results.Host{rec.SUT, rec.TG} {
			if rec.Warmup {
				if h.CPUIdleCores != nil {
					t.Error("a warm-up has a background")
				}
				continue
			}
			net := h.CPUNetCores()
			if net == nil || *net != *h.CPUBusyCores-*h.CPUIdleCores || !(*h.CPUIdleCores >= 0) ||
				!(*h.CPUIdleU > 0) || h.CPUNetU() == nil {
				t.Errorf("%s: busy %v, idle %v +- %v, net %v (%q)", h.Name, deref(h.CPUBusyCores),
					deref(h.CPUIdleCores), deref(h.CPUIdleU), deref(net), rec.Warnings)
			}
			if i := slices.IndexFunc(h.Metrics,
				func(m measure.Metric) bool { return m.Name == "cpu_idle_rests" }); i < 0 || h.Metrics[i].Value != 2 {
				t.Error("it has not two rests")
			}
			if i := slices.IndexFunc(h.Metrics,
				func(m measure.Metric) bool { return m.Name == "cpu_idle_s" }); i < 0 || h.Metrics[i].Value < .6 {
				t.Errorf("%s: two rests of .3 s are shorter", h.Name)
			}
		}
	}
}
