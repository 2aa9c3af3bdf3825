// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

// Flows that no run can have are refused, and the flow is named; nothing else is.
func TestFlowsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Record)
		want  string // "": nothing is wrong
	}{
		"two flows":       {func(*Record) {}, ""},
		"not measured":    {func(r *Record) { r.SUT.Flows = []Flow{{}, {}} }, ""},
		"none, as before": {func(r *Record) { r.SUT.Flows, r.TG.Flows = nil, nil }, ""},
		"one of two": {func(r *Record) { r.TG.Flows, r.TG.Bytes = r.TG.Flows[:1], new(uint64(5)) },
			"TG: verdict ok, but 1 flows where the cell has 2"},
		"one of two, ended": {func(r *Record) {
			r.TG.Flows, r.TG.Bytes, r.Verdict = r.TG.Flows[:1], new(uint64(5)),
				Failed
		}, ""},
		"three of two": {func(r *Record) { r.SUT.Flows = append(r.SUT.Flows, Flow{}) },
			"SUT: verdict ok, but 3 flows where the cell has 2"},
		"too many": {func(r *Record) { r.Verdict, r.SUT.Flows = Failed, make([]Flow, stream.MaxFlows+1) },
			"SUT: 1025 flows, but a run has at most 1024"},
		"more bytes": {func(r *Record) { r.SUT.Flows[1].Bytes = new(uint64(8)) },
			"SUT: the 2 flows have 13 bytes together, but the host 12"},
		"more bytes, invalid": {func(r *Record) { r.Verdict, r.SUT.Flows[1].Bytes = Invalid, new(uint64(8)) },
			"SUT: the 2 flows have 13"},
		"bytes that wrap": {func(r *Record) {
			r.SUT.Flows[0].Bytes, r.SUT.Flows[1].Bytes = new(uint64(math.MaxUint64)), new(uint64(13))
		},
			"SUT: flow 1: 13 bytes: the sum"},
		"CPU below zero": {func(r *Record) { r.SUT.Flows[1].CPU = new(-1) }, "SUT: flow 1: cpu: -1"},
		"no such softirq": {func(r *Record) { r.SUT.Flows[1].SoftirqCPU = new(1 << 16) },
			"SUT: flow 1: softirq_cpu: 65536"},
		"queue below zero": {func(r *Record) { r.TG.Flows[0].Queue = new(-7) }, "TG: flow 0: queue: -7"},
		"no such queue":    {func(r *Record) { r.SUT.Flows[0].Landed = new(1 << 16) }, "SUT: flow 0: landed: 65536"},
		"CPU time":         {func(r *Record) { r.SUT.Flows[0].CPUS = new(-.1) }, "SUT: flow 0: cpu_s: -0.1"},
		"throughput": {func(r *Record) { r.SUT.Flows[0].ThroughputGbps = new(math.NaN()) },
			"SUT: flow 0: throughput_gbps: NaN"},
		"many CPUs at once": {func(r *Record) { r.SUT.Flows[1].ThreadCores = new(12.5) },
			"SUT: flow 1: thread_cores: 12.5"},
		"no share": {func(r *Record) { r.TG.Flows[1].RwndLimited = new(-.5) },
			"TG: flow 1: rwnd_limited: -0.5"},
		"the other share": {func(r *Record) { r.TG.Flows[1].SndbufLimited = new(11.0) },
			"TG: flow 1: sndbuf_limited: 11"},
		"another verdict": {func(r *Record) { r.TG.Flows[1].Verdict = "fine" }, `TG: flow 1: unknown verdict "fine"`},
		"another limit":   {func(r *Record) { r.SUT.Flows[1].Limit = "\x1b[2J" }, "SUT: flow 1: "},
		"ok, and a reason": {func(r *Record) { r.SUT.Flows[1].Reason = "copied" },
			`SUT: flow 1: no fault, but a reason: "copied"`},
		"no reason": {func(r *Record) { r.Verdict, r.SUT.Flows[1].Verdict = Invalid, Invalid },
			"SUT: flow 1: verdict invalid without a reason"},
		"a wrong flow of a run that is well": {func(r *Record) {
			r.SUT.Flows[1].Verdict,
				r.SUT.Flows[1].Reason = Invalid, "copied"
		},
			"SUT: flow 1 is invalid in a run with verdict ok"},
		"of one that is not": {func(r *Record) {
			r.Verdict, r.SUT.Flows[1].Verdict, r.SUT.Flows[1].Reason = Invalid,
				Invalid, "copied"
		}, ""},
	} {
		r := flowing(0, 5, 7)
		c.spoil(&r)
		err := Check(r)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A journal with such a run is read, and the line is named.
func TestJournalOfHostileFlows(t *testing.T) {
	good, bad := flowing(0, 5, 7), flowing(1, 5, 7)
	bad.TG.Flows[1].Bytes = new(uint64(1))
	text, err := encodeLine(Header{Kind: journalKind, Schema: SchemaVersion})
	for _, r := range []Record{good, bad} {
		lines, rerr := encodeRun(r)
		text, err = append(text, lines...), errors.Join(err, rerr)
	}
	if err != nil {
		t.Fatal(err)
	}
	j, err := Decode(bytes.NewReader(text))
	if err != nil || len(j.Records) != 1 || len(j.Skipped) != 1 {
		t.Fatalf("%d records, skipped %v, %v", len(j.Records), j.Skipped, err)
	}
	if p := j.Skipped[0]; p.Line != 5 || p.Why != "TG: the 2 flows have 6 bytes together, but the host 12" {
		t.Errorf("%v", p)
	}
}

// No end has more threads than flows; rows of runs.csv, which have none, no more than a run may.
func TestThreadsAreChecked(t *testing.T) {
	for _, x := range []struct {
		flows, threads int
		ok             bool
	}{{0, 0, true}, {0, 4, true}, {0, stream.MaxFlows + 1, false}, {2, 1, true}, {2, 2, true}, {2, 3, false},
		{1, -1, false}} {
		h := Host{Flows: make([]Flow, x.flows), Threads: x.threads}
		if err := h.CheckFlows(); (err == nil) != x.ok {
			t.Errorf("%d threads of %d flows: %v", x.threads, x.flows, err)
		}
	}
}
