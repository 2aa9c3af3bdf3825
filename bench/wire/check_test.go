// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

func ptr[T any](v T) *T { return &v }

// good is what a well end says.
func good() EndResult {
	return EndResult{Verdict: results.OK, FlowNs: 2e9, FromNs: 1e9, ToNs: 2e9, Total: stream.Counters{Bytes: 2e9},
		Window: stream.Counters{Bytes: 1e9},
		Host: results.Host{DurationS: ptr(1.0), Bytes: ptr(uint64(1e9)), TotalBytes: ptr(uint64(2e9)),
			ThroughputGbps: ptr(8.0),
			Metrics:        []measure.Metric{{Name: "m", Unit: "1", Value: 3, Source: "s"}},
			Series: []measure.Series{{Name: "s", Unit: "1", T: []int64{-1, 0, 0, 7},
				V: []float64{1, 2, 3, -1e9}}}},
		Flags: []string{"power-missing"}}
}

// answered is what is left of a message once it was decoded.
func answered[T any](t *testing.T, v any) (T, error) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var got T
	return got, Response{Result: b}.Decode(&got)
}

// Of what an end says, everything that cannot be is refused, and nothing of it is
// left for whoever does not look at the error.
func TestEndResultIsChecked(t *testing.T) {
	if got, err := answered[EndResult](t, good()); err != nil || got.Verdict != results.OK {
		t.Fatalf("%+v, %v", got, err)
	}
	nan := measure.Series{Name: "s", T: []int64{1}, V: []float64{1e300}}
	for name, spoil := range map[string]func(*EndResult){
		"no verdict":        func(r *EndResult) { r.Verdict = "" },
		"another verdict":   func(r *EndResult) { r.Verdict = "fine" },
		"ok and a reason":   func(r *EndResult) { r.Reason = "broken" },
		"ok and a fix":      func(r *EndResult) { r.Fix = "mend it" },
		"ok and blame":      func(r *EndResult) { r.BlamesPeer = true },
		"failed, no reason": func(r *EndResult) { r.Verdict = results.Failed },
		"no duration":       func(r *EndResult) { r.Host.DurationS = nil },
		"no bytes":          func(r *EndResult) { r.Host.Bytes = nil },
		"no total":          func(r *EndResult) { r.Host.TotalBytes = nil },
		"no throughput":     func(r *EndResult) { r.Host.ThroughputGbps = nil },
		"nothing flowed":    func(r *EndResult) { r.Host.Bytes = ptr(uint64(0)) },
		"no flow":           func(r *EndResult) { r.FlowNs = 0 },
		"other bytes":       func(r *EndResult) { r.Host.Bytes = ptr(uint64(7)) },
		"other total":       func(r *EndResult) { r.Total.Bytes++ },
		"more than all": func(r *EndResult) {
			r.Window.Bytes, r.Host.Bytes, r.Host.ThroughputGbps = 3e9, ptr(uint64(3e9)), ptr(24.0)
		},
		"other way, rate": func(r *EndResult) {
			r.Host.Back = &results.Way{Bytes: 1e6, ThroughputGbps: 1e7}
		},
		"other way, bytes": func(r *EndResult) {
			r.Host.Then = &results.Way{Bytes: 1e17, ThroughputGbps: 1}
		},
		"other way, copies": func(r *EndResult) {
			r.Host.Then = &results.Way{CopiedBytes: ptr(uint64(1 << 33))}
		},
		"other way, round trips": func(r *EndResult) {
			r.Host.Back = &results.Way{Transactions: ptr(uint64(1 << 33))}
		},
		"other throughput":  func(r *EndResult) { r.Host.ThroughputGbps = ptr(9.0) },
		"other window":      func(r *EndResult) { r.ToNs = 5e9 },
		"negative time":     func(r *EndResult) { r.FromNs = -1 },
		"far time":          func(r *EndResult) { r.FromNs, r.ToNs = 1<<62, 1<<62+1e9 },
		"negative CPU time": func(r *EndResult) { r.ProcSysS = -1 },
		"negative cores":    func(r *EndResult) { r.Host.CPUBusyCores = ptr(-5.0) },
		"too many cores":    func(r *EndResult) { r.Host.CPUSoftCores = ptr(1e9) },
		"huge figure":       func(r *EndResult) { r.Host.Metrics[0].Value = 1e301 },
		"huge value":        func(r *EndResult) { r.Host.Series = append(r.Host.Series, nan) },
		"uneven series":     func(r *EndResult) { r.Host.Series[0].T = r.Host.Series[0].T[1:] },
		"series backwards":  func(r *EndResult) { r.Host.Series[0].T[3] = -9 },
		"series far off":    func(r *EndResult) { r.Host.Series[0].T[3] = 1 << 62 },
		"nameless series":   func(r *EndResult) { r.Host.Series[0].Name = "" },
		"nameless metric":   func(r *EndResult) { r.Host.Metrics[0].Name = "" },
		"idle name":         func(r *EndResult) { r.Host.Idle = []string{"netstat_a", "a\x1b[2J"} },
		"many idle":         func(r *EndResult) { r.Host.Idle = make([]string, mostIdle+1) },
		"many metrics":      func(r *EndResult) { r.Host.Metrics = make([]measure.Metric, mostMetrics+1) },
		"many warnings":     func(r *EndResult) { r.Warnings = make([]string, mostWarnings+1) },
		"odd flag":          func(r *EndResult) { r.Flags = []string{"a\x1b[2J"} },
		"negative CPUs":     func(r *EndResult) { r.Host.Env.CPUs = -1 },
		"no round trips":    func(r *EndResult) { r.Host.RoundTrip = &results.Times{Count: 1} },
		"trips untold":      func(r *EndResult) { r.Window.Transactions, r.Total.Transactions = 7, 7 },
		"trips uncounted":   func(r *EndResult) { r.Host.Transactions = ptr(uint64(7)) },
		"more trips in part": func(r *EndResult) {
			r.Host.Transactions, r.Window.Transactions, r.Total.Transactions = ptr(uint64(7)), 7, 6
		},
		"times of other trips": func(r *EndResult) {
			r.Host.Transactions, r.Window.Transactions, r.Total.Transactions = ptr(uint64(7)), 7, 1e9
			r.Host.RoundTrip = &results.Times{Count: 1e8}
		},
		"quantiles backwards": func(r *EndResult) {
			r.Host.Transactions, r.Window.Transactions, r.Total.Transactions = ptr(uint64(7)), 7, 7
			r.Host.RoundTrip = &results.Times{Count: 7, P50Us: ptr(9.0), P99Us: ptr(3.0)}
		},
		"drops of no number": func(r *EndResult) {
			r.Host.PacketsPerS, r.Host.Packets = ptr(7.0), &results.Packets{Sent: ptr(uint64(7)),
				Counted: []results.DropCounter{{Name: "x", Value: ptr(1e29)}}}
			r.Window.Packets, r.Total.Packets = 7, 7
		},
	} {
		r := good()
		spoil(&r)
		got, err := answered[EndResult](t, r)
		if n := (*fault.NonsenseError)(nil); !errors.As(err, &n) {
			t.Errorf("%s: %v", name, err)
		}
		if got.Verdict != "" || got.Host.DurationS != nil {
			t.Errorf("%s: left %+v", name, got)
		}
	}
}

