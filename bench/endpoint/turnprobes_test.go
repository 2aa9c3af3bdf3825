// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/machine/ledger"
)

// What was counted in several turns is the sum of what was counted in each, and of what was counted
// between them nothing is in it.
func TestProbesOfTurns(t *testing.T) {
	reading := func(n uint64, atNs int64) probeReading {
		h := bpf.StageHist{Stage: "tcp-read"}
		h.Hist.Bucket[100], h.Hist.Sum, h.Hist.Max = n, 10*n, 20
		call := bpf.Call{Name: "recvfrom", Calls: n, Sum: time.Duration(5 * n)}
		return probeReading{atNs: atNs, latency: []bpf.StageHist{h}, calls: []bpf.Call{call},
			counts: []bpf.Count{{Name: "napi_polls", Value: 3 * n}}, missed: n}
	}
	var sum probeSeen
	for _, turn := range [][2]uint64{{100, 107}, {1000, 1004}} { // 893 are another's
		from, to := reading(turn[0], 1000), reading(turn[1], 1050)
		sum.add(new(seenBetween(&from, &to)))
	}
	h := sum.latency[0].Hist
	if h.Count() != 11 || h.Sum != 110 || len(sum.latency) != 1 {
		t.Errorf("%d packets, %d ns", h.Count(), h.Sum)
	}
	if c := sum.calls; len(c) != 1 || c[0].Calls != 11 || c[0].Sum != 55 {
		t.Errorf("calls %+v", c)
	}
	if c := sum.counts; len(c) != 1 || c[0].Value != 33 || sum.missed != 11 || sum.wallNs != 100 || sum.err != nil {
		t.Errorf("%+v, %d missed in %d ns, %v", c, sum.missed, sum.wallNs, sum.err)
	}
	sum = probeSeen{counted: []ledger.Counted{{Name: "a", Count: 1}}}
	sum.add(&probeSeen{counted: []ledger.Counted{{Name: "a", Count: 2}, {Name: "b", Count: 4}}})
	if c := sum.counted; len(c) != 2 || c[0].Count != 3 || c[1].Count != 4 {
		t.Errorf("%+v", c)
	}
}
