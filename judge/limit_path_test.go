// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// slowPath is a run of flows behind a slow path: TCP had data all the time, and all threads and
// CPUs had time left. The threads are on CPUs 2, 3, ..., the softirqs on 12, 13, ...
func slowPath(flows int) results.Record {
	sides := slices.Repeat([]side{{thread: .3}}, flows)
	r := limitedRun(sides, sides, nil)
	for _, h := range []*results.Host{&r.SUT, &r.TG} {
		on(h)
		for i := range h.Flows {
			h.Flows[i].SoftirqCPUs = []int{*h.Flows[i].SoftirqCPU}
		}
		h.Metrics = busy(map[string][2]float64{"2": {.5, 0}, "3": {.5, 0}, "12": {.4, .4}, "13": {.4, .4}})
	}
	for i := range r.TG.Flows {
		r.TG.Flows[i].TCPBusy, r.TG.Flows[i].AppLimited = new(.99), new(false)
	}
	return r
}

// What holds up a flow whose TCP always has something to send, while both ends have time left, is
// the way between them, or the congestion window. Whatever is lacking of that evidence, the limit
// is what it was before.
func TestPathLimit(t *testing.T) {
	cpu := func(h *results.Host, n string, v float64) {
		i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == "cpu"+n+"_busy_cores" })
		h.Metrics[i].Value = v
	}
	forget := func(h *results.Host, n string) {
		h.Metrics = slices.DeleteFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == "cpu"+n+"_busy_cores" })
	}
	for name, c := range map[string]struct {
		change func(r *results.Record, tx *results.Flow)
		want   plan.LimitedBy
	}{
		"a slow path":                  {func(*results.Record, *results.Flow) {}, plan.ByPath},
		"not always something to send": {func(_ *results.Record, tx *results.Flow) { tx.TCPBusy = new(.7) }, ""},
		"an old record":                {func(_ *results.Record, tx *results.Flow) { tx.TCPBusy = nil }, ""},
		"the application was slow":     {func(_ *results.Record, tx *results.Flow) { tx.AppLimited = new(true) }, ""},
		"not known whether it was":     {func(_ *results.Record, tx *results.Flow) { tx.AppLimited = nil }, ""},
		"the window": {func(_ *results.Record, tx *results.Flow) { tx.RwndLimited = new(.3) },
			plan.ByWindow},
		"window and buffer together": {func(_ *results.Record, tx *results.Flow) {
			tx.RwndLimited, tx.SndbufLimited = new(.15), new(.15)
		}, ""},
		"their times are not known": {func(_ *results.Record, tx *results.Flow) { tx.RwndLimited = nil }, ""},
		"the sender's thread full": {func(_ *results.Record, tx *results.Flow) { tx.ThreadCores = new(.97) },
			plan.BySender},
		"nearly so": {func(_ *results.Record, tx *results.Flow) { tx.ThreadCores = new(.9) }, ""},
		"not known": {func(_ *results.Record, tx *results.Flow) { tx.ThreadCores = nil }, ""},
		"the receiver's thread nearly": {func(r *results.Record, _ *results.Flow) {
			r.SUT.Flows[0].ThreadCores = new(.9)
		}, ""},
		"the receiver's softirq": {func(r *results.Record, _ *results.Flow) { cpu(&r.SUT, "12", .99) },
			plan.ByReceiver},
		"nearly that":        {func(r *results.Record, _ *results.Flow) { cpu(&r.SUT, "12", .9) }, ""},
		"nobody measured it": {func(r *results.Record, _ *results.Flow) { forget(&r.SUT, "12") }, ""},
		"the sender's CPU": {func(r *results.Record, _ *results.Flow) { cpu(&r.TG, "2", .98) },
			plan.BySender},
		"nearly the sender's CPU": {func(r *results.Record, _ *results.Flow) { cpu(&r.TG, "2", .85) }, ""},
		"a thread that polls": {func(r *results.Record, _ *results.Flow) {
			r.SUT.Flows[0].PollerCores = new(.9)
		}, ""},
		"a thread that polls something": {func(r *results.Record, _ *results.Flow) {
			r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: measure.MetricBusiestPoller, Value: .9})
		}, ""},
		"the receiver dropped": {func(r *results.Record, _ *results.Flow) { r.SUT.RXDrops = new(uint64(1)) }, ""},
		"it dropped none": {func(r *results.Record, _ *results.Flow) { r.SUT.RXDrops = new(uint64(0)) },
			plan.ByPath},
		"its NIC had no buffer": {func(r *results.Record, _ *results.Flow) {
			r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: "qstats_rx0_alloc_fail", Value: 3})
		}, ""},
		"that never grew": {func(r *results.Record, _ *results.Flow) {
			r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: "qstats_rx0_alloc_fail"})
		}, plan.ByPath},
		"round trips": {func(r *results.Record, _ *results.Flow) { r.Cell.RX, r.Cell.TX = "tcp", "rr" }, ""},
		"a pace that was kept": {func(r *results.Record, _ *results.Flow) { r.Cell.PaceBitsPS = 40e9 },
			plan.ByPace},
		"a pace that it did not take": {func(r *results.Record, _ *results.Flow) { r.Cell.PaceBitsPS = 80e9 },
			plan.ByPath},
		"not pinned": {func(_ *results.Record, tx *results.Flow) { tx.CPU = nil }, plan.ByPath},
		"not pinned, and a CPU is busy": {func(r *results.Record, tx *results.Flow) {
			tx.CPU = nil
			cpu(&r.TG, "13", .9)
		}, ""},
		"not pinned, and no CPU is known": {func(r *results.Record, tx *results.Flow) {
			tx.CPU, r.TG.Metrics = nil, nil
		}, ""},
		"not known where its softirq was": {func(r *results.Record, _ *results.Flow) {
			r.SUT.Flows[0].SoftirqCPU, r.SUT.Flows[0].SoftirqCPUs = nil, nil
		}, plan.ByPath},
		"nor that, on one machine": {func(r *results.Record, _ *results.Flow) {
			r.SUT.Flows[0].SoftirqCPU, r.SUT.Flows[0].SoftirqCPUs = nil, nil
			r.Flags = []string{results.FlagSharedMachine}
		}, ""},
		"measured by the other end of the machine": {func(r *results.Record, _ *results.Flow) {
			forget(&r.SUT, "12")
			r.Flags = []string{results.FlagSharedMachine}
		}, plan.ByPath},
	} {
		r := slowPath(1)
		c.change(&r, &r.TG.Flows[0])
		if Conclude(&r); r.Limit != c.want || r.SUT.Flows[0].Limit != c.want {
			t.Errorf("%s: %q, its flow %q; want %q", name, r.Limit, r.SUT.Flows[0].Limit, c.want)
		}
	}
}

// The sum of several flows is the path's where each of them is.
func TestPathOfSeveralFlows(t *testing.T) {
	r := slowPath(2)
	if Conclude(&r); r.Limit != plan.ByPath || r.SUT.Flows[1].Limit != plan.ByPath {
		t.Errorf("%q, %q", r.Limit, r.SUT.Flows[1].Limit)
	}
	r.TG.Flows[1].RwndLimited = new(.5)
	if Conclude(&r); r.Limit != "" || r.SUT.Flows[0].Limit != plan.ByPath || r.SUT.Flows[1].Limit != plan.ByWindow {
		t.Errorf("%q, flows %q and %q", r.Limit, r.SUT.Flows[0].Limit, r.SUT.Flows[1].Limit)
	}
}
