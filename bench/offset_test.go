// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/results"
)

// Delivery times begin at one host and end at the other: between two machines they are no better
// than both offsets are known, on one they have one clock, unless a time namespace gives them two.
func TestClocksOfDelivery(t *testing.T) {
	at := func(boot string, offset, uncertain int64) *host.Host {
		return &host.Host{Info: wire.HelloResult{Env: results.Env{BootID: boot}}, OffsetNs: offset, UncertaintyNs: uncertain}
	}
	for name, x := range map[string]struct {
		tg   *host.Host
		want float64
	}{
		"two machines":    {at("b", 7_000_000, 50_000), 80},
		"one machine":     {at("a", 1_060_000, 50_000), 0},
		"time namespaces": {at("a", 9_000_000, 50_000), 80},
	} {
		r := &Runner{SUT: at("a", 1_000_000, 30_000), TG: x.tg}
		var rec results.Record
		out := outcome{sut: wire.EndResult{Verdict: results.OK, Host: results.Host{Delivery: &results.Delivery{Count: 1, ClockUs: new(.001)}}}, tg: wire.EndResult{Verdict: results.OK}}
		r.fill(&rec, out)
		if d := rec.SUT.Delivery; d == nil || d.ClockUs == nil || *d.ClockUs != x.want {
			t.Errorf("%s: %+v, want %g us, whatever the agent says", name, d, x.want)
		}
		if same := r.offset(r.TG) == r.SUT.OffsetNs; same != (x.want == 0) {
			t.Errorf("%s: offset %d", name, r.offset(r.TG))
		}
		rec, out.sut.Host.Delivery = results.Record{}, nil
		if r.fill(&rec, out); rec.SUT.Delivery != nil {
			t.Errorf("%s: nothing was timed: %+v", name, rec.SUT.Delivery)
		}
	}
}
