// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// side is what is known of a flow's thread at one end, and of its sender's waits.
type side struct{ thread, rwnd, sndbuf float64 }

func limitedRun(sut, tg []side, metrics map[string]float64) results.Record {
	r := results.Record{Cell: plan.Cell{Flows: len(sut)}, SUT: results.Host{ThroughputGbps: new(40.0),
		DurationS: new(2.0)},
		TG: results.Host{DurationS: new(2.0)}}
	for _, x := range sut {
		r.SUT.Flows = append(r.SUT.Flows, results.Flow{Bytes: new(uint64(1e9)), ThreadCores: new(x.thread)})
	}
	for _, x := range tg {
		r.TG.Flows = append(r.TG.Flows, results.Flow{Bytes: new(uint64(1e9)), ThreadCores: new(x.thread),
			RwndLimited: new(x.rwnd), SndbufLimited: new(x.sndbuf)})
	}
	for name, v := range metrics {
		r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: name, Value: v})
		r.TG.Metrics = append(r.TG.Metrics, measure.Metric{Name: name, Value: v})
	}
	return r
}

// What limits each flow, and what limits all of them together.
func TestFlowLimits(t *testing.T) {
	idle, busy := side{thread: .4}, side{thread: .99}
	// 40 Gbit/s with headers are 40.9
	link := map[string]float64{measure.MetricLinkSpeed: 41e9, "tcp_info_snd_mss": 4096}
	for name, c := range map[string]struct {
		sut, tg []side
		metrics map[string]float64
		sutOnly map[string]float64
		flows   []plan.LimitedBy
		sum     plan.LimitedBy
	}{
		"a flow bound by its sender, a sum bound by the link": {[]side{idle, idle}, []side{busy, idle}, link, nil,
			[]plan.LimitedBy{plan.BySender, ""}, plan.ByLink},
		"a link that is not full": {[]side{idle, idle}, []side{busy, busy},
			map[string]float64{measure.MetricLinkSpeed: 50e9, "link_mtu": 4148}, nil,
			[]plan.LimitedBy{plan.BySender, plan.BySender},
			plan.BySender},
		"all by their senders": {[]side{idle, busy}, []side{busy, busy}, nil, nil,
			[]plan.LimitedBy{plan.BySender, plan.BySender}, plan.BySender},
		"one of two by its sender": {[]side{idle, idle}, []side{busy, idle}, nil, nil,
			[]plan.LimitedBy{plan.BySender, ""}, ""},
		"a sender that the window held up": {[]side{idle, busy}, []side{{.99, .5, 0}, {.99, .5, 0}}, nil, nil,
			[]plan.LimitedBy{plan.ByWindow, plan.ByReceiver}, ""},
		"all by their receivers": {[]side{busy, busy}, []side{{.6, .5, 0}, {.6, .3, 0}}, nil, nil,
			[]plan.LimitedBy{plan.ByReceiver, plan.ByReceiver}, plan.ByReceiver},
		"all by the window": {[]side{idle, idle}, []side{{.6, .2, 0}, {.6, 0, .7}}, nil, nil,
			[]plan.LimitedBy{plan.ByWindow, plan.ByWindow}, plan.ByWindow},
		"windows, and a CPU of the receivers' softirq": {[]side{idle, idle}, []side{{.6, .2, 0}, {.6, 0, .7}}, nil,
			map[string]float64{"cpu3_busy_cores": 1}, []plan.LimitedBy{plan.ByWindow, plan.ByWindow}, plan.ByReceiver},
		"a CPU of the receivers' softirq, and no agreement": {[]side{idle, busy}, []side{idle, idle}, nil,
			map[string]float64{"cpu3_busy_cores": 1}, []plan.LimitedBy{"", plan.ByReceiver}, plan.ByReceiver},
		"nothing was full": {[]side{idle, idle, idle}, []side{idle, idle, idle}, nil, nil,
			[]plan.LimitedBy{"", "", ""}, ""},
		"one flow, by its fields": {[]side{busy}, []side{{.5, .3, 0}}, nil, nil, []plan.LimitedBy{plan.ByReceiver},
			plan.ByReceiver},
		"threads together are not one": {[]side{idle, idle}, []side{idle, idle},
			map[string]float64{"thread_data_path_run_cores": 1.2}, nil,
			[]plan.LimitedBy{"", ""}, ""},
	} {
		r := limitedRun(c.sut, c.tg, c.metrics)
		for name, v := range c.sutOnly {
			r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: name, Value: v})
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
}

// A flow that moved nothing has no say in what limited the sum; a pace is of all together.
func TestLimitOfTheSum(t *testing.T) {
	r := limitedRun([]side{{thread: .99}, {thread: .1}}, []side{{thread: .5, rwnd: .4}, {thread: .1}}, nil)
	if r.SUT.Flows[1].Bytes = new(uint64(0)); FindLimit(&r) != plan.ByReceiver {
		t.Errorf("%q", FindLimit(&r))
	}
	if r.Cell.PaceBitsPS = 40e9; FindLimit(&r) != plan.ByPace || flowLimit(&r, 0) != plan.ByReceiver {
		t.Errorf("%q, flow 0 %q", FindLimit(&r), flowLimit(&r, 0))
	}
}

// Records of older versions have one flow without figures of its own: its host's metrics are.
func TestLimitOfOldRecords(t *testing.T) {
	for _, flows := range [][]results.Flow{nil, {{Bytes: new(uint64(1e9))}}} {
		r := results.Record{SUT: results.Host{ThroughputGbps: new(10.0), Flows: flows},
			TG: results.Host{DurationS: new(2.0), Flows: flows}}
		r.SUT.Metrics = []measure.Metric{{Name: "thread_data_path_run_cores", Value: .97}}
		r.TG.Metrics = []measure.Metric{{Name: "thread_data_path_run_cores", Value: .98},
			{Name: "tcp_info_rwnd_limited_us",
				Value: 1e6}}
		if got := FindLimit(&r); got != plan.ByReceiver {
			t.Errorf("%d flows: %q", len(flows), got)
		}
		if r.TG.Metrics[1].Value = 0; FindLimit(&r) != plan.BySender {
			t.Errorf("%d flows: %q", len(flows), FindLimit(&r))
		}
	}
}
