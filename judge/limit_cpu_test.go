// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// on says which CPUs the flows of an end used: 2, 3, ... have their threads, 12, 13, ... their
// softirq.
func on(h *results.Host) {
	for i := range h.Flows {
		h.Flows[i].CPU, h.Flows[i].SoftirqCPU = new(2+i), new(12+i)
	}
}

// A full CPU limits the flows that used it, and the sum where it is so for each of them. In the
// order of judgement it is where it is for a run of one flow.
func TestFullCPUsOfFlows(t *testing.T) {
	full := func(names ...string) (ms []measure.Metric) {
		for _, n := range names {
			ms = append(ms, measure.Metric{Name: n + "_busy_cores", Value: .98})
		}
		return append(ms, measure.Metric{Name: "cpu_busy_cores", Value: 3}, measure.Metric{Name: "cpu9_busy_cores",
			Value: .5})
	}
	idle, busy, held, sending := side{thread: .4}, side{thread: .99}, side{.6, .5, 0}, side{thread: .99}
	two := []side{idle, idle}
	for name, c := range map[string]struct {
		sut, tg             []side
		sutFull, tgFull     []measure.Metric
		sutAnyhow, tgAnyhow bool // not pinned
		change              func(*results.Record)
		flows               []plan.LimitedBy
		sum                 plan.LimitedBy
	}{
		"one's thread's CPU": {sut: two, tg: two, sutFull: full("cpu3"), flows: []plan.LimitedBy{"", plan.ByReceiver}},
		"one's softirq": {sut: two, tg: []side{held, held}, sutFull: full("cpu13"),
			flows: []plan.LimitedBy{plan.ByWindow, plan.ByReceiver}},
		"the CPU of nobody": {sut: two, tg: two, sutFull: full("cpu7"), tgFull: full("cpu7"),
			flows: []plan.LimitedBy{"", ""}},
		"each its own": {sut: two, tg: []side{held, held}, sutFull: full("cpu2", "cpu13"),
			flows: []plan.LimitedBy{plan.ByReceiver, plan.ByReceiver}, sum: plan.ByReceiver},
		"the softirq of both": {sut: two, tg: []side{held, idle}, sutFull: full("cpu12"),
			change: func(r *results.Record) { r.SUT.Flows[1].SoftirqCPU = new(12) },
			flows: []plan.LimitedBy{plan.ByReceiver,
				plan.ByReceiver},
			sum: plan.ByReceiver},
		"a thread, and a CPU": {sut: []side{busy, idle}, tg: two, sutFull: full("cpu3"),
			flows: []plan.LimitedBy{plan.ByReceiver, plan.ByReceiver}, sum: plan.ByReceiver},
		"a sender comes first": {sut: two, tg: []side{sending, held}, sutFull: full("cpu2", "cpu3"),
			flows: []plan.LimitedBy{plan.BySender, plan.ByReceiver}},
		"one of four at its receiver, the others at their senders": {
			sut: []side{busy, idle, idle, idle}, tg: []side{held, sending, sending, sending},
			sutFull: full("cpu2"), tgFull: full("cpu3", "cpu4", "cpu5"),
			flows: []plan.LimitedBy{plan.ByReceiver, plan.BySender, plan.BySender, plan.BySender}},
		"one at its sender": {sut: two, tg: []side{sending, idle}, tgFull: full("cpu2"),
			flows: []plan.LimitedBy{plan.BySender, ""}},
		"the senders' softirq": {sut: two, tg: two, tgFull: full("cpu12", "cpu3"),
			flows: []plan.LimitedBy{plan.BySender, plan.BySender}, sum: plan.BySender},
		"a window comes before": {sut: two, tg: []side{held, idle}, tgFull: full("cpu2", "cpu3"),
			flows: []plan.LimitedBy{plan.ByWindow, plan.BySender}},
		"one moved nothing": {sut: two, tg: two, sutFull: full("cpu2"),
			change: func(r *results.Record) { r.SUT.Flows[1].Bytes = new(uint64(0)) },
			flows:  []plan.LimitedBy{plan.ByReceiver, ""}, sum: plan.ByReceiver},
		"filled by busy polling": {sut: two, tg: two, flows: []plan.LimitedBy{"", plan.ByReceiver},
			sutFull: append(full("cpu12", "cpu13"), measure.Metric{Name: measure.MetricBusyPolls, Value: 1},
				measure.Metric{Name: measure.MetricPollerCores, Of: []string{"12"}, Value: .97})},
		"a poller of one or all": {sut: two, tg: two,
			sutFull: []measure.Metric{{Name: measure.MetricBusiestPoller, Value: 1}},
			flows:   []plan.LimitedBy{"", ""}},
		"a poller of its queue": {sut: two, tg: []side{held, held},
			sutFull: []measure.Metric{{Name: measure.MetricBusiestPoller, Value: 1}},
			change: func(r *results.Record) {
				r.SUT.Flows[0].PollerCores, r.SUT.Flows[1].PollerCores = new(.5),
					new(.97)
			},
			flows: []plan.LimitedBy{plan.ByWindow, plan.ByReceiver}},
		"the poller of both": {sut: two, tg: two,
			sutFull: []measure.Metric{{Name: measure.MetricBusiestPoller, Value: 1}},
			change: func(r *results.Record) {
				r.SUT.Flows[0].PollerCores, r.SUT.Flows[1].PollerCores = new(.97),
					new(.97)
			},
			flows: []plan.LimitedBy{plan.ByReceiver, plan.ByReceiver}, sum: plan.ByReceiver},
		"not pinned, a poller of one": {sut: two, tg: two, sutAnyhow: true,
			sutFull: []measure.Metric{{Name: measure.MetricBusiestPoller, Value: 1}},
			change: func(r *results.Record) {
				r.SUT.Flows[0].PollerCores, r.SUT.Flows[1].PollerCores = new(1.),
					new(.3)
			},
			flows: []plan.LimitedBy{plan.ByReceiver, ""}},
		"a poller, while that of another queue busy-polls": {sut: two, tg: two, sutFull: append(full("cpu12", "cpu13"),
			measure.Metric{Name: measure.MetricBusyPolls, Value: 1},
			measure.Metric{Name: measure.MetricPollerCores, Of: []string{"12"}, Value: .97},
			measure.Metric{Name: measure.MetricPollerCores, Of: []string{"13"}, Value: .98}),
			change: func(r *results.Record) { r.SUT.Flows[1].PollerCores = new(.97) },
			flows:  []plan.LimitedBy{"", plan.ByReceiver}},
		"not pinned, a poller": {sut: two, tg: two, sutAnyhow: true,
			sutFull: []measure.Metric{{Name: measure.MetricBusiestPoller, Value: 1}}, flows: []plan.LimitedBy{"", ""},
			sum: plan.ByReceiver},
		"not pinned": {sut: two, tg: two, sutAnyhow: true, sutFull: full("cpu3"), flows: []plan.LimitedBy{"", ""},
			sum: plan.ByReceiver},
		"senders not pinned": {sut: two, tg: two, tgAnyhow: true, tgFull: full("cpu3"), flows: []plan.LimitedBy{"", ""},
			sum: plan.BySender},
		"receivers not pinned, before the senders' CPUs": {sut: two, tg: two, sutAnyhow: true, sutFull: full("cpu3"),
			tgFull: full("cpu2", "cpu3"),
			flows:  []plan.LimitedBy{plan.BySender, plan.BySender}, sum: plan.ByReceiver},
	} {
		r := limitedRun(c.sut, c.tg, nil)
		r.SUT.Metrics, r.TG.Metrics = c.sutFull, c.tgFull
		if !c.sutAnyhow {
			on(&r.SUT)
		}
		if !c.tgAnyhow {
			on(&r.TG)
		}
		if c.change != nil {
			c.change(&r)
		}
		Conclude(&r)
		var got []plan.LimitedBy
		for _, f := range r.SUT.Flows {
			got = append(got, f.Limit)
		}
		if !slices.Equal(got, c.flows) || r.Limit != c.sum {
			t.Errorf("%s: flows %q, sum %q; want %q, %q", name, got, r.Limit, c.flows, c.sum)
		}
	}
	if r := (results.Record{Cell: plan.Cell{Flows: 2}}); flowCPUFull(&r.SUT, 1) || flowLimit(&r, 1) != "" {
		t.Error("a flow that is not there")
	}
}

