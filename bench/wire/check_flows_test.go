// SPDX-License-Identifier: MIT

package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/results"
)

const _ = kind.Pure

// Flows that no end can have are refused, and it is said which.
func TestFlowsAreChecked(t *testing.T) {
	two := func() EndResult {
		r := good()
		r.Host.Flows = []results.Flow{
			{CPU: ptr(2), Queue: ptr(4), Bytes: ptr(uint64(6e8)), ThroughputGbps: ptr(4.8), CPUS: ptr(.9),
				Retrans: ptr(uint64(0)), Verdict: results.OK},
			{CPU: ptr(3), Queue: ptr(5), Bytes: ptr(uint64(4e8)), ThroughputGbps: ptr(3.2), Verdict: results.OK},
		}
		return r
	}
	for name, c := range map[string]struct {
		spoil func(*EndResult)
		want  string // "": it passes
	}{
		"two":  {func(*EndResult) {}, ""},
		"none": {func(r *EndResult) { r.Host.Flows = nil }, ""},
		"ended early": {func(r *EndResult) {
			r.Verdict, r.Reason, r.Host.Flows[1] = results.Failed, "peer gone",
				results.Flow{}
		}, ""},
		"CPU":      {func(r *EndResult) { r.Host.Flows[1].CPU = ptr(-1) }, "host: flows: 1: cpu: -1"},
		"CPU time": {func(r *EndResult) { r.Host.Flows[0].CPUS = ptr(-1.0) }, "host: flows: 0: cpu_s: -1"},
		"beyond a float": {func(r *EndResult) { r.Host.Flows[0].RwndLimited = ptr(1e300) },
			"host: flows: 0: rwnd_limited: 1e+300"},
		"verdict": {func(r *EndResult) { r.Host.Flows[0].Verdict = "\x1b[2J" },
			"host: flows: 0: unknown verdict"},
		"limit": {func(r *EndResult) { r.Host.Flows[0].Limit = "cable" },
			"host: flows: 0: \"cable\" is not a limit"},
		"too many": {func(r *EndResult) { r.Host.Flows = make([]results.Flow, stream.MaxFlows+1) },
			"1025 flows, but a run has at most 1024"},
		"other bytes": {func(r *EndResult) { r.Host.Flows[1].Bytes = ptr(uint64(5e8)) },
			"the 2 flows have 1100000000 bytes together, but the host 1000000000"},
		"other rate": {func(r *EndResult) { r.Host.Flows[1].ThroughputGbps = ptr(4.8) },
			"flow 1: 400000000 bytes in 1 s are not 4.8 Gbit/s"},
		"no rate": {func(r *EndResult) { r.Host.Flows[1].ThroughputGbps = nil },
			"verdict ok, but flow 1: no bytes or throughput"},
		"nothing flowed": {func(r *EndResult) { *r.Host.Flows[0].Bytes, *r.Host.Flows[1].Bytes = 1e9, 0 },
			"verdict ok, but flow 1: nothing flowed"},
		"a flow is wrong": {func(r *EndResult) {
			r.Host.Flows[1].Verdict, r.Host.Flows[1].Reason = results.Invalid,
				"copied"
		}, "flow 1 is invalid in a run with verdict ok"},
	} {
		r := two()
		c.spoil(&r)
		got, err := answered[EndResult](t, r)
		n := (*fault.NonsenseError)(nil)
		if errors.As(err, &n) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && got.Host.Flows != nil {
			t.Errorf("%s: left %+v", name, got.Host.Flows)
		}
	}
	r := two()
	r.Verdict, r.Reason = results.Invalid, "flow 1: copied"
	r.Host.Flows[1].Verdict, r.Host.Flows[1].Reason = results.Invalid, "copied\x1b[2J\nall of it"
	if got, err := answered[EndResult](t, r); err != nil || got.Host.Flows[1].Reason != "copied\ufffd[2J; all of it" {
		t.Errorf("%+v, %v", got.Host.Flows, err)
	}
}
