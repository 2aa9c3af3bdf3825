// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// Delivery times begin at one host and end at the other: between two machines they are no better
// than both offsets are known, on one they have one clock, unless a time namespace gives them two.
func TestClocksOfDelivery(t *testing.T) {
	at := func(boot string, offset, uncertain int64) *host.Host {
		return &host.Host{Info: wire.HelloResult{Env: measure.Env{BootID: boot}}, OffsetNs: offset,
			UncertaintyNs: uncertain}
	}
	for name, x := range map[string]struct {
		tg          *host.Host
		moved, want float64
	}{
		"two machines":         {at("b", 7_000_000, 50_000), 0, 90},
		"that part in the run": {at("b", 7_000_000, 50_000), 300, 390},
		"one machine":          {at("a", 1_060_000, 50_000), 0, 0},
		"time namespaces":      {at("a", 9_000_000, 50_000), 0, 90},
	} {
		r := &Runner{SUT: at("a", 1_000_000, 30_000), TG: x.tg}
		var rec results.Record
		out := outcome{sut: wire.EndResult{Verdict: results.OK,
			Host: results.Host{Delivery: &results.Delivery{Times: results.Times{Count: 1}, ClockUs: new(.001)}}},
			tg: wire.EndResult{Verdict: results.OK}}
		was := int64(2e6) // by the controller's clock, which no delivery time has in it
		out.clockUs = new(clockUs(oneClock(r.SUT, r.TG), host.Drift{MovedNs: was, WithinNs: 40_000},
			host.Drift{MovedNs: was + int64(x.moved*1e3), WithinNs: 50_000}))
		r.fill(&rec, out)
		if d := rec.SUT.Delivery; d == nil || d.ClockUs == nil || *d.ClockUs != x.want {
			t.Errorf("%s: %+v, want %g us, whatever the agent says", name, d, x.want)
		}
		if same := clockOffset(r.TG, r.SUT, r.TG) == r.SUT.OffsetNs; same != (x.want == 0) {
			t.Errorf("%s: offset %d", name, clockOffset(r.TG, r.SUT, r.TG))
		}
		rec, out.sut.Host.Delivery = results.Record{}, nil
		if r.fill(&rec, out); rec.SUT.Delivery != nil {
			t.Errorf("%s: nothing was timed: %+v", name, rec.SUT.Delivery)
		}
	}
}

// The clocks of two machines part while a run lasts: what they were known to before it says too
// little of its times. What both of them part from the controller's does not count.
func TestClocksPartInARun(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, x := range []struct {
		sut, tg         int64
		leastUs, mostUs float64
	}{
		{200 * ms, -100 * ms, 290e3, 350e3},
		{-200 * ms, 0, 190e3, 250e3},
		{200 * ms, 200 * ms, 0, 50e3},
	} {
		r := &Runner{Session: "s", Opt: Options{Duration: time.Second, Addr: "127.0.0.1"}}
		for h, ns := range map[**host.Host]int64{&r.SUT: x.sut, &r.TG: x.tg} {
			t.Setenv(partingClockEnv, fmt.Sprint(ns))
			*h = dialGoverned(t)
		}
		rec := r.Run(t.Context(), governedBy("")[0])
		d := rec.SUT.Delivery
		if rec.Verdict != results.OK || d == nil || d.ClockUs == nil {
			t.Fatalf("%+v: %s %s, delivery %+v", x, rec.Verdict, rec.Reason, d)
		}
		if *d.ClockUs <= x.leastUs || *d.ClockUs > x.mostUs {
			t.Errorf("%+v: the clocks agree to %g us", x, *d.ClockUs)
		}
	}
}
