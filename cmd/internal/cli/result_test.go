// SPDX-License-Identifier: MIT

package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// An end that never had a flow has the keys that a reader relies on, and no figure
// under those that it did not measure.
func TestReportWithoutFlow(t *testing.T) {
	spec := wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "zcrx", Touch: "verify"}}
	read := func(r wire.EndResult) map[string]any {
		b, err := json.Marshal(newEndReport("zcrecv", spec, r, true))
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		if err := json.Unmarshal(b, &keys); err != nil {
			t.Fatal(err)
		}
		return keys
	}
	none := wire.EndResult{Verdict: results.Unsupported, Reason: "no", Linear: true}
	keys := read(none)
	for _, k := range []string{"duration_s", "throughput_gbps", "cpu_user_s", "cpu_sys_s"} {
		if v, ok := keys[k]; !ok || v != nil {
			t.Errorf("%s: %v, want null", k, v)
		}
	}
	for _, k := range []string{"cpu_s_per_gb", "zero_copy_bytes", "copied_bytes", "linear_bytes", "mismatches"} {
		if v, ok := keys[k]; ok {
			t.Errorf("%s: %v, want none", k, v)
		}
	}
	var out, stderr bytes.Buffer
	newEndReport("zcrecv", spec, none, true).Print(&out, &stderr, false)
	if !strings.Contains(out.String(), "- Gbit/s  no flow  unsupported") {
		t.Errorf("%q", out.String())
	}

	flow := read(wire.EndResult{Verdict: results.OK, FlowNs: 2e9, Total: stream.Counters{Bytes: 1e9}})
	for k, want := range map[string]float64{"duration_s": 2, "throughput_gbps": 4, "cpu_user_s": 0, "mismatches": 0,
		"zero_copy_bytes": 0, "cpu_s_per_gb": 0} {
		if v, ok := flow[k].(float64); !ok || v != want {
			t.Errorf("%s: %v, want %v", k, flow[k], want)
		}
	}
}

// What was written of a flow, as many bytes as came, has the flow's rate: they are of one time.
func TestThenOfTheFlow(t *testing.T) {
	spec := wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp", Then: plan.ThenWrite("/var/tmp")}}
	host := results.Host{Then: &results.Way{Bytes: 1e9, ThroughputGbps: 1}}
	rep := newEndReport("zcrecv", spec, wire.EndResult{Verdict: results.OK, FlowNs: 2e9,
		Total: stream.Counters{Bytes: 1e9}, Host: host}, false)
	if *rep.ThroughputGbps != 4 || rep.Then.ThroughputGbps != 4 || host.Then.ThroughputGbps != 1 {
		t.Errorf("%v Gbit/s came, %v were written; the host has %v", *rep.ThroughputGbps, rep.Then.ThroughputGbps,
			host.Then.ThroughputGbps)
	}
	var out, stderr bytes.Buffer
	rep.Print(&out, &stderr, false)
	if !strings.Contains(out.String(), "written 4.0") {
		t.Errorf("%q", out.String())
	}
}
