// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// governedAgentEnv makes the agent one whose host, at rest, does and draws what its governor
// lets it. It moves nothing.
const governedAgentEnv = "ZCBENCH_TEST_GOVERNED_AGENT"

// partingClockEnv is by how many ns its clock moves while a run lasts that times its delivery.
const partingClockEnv = "ZCBENCH_TEST_PARTING_CLOCK"

// atRest is what such a host does under a governor; "" is as it was found.
var atRest = map[string]struct{ cores, watts float64 }{"": {.05, 50}, "powersave": {.1, 60}, "performance": {.4, 100},
	"halfway": {.7, 200}}

// governed is such a host: its governors since it began, the last in force.
type governed struct {
	names []string
	since []int64
	moved int64 // its clock, ns
}

func (g *governed) set(name string) {
	g.names, g.since = append(g.names, name), append(g.since, host.Monotonic())
}

// at is the governor at a time.
func (g *governed) at(ns int64) string {
	name := ""
	for i, since := range g.since {
		if since <= ns {
			name = g.names[i]
		}
	}
	return name
}

func (g *governed) answer(req wire.Request) (result any, err *wire.Error) {
	now := g.at(math.MaxInt64)
	switch req.Op {
	case wire.OpHello:
		return wire.HelloResult{Version: wire.Version, ToolVersion: version.Tool(), PID: os.Getpid(), NetNS: "4:1",
			OnlineCPUs: []int{0},
			Env:        measure.Env{BootID: fmt.Sprint("boot-", os.Getpid())}}, nil
	case wire.OpFinish:
		return []string{}, nil
	case wire.OpClock:
		return wire.Clock{MonotonicNs: host.Monotonic() + g.moved}, nil
	case wire.OpSet:
		var s plan.Settings
		req.Decode(&s)
		if g.set(s.Value(plan.Governor)); s.Value(plan.Governor) == "halfway" {
			return nil, &wire.Error{Message: "governor 1: no such governor", Verdict: results.Unsupported}
		}
	case wire.OpRestEnd:
		return wire.Rest{WallS: .02,
			CPUs: []counter.RestCPU{{CPU: 0, BusyCores: atRest[now].cores, PollerCores: new(0.)}}}, nil
	case wire.OpOpen:
		return wire.Opened{Addr: "127.0.0.1:5201"}, nil
	case wire.OpRun:
		var sch wire.Schedule
		req.Decode(&sch)
		end := wellEnd()
		end.FromNs, end.ToNs = sch.FromNs, sch.ToNs
		end.Host.CPUBusyCores, end.Host.Env.CPUsMeasured = new(.5+atRest[now].cores), "0"
		if by, err := strconv.ParseInt(os.Getenv(partingClockEnv), 10, 64); err == nil {
			g.moved, end.Host.Delivery = by, &results.Delivery{Times: results.Times{Count: 1, P50Us: new(20.)}}
		}
		return end, nil
	case wire.OpPowerStart:
		return []wire.PowerSource{{Name: "rapl", Scope: power.ScopePackage}}, nil
	case wire.OpPowerRead:
		var p wire.PowerRead
		req.Decode(&p)
		return wire.PowerReading{Figures: []power.Figure{g.drawn(p.Times)}}, nil
	}
	return struct{}{}, nil
}

// drawn is a figure of a host that draws 30 W more under load.
func (g *governed) drawn(at power.Times) power.Figure {
	in := func(w power.Window) float64 { return atRest[g.at((w.FromNs+w.ToNs)/2)].watts }
	load, before, after := in(at.Load)+30, in(at.IdleBefore), in(at.IdleAfter)
	idle := (before + after) / 2
	return power.Figure{Source: "rapl", Scope: power.ScopePackage, GrossW: &load, IdleW: &idle,
		Drift: new(math.Abs(before-after) / idle)}
}

func beGovernedAgent() {
	requests, enc := wire.NewDecoder(os.Stdin), wire.NewEncoder(os.Stdout)
	var g governed
	for {
		var req wire.Request
		if requests.Decode(&req) != nil {
			return
		}
		result, werr := g.answer(req)
		b, err := json.Marshal(result)
		if err != nil {
			panic(err)
		}
		resp := wire.Response{ID: req.ID, Error: werr}
		if werr == nil {
			resp.Result = b
		}
		enc.Encode(resp)
	}
}

// governedRunner runs between two such hosts.
func governedRunner(t *testing.T) *Runner {
	t.Helper()
	return &Runner{Session: "s", Opt: Options{Duration: time.Second, Addr: "127.0.0.1"}, SUT: dialGoverned(t),
		TG: dialGoverned(t)}
}

