// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report"
)

// wellEnd is what a well end answers.
func wellEnd() wire.EndResult {
	seconds, gbps, window, total := 1.0, 8.0, uint64(1e9), uint64(2e9)
	return wire.EndResult{Verdict: results.OK, FlowNs: 2e9, FromNs: 1e9, ToNs: 2e9,
		Total: stream.Counters{Bytes: total}, Window: stream.Counters{Bytes: window},
		Host: results.Host{DurationS: &seconds, Bytes: &window, TotalBytes: &total, ThroughputGbps: &gbps,
			Flows: []results.Flow{{CPU: new(1), Queue: new(3), Bytes: &window, ThroughputGbps: &gbps, CPUS: new(.5),
				Verdict: results.OK, ThreadCores: new(.6)}},
			Metrics: []measure.Metric{{Name: "m", Unit: "1", Value: 3, Source: "s"}},
			Series:  []measure.Series{{Name: "flow_bytes", Unit: "bytes", T: []int64{1, 2}, V: []float64{1, 2}}}}}
}

// FuzzAgentAnswers: whatever two agents answer, the controller makes a record of it
// that a journal takes and a report can show, and it is only well where both said
// so with all figures.
func FuzzAgentAnswers(f *testing.F) {
	well, err := json.Marshal(wellEnd())
	if err != nil {
		f.Fatal(err)
	}
	hello, ifaces, watts := []byte(wellHello), []byte(wellIfaces), []byte(wellWatts)
	f.Add(well, well, hello, ifaces, watts)
	f.Add(well, []byte(`{"verdict":"failed","reason":"r","host":{"env":{}},"total":{},"window":{}}`),
		[]byte(`{"online_cpus":[]}`), []byte(`[]`), []byte(`{}`))
	f.Add([]byte(`{"verdict":"ok"}`), []byte(`null`), []byte(`{"pid":1,"netns":"a","online_cpus":[-1]}`),
		[]byte(`[{"near_cpus":[9]}]`), []byte(`{"figures":[{"gross_w":1e308}]}`))
	f.Add(well, well, hello, []byte(`null`), []byte(`{"figures":[{"source":"\u001b[2J","series":[{"t_ns":[1]}]}]}`))
	f.Fuzz(tryAnswers)
}

// Bytes at random seldom are JSON: here each answer is well but for some values.
func TestMutatedAgentAnswers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	well, _ := json.Marshal(wellEnd())
	for range 3000 {
		tryAnswers(t, mutate(rnd, string(well)), mutate(rnd, string(well)), mutate(rnd, wellHello),
			mutate(rnd, wellIfaces), mutate(rnd, wellWatts))
	}
}

// odd is a value that somebody may have forgotten.
func odd(rnd *rand.Rand) any {
	all := []any{nil, -1, 0, 1e300, -1e300, math.MaxInt64, math.MinInt64, 1.5, "", "\x1b[2J\u202e", "ok", "failed",
		"invalid", []any{}, []any{nil}, []any{-1}, map[string]any{}, true}
	return all[rnd.IntN(len(all))]
}

// mutate puts odd values into some of a message's places.
func mutate(rnd *rand.Rand, msg string) []byte {
	var v any
	if err := json.Unmarshal([]byte(msg), &v); err != nil {
		panic(err)
	}
	for range rnd.IntN(3) {
		v = mutated(rnd, v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func mutated(rnd *rand.Rand, v any) any {
	if rnd.IntN(6) == 0 {
		return odd(rnd)
	}
	switch x := v.(type) {
	case map[string]any:
		if keys := slices.Sorted(maps.Keys(x)); len(keys) > 0 {
			k := keys[rnd.IntN(len(keys))]
			x[k] = mutated(rnd, x[k])
		}
	case []any:
		if len(x) > 0 {
			i := rnd.IntN(len(x))
			x[i] = mutated(rnd, x[i])
		}
	default:
		return odd(rnd)
	}
	return v
}

const (
	wellHello = `{"version":1,"tool_version":"v","pid":1,"netns":"4:1","online_cpus":[0,1],"env":{"boot_id":"b",` +
		`"cpus":2}}`
	wellIfaces = `[{"name":"eth0","up":true,"loopback":false,"mtu":1500,"addrs":["10.0.0.1"],"near_cpus":[1]}]`
	wellWatts  = `{"figures":[{"source":"rapl","scope":"package","gross_w":50,"idle_w":20,` +
		`"series":[{"metric":"m","unit":"W","t_ns":[1],"v":[2]}]}]}`
)

func tryAnswers(t *testing.T, sut, tg, hello, ifaces, watts []byte) {
	take := func(b []byte, v any) error { return wire.Response{Result: b}.Decode(v) }
	r := &Runner{SUT: &host.Host{}, TG: &host.Host{}, Session: "s"}
	if take(hello, &r.SUT.Info) == nil {
		r.TG.Info = r.SUT.Info
		var all []wire.Interface
		near := r.SUT.Info.OnlineCPUs
		if take(ifaces, &all) == nil {
			chooseAddr(all, false, "", false)
			ownerOf(all, "10.0.0.1", "")
			for _, i := range all {
				near = online(i.NearCPUs, r.SUT.Info.OnlineCPUs)
			}
		}
		s, g := chooseCPUs(near, near, true)
		for _, c := range []place.CPUs{s, g} {
			if c.App < -1 || c.Softirq < -1 {
				t.Fatalf("CPUs %+v", c)
			}
		}
		r.Opt.SUTFlows, r.Opt.TGFlows = []place.CPUs{s}, []place.CPUs{g}
	}
	var out outcome
	out.sutErr, out.tgErr = take(sut, &out.sut), take(tg, &out.tg)
	rec := r.record(interleaved(1, cell("tcp", "tcp"))[0])
	r.fill(&rec, out)
	var reading wire.PowerReading
	if err := take(watts, &reading); err == nil {
		enterPower(&rec.SUT, reading.Figures)
		markMixed(&rec)
	} else {
		judge.Distrust(&rec, "SUT", err)
	}
	judge.Conclude(&rec)
	judge.Run(plan.DefaultGates(), &rec)
	if rec.Verdict == results.OK {
		for _, h := range []results.Host{rec.SUT, rec.TG} {
			if h.DurationS == nil || h.Bytes == nil || h.ThroughputGbps == nil || out.sutErr != nil ||
				out.tgErr != nil || rec.Reason != "" {
				t.Fatalf("well: %+v", rec)
			}
		}
	}
	if err := results.Check(rec); err != nil {
		t.Fatalf("no journal takes it: %v", err)
	}
	report.Summarize(results.Journal{Records: []results.Record{rec}})
}