func TestAnswersAreChecked(t *testing.T) {
	hello := HelloResult{Version: 1, ToolVersion: "v", PID: 7, NetNS: "4:1", OnlineCPUs: []int{0, 1, 5}}
	if _, err := answered[HelloResult](t, hello); err != nil {
		t.Error(err)
	}
	for _, cpus := range [][]int{nil, {}, {-1}, {1, 0}, {2, 2}, {0, 1 << 20}} {
		h := hello
		h.OnlineCPUs = cpus
		if _, err := answered[HelloResult](t, h); err == nil || !strings.Contains(err.Error(), "online_cpus") {
			t.Errorf("CPUs %v: %v", cpus, err)
		}
	}
	for name, err := range map[string]error{
		"no pid":         second(answered[HelloResult](t, HelloResult{NetNS: "a", OnlineCPUs: []int{0}})),
		"no namespace":   second(answered[HelloResult](t, HelloResult{PID: 1, OnlineCPUs: []int{0}})),
		"clock at 0":     second(answered[Clock](t, Clock{})),
		"clock before":   second(answered[Clock](t, Clock{-5})),
		"clock far off":  second(answered[Clock](t, Clock{1 << 62})),
		"mode unknown":   second(answered[[]ModeSupport](t, []ModeSupport{{Role: "rx", Name: "../x"}})),
		"role unknown":   second(answered[[]ModeSupport](t, []ModeSupport{{Role: "r", Name: "tcp"}})),
		"ladder unknown": second(answered[[]Ladder](t, []Ladder{{ModeSupport: ModeSupport{Role: "rx", Name: "x"}}})),
		"rung unknown": second(answered[[]Ladder](t,
			[]Ladder{{ModeSupport: ModeSupport{Role: "rx", Name: "tcp"}, Rungs: []Check{{Status: "x"}}}})),
		"interface":         second(answered[[]Interface](t, []Interface{{Name: "a/b"}})),
		"interface's CPU":   second(answered[[]Interface](t, []Interface{{Name: "a", NearCPUs: []int{-1}}})),
		"interface's index": second(answered[[]Interface](t, []Interface{{Name: "a", Index: -1}})),
		"interface's peer":  second(answered[[]Interface](t, []Interface{{Name: "a", Peer: -1}})),
		"interface's MTU":   second(answered[[]Interface](t, []Interface{{Name: "a", MTU: -1}})),
		"interface's addr":  second(answered[[]Interface](t, []Interface{{Name: "a", Addrs: []string{"host"}}})),
		"route":             second(answered[Route](t, Route{})),
		"port":              second(answered[Opened](t, Opened{Addr: "10.0.0.1:0"})),
		"reads, long":       second(answered[Opened](t, Opened{ReadsNs: MostReads.Nanoseconds() + 1})),
		"port by name":      second(answered[Opened](t, Opened{Addr: "host:80"})),
		"power, nameless":   second(answered[[]PowerSource](t, []PowerSource{{Scope: "gpu"}})),
		"power, scope":      second(answered[[]PowerSource](t, []PowerSource{{Name: "a", Scope: "\x1b"}})),
		"power, huge": second(answered[PowerReading](t,
			PowerReading{Figures: []power.Figure{{Source: "a", GrossW: ptr(1e99)}}})),
		"power, source": second(answered[PowerReading](t, PowerReading{Figures: []power.Figure{{}}})),
		"power, below zero": second(answered[PowerReading](t,
			PowerReading{Figures: []power.Figure{{Source: "a", GrossU: ptr(-1.0)}}})),
		"rest, busy": second(answered[Rest](t, Rest{WallS: 1, CPUs: []counter.RestCPU{{BusyCores: 3}}})),
		"rest, below zero": second(answered[Rest](t,
			Rest{WallS: 1, CPUs: []counter.RestCPU{{PollerCores: ptr(-.5)}}})),
		"rest, CPU twice": second(answered[Rest](t, Rest{WallS: 1, CPUs: []counter.RestCPU{{CPU: 2}, {CPU: 2}}})),
		"rest, CPU":       second(answered[Rest](t, Rest{WallS: 1, CPUs: []counter.RestCPU{{CPU: -1}}})),
		"rest, length":    second(answered[Rest](t, Rest{WallS: -1})),
		"power, bad series": second(answered[PowerReading](t,
			PowerReading{Figures: []power.Figure{
				{Source: "a", Series: []measure.Series{{Name: "s", T: []int64{1}}}}}})),
	} {
		if n := (*fault.NonsenseError)(nil); !errors.As(err, &n) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, r := range []Response{{ID: 1},
		{ID: 1, Result: []byte("{}"), Error: &Error{Message: "m", Verdict: results.Failed}},
		{ID: 1, Error: &Error{Message: "m", Verdict: results.OK}}, {ID: 1, Error: &Error{Message: "m"}},
		{ID: 1, Error: &Error{Verdict: results.Failed}}} {
		if r.Vet() == nil {
			t.Errorf("%+v passes", r)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Text is printable wherever it stands.
func TestAnswersAreCleaned(t *testing.T) {
	const evil = "a\x1b]0;x\x07\u202eb\u0085c\nd\te"
	r := good()
	r.Host.Env.Hostname, r.Host.Metrics[0].Quality, r.Warnings = evil, evil, []string{evil}
	got, err := answered[EndResult](t, r)
	const want = "a\ufffd]0;x\ufffd\ufffdb\ufffdc; d e"
	if err != nil || got.Host.Env.Hostname != want || got.Host.Metrics[0].Quality != want || got.Warnings[0] != want {
		t.Errorf("%q %q %q, %v", got.Host.Env.Hostname, got.Host.Metrics[0].Quality, got.Warnings, err)
	}
	e := Response{ID: 1, Error: &Error{Message: evil, How: evil, Verdict: results.Failed}}
	if err := e.Vet(); err != nil || e.Error.Message != want || e.Error.How != want {
		t.Errorf("%+v, %v", e.Error, err)
	}
	if got := clean("grün, 3 µs, 日本"); got != "grün, 3 µs, 日本" {
		t.Errorf("%q", got)
	}
	if got := clean(strings.Repeat("ü", mostText)); len(got) > mostText+3 || !strings.HasSuffix(got, "ü...") {
		t.Errorf("%d bytes, ending with %q", len(got), got[len(got)-10:])
	}
}