func dialGoverned(t *testing.T) *host.Host {
	t.Helper()
	t.Setenv(governedAgentEnv, "1")
	h, err := host.Dial(t.Context(), "local", host.Options{ToolVersion: version.Tool()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func governedBy(names ...string) (plan []matrix.Run) {
	for i, name := range names {
		c := cell("tcp", "tcp")
		c.ID, c.Governor = name, name
		plan = append(plan, matrix.Run{Cell: c, Block: i, Rep: i})
	}
	return plan
}

// The hosts rest under the settings of the run: what they do and draw at rest depends on these,
// and what is the run's is what is beyond. One whose settings were refused in the middle left
// the hosts who knows how.
func TestRestHasTheSettingsOfItsRun(t *testing.T) {
	for _, withPower := range []bool{false, true} {
		t.Run(map[bool]string{false: "CPUs", true: "power"}[withPower], func(t *testing.T) {
			r := governedRunner(t)
			r.Opt.Rest = 20 * time.Millisecond
			if withPower {
				rapl, err := power.ParseSpec("rapl")
				if err != nil {
					t.Fatal(err)
				}
				r.Power, err = StartPower(t.Context(), PowerOptions{Sources: []power.Spec{rapl},
					Idle: 40 * time.Millisecond, Guard: 20 * time.Millisecond}, r)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Power.Close()
			}
			s := &Session{Runner: r}
			plan := governedBy("powersave", "performance", "performance", "powersave", "halfway", "performance", "")
			recs, err := s.Play(t.Context(), plan)
			if err != nil || len(recs) != len(plan) {
				t.Fatalf("%d records, %v", len(recs), err)
			}
			for i, rec := range recs {
				if rec.Cell.Governor == "halfway" {
					if rec.Verdict != results.Unsupported || rec.SUT.CPUIdleCores != nil {
						t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
					}
					continue
				}
				if rec.Verdict != results.OK {
					t.Fatalf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
				}
				want := atRest[rec.Cell.Governor]
				for _, h := range []results.Host{rec.SUT, rec.TG} {
					if got := h.CPUNetCores(); got == nil || math.Abs(*got-.5) > 1e-9 {
						t.Errorf("run %d, %q: %v cores beyond %v at rest, want .5 (%q)", i, rec.Cell.Governor,
							deref(got), deref(h.CPUIdleCores), rec.Warnings)
					}
					if k := slices.IndexFunc(h.Metrics,
						func(m measure.Metric) bool { return m.Name == "cpu_idle_rests" }); k < 0 ||
						h.Metrics[k].Value != 2 {
						t.Errorf("run %d: it has not two rests", i)
					}
					if withPower && (h.PowerIdleW == nil || *h.PowerIdleW != want.watts || *h.PowerIdleDrift != 0) {
						t.Errorf("run %d, %q: idle power %v W, drift %v, want %v", i, rec.Cell.Governor,
							deref(h.PowerIdleW), deref(h.PowerIdleDrift), want.watts)
					}
				}
			}
		})
	}
}

// The estimate has each rest that is taken, and no other: one serves for two runs only where
// both have the same settings.
func TestCountRests(t *testing.T) {
	warm := func(plan []matrix.Run, at ...int) []matrix.Run {
		for _, i := range at {
			plan[i].Warmup = true
		}
		return plan
	}
	again := governedBy("a", "a")
	again[1].Replay = 1
	for name, x := range map[string]struct {
		plan    []matrix.Run
		n, anew int
	}{
		"none":                   {nil, 0, 0},
		"all alike":              {governedBy("a", "a", "a"), 4, 0},
		"ABBA":                   {governedBy("a", "b", "b", "a"), 7, 2},
		"after warm-ups":         {warm(governedBy("a", "b", "b", "a"), 0, 1), 3 + 1, 1},
		"one that is missed":     {governedBy("a", "missing", "a"), 3, 0},
		"start the next replay:": {again, 4, 0},
	} {
		s := &Session{Runner: &Runner{Opt: Options{Duration: time.Second, Rest: 100 * time.Millisecond}},
			Missing: func(c plan.Cell) *Missing {
				if c.Governor == "missing" {
					return &Missing{}
				}
				return nil
			}}
		if n, anew := s.countRests(x.plan); n != x.n || anew != x.anew {
			t.Errorf("%s: %d rests, %d of them anew, want %d and %d", name, n, anew, x.n, x.anew)
		}
		with := s.estimate(x.plan)
		s.Runner.Opt.Rest = 0
		if got, want := with-s.estimate(x.plan), time.Duration(x.n)*150*time.Millisecond; got != want {
			t.Errorf("%s: %v of rest in the estimate, want %v", name, got, want)
		}
	}
	e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp, governor: [performance, powersave]}\nrepetitions: "+
		"2\nwarmup: false\nrest: 1s\n")
	var b strings.Builder
	preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil }}.time(&b)
	const want = "and before the first; 2 more times before a run whose settings differ from the previous run's"
	if !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}