// flows.csv and runs.csv say the same of a run with one flow, whatever it is.
func TestLimitOfTheOnlyFlow(t *testing.T) {
	link := map[string]float64{measure.MetricLinkSpeed: 41e9, "tcp_info_snd_mss": 4096}
	for name, c := range map[string]struct {
		sut, tg side
		pace    int
		metrics map[string]float64 // of both
		onlyTG  []measure.Metric
		want    plan.LimitedBy
	}{
		"a CPU of the receiver": {side{thread: .6}, side{.5, .3, 0}, 0, map[string]float64{"cpu3_busy_cores": 1}, nil,
			plan.ByReceiver},
		"a CPU of the sender": {side{thread: .6}, side{thread: .5}, 0, nil,
			[]measure.Metric{{Name: "cpu0_busy_cores", Value: 1}}, plan.BySender},
		"the link":   {side{thread: .99}, side{.5, .3, 0}, 0, link, nil, plan.ByLink},
		"the pace":   {side{thread: .99}, side{thread: .5}, 40e9, nil, nil, plan.ByPace},
		"the window": {side{thread: .6}, side{.5, .3, 0}, 0, nil, nil, plan.ByWindow},
		"not known":  {side{thread: .6}, side{thread: .5}, 0, nil, nil, ""},
	} {
		r := limitedRun([]side{c.sut}, []side{c.tg}, c.metrics)
		r.TG.Metrics = append(r.TG.Metrics, c.onlyTG...)
		r.Cell.PaceBitsPS = c.pace
		on(&r.SUT)
		on(&r.TG)
		if Conclude(&r); r.Limit != c.want || r.SUT.Flows[0].Limit != c.want {
			t.Errorf("%s: the run %q, its flow %q; want %q", name, r.Limit, r.SUT.Flows[0].Limit, c.want)
		}
	}
}
