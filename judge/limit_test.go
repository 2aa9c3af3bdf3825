// SPDX-License-Identifier: MIT

package judge

import (
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func TestFindLimit(t *testing.T) {
	type figures map[string]float64
	host := func(f figures) results.Host {
		h := results.Host{DurationS: new(2.0)}
		for name, v := range f {
			h.Metrics = append(h.Metrics, measure.Metric{Name: name, Value: v})
		}
		return h
	}
	const run, wait, rwnd, sndbuf = "thread_data_path_run_cores", "thread_data_path_wait_cores",
		"tcp_info_rwnd_limited_us", "tcp_info_sndbuf_limited_us"
	for name, c := range map[string]struct {
		gbps    float64
		pace    int
		sut, tg figures
		want    plan.LimitedBy
	}{
		"the sender's thread":             {10, 0, figures{run: .43}, figures{run: 1}, plan.BySender},
		"both threads, nobody waits":      {10, 0, figures{run: .98}, figures{run: .99, rwnd: 1000}, plan.BySender},
		"both threads, the window closed": {10, 0, figures{run: .98}, figures{run: .99, rwnd: 1.5e6}, plan.ByReceiver},
		"the receiver's thread":           {10, 0, figures{run: .96}, figures{run: .5, rwnd: 1.5e6}, plan.ByReceiver},
		"that had to wait for its CPU":    {10, 0, figures{run: .6, wait: .39}, figures{run: .5}, plan.ByReceiver},
		"the receiver's thread spun": {10, 0, figures{run: 1, measure.MetricAppSpin: .1, "cpu3_busy_cores": 1},
			figures{run: .5}, ""},
		"the receiver's softirq": {10, 0, figures{run: .6, "cpu3_busy_cores": .99, "cpu4_busy_cores": .6},
			figures{run: .5}, plan.ByReceiver},
		"the sender's softirq": {10, 0, figures{run: .6}, figures{run: .5, "cpu0_busy_cores": 1}, plan.BySender},
		"all CPUs together are not one": {10, 0, figures{run: .6, "cpu_busy_cores": 1.3},
			figures{run: .5, "cpu_busy_cores": 1.1}, ""},
		"the receive window":         {10, 0, figures{run: .4}, figures{run: .5, rwnd: .5e6}, plan.ByWindow},
		"the sender's buffer":        {10, 0, figures{run: .4}, figures{run: .5, sndbuf: 1e6}, plan.ByWindow},
		"sender full, window closed": {10, 0, figures{run: .4}, figures{run: 1, rwnd: 1e6}, plan.ByWindow},
		"the pace":                   {.995, 1e9, figures{run: .1}, figures{run: 1}, plan.ByPace},
		"the pace was missed":        {.98, 1e9, figures{run: .1}, figures{run: 1}, plan.BySender},
		"the link": {96.5, 0, figures{measure.MetricLinkSpeed: 100e9, run: 1},
			figures{run: 1, "tcp_info_snd_mss": 4096}, plan.ByLink},
		"headers do not fill it": {92, 0, figures{measure.MetricLinkSpeed: 100e9, run: 1},
			figures{run: .5, "tcp_info_snd_mss": 4096}, plan.ByReceiver},
		"small segments fill it sooner": {92, 0, figures{measure.MetricLinkSpeed: 100e9, run: 1},
			figures{run: .5, "tcp_info_snd_mss": 1448}, plan.ByLink},
		"nothing was full":                 {10, 0, figures{run: .4}, figures{run: .5}, ""},
		"nothing was measured":             {10, 0, nil, nil, ""},
		"nothing passed, and its CPU full": {0, 0, figures{run: 1}, figures{run: 1}, ""},
	} {
		r := results.Record{SUT: host(c.sut), TG: host(c.tg)}
		r.SUT.ThroughputGbps, r.Cell.PaceBitsPS = &c.gbps, c.pace
		if got := FindLimit(&r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
