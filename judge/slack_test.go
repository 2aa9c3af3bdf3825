// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// The time between two packets is what one costs where what received had no time left, and nothing
// else had its CPU.
func TestSlack(t *testing.T) {
	pps := 10e6
	metric := func(name string, v float64) measure.Metric { return measure.Metric{Name: name, Value: v} }
	for name, x := range map[string]struct {
		rx      string
		busy    *float64
		poller  *float64
		thread  *float64
		metrics []measure.Metric
		limit   plan.LimitedBy
		want    results.Slack
		warns   string
	}{
		"a full CPU": {rx: "udp", busy: new(1.)},
		"a CPU that is full of polls": {rx: "udp", busy: new(1.), metrics: []measure.Metric{
			metric(measure.MetricAppSpin, .2)}, want: results.SlackIdle,
			warns: "idle: what received had time left (0.80 cores used)"},
		"half of one": {rx: "udp", busy: new(.5), want: results.SlackIdle,
			warns: "100.0 ns, is not what a packet costs: idle: what received had time left (0.50 cores used)"},
		"not measured": {rx: "udp"},
		"by its pace":  {rx: "udp", busy: new(.94), limit: plan.ByPace, want: results.SlackIdle, warns: "idle"},
		"the sender's limit": {rx: "udp", busy: new(1.), limit: plan.BySender, want: results.SlackSender,
			warns: "sender: the sender was slower"},
		"two CPUs, half each": {rx: "udp", busy: new(1.), metrics: []measure.Metric{metric("cpu0_busy_cores", .5),
			metric("cpu1_busy_cores", .5), metric("cpu_busy_cores", 1)}, want: results.SlackIdle, warns: "0.50 cores"},
		"two CPUs, one full": {rx: "udp", busy: new(1.4), metrics: []measure.Metric{metric("cpu0_busy_cores", .4),
			metric("cpu1_busy_cores", 1)}},
		"a thread that is full": {rx: "xdp-drop", busy: new(1.), poller: new(.98)},
		"a thread beside others": {rx: "xdp-drop", busy: new(1.), poller: new(.6), want: results.SlackShared,
			warns: "shared: what received shared its CPU with others (0.60 cores used)"},
		"a thread that had time": {rx: "xdp-drop", busy: new(.7), poller: new(.6), want: results.SlackIdle,
			warns: "idle"},
		"threads on a CPU each, one full": {rx: "udp-recv", busy: new(1.5), poller: new(.5), thread: new(1.),
			metrics: []measure.Metric{metric(measure.MetricBusiestPoller, .5), metric("cpu0_busy_cores", .5),
				metric("cpu1_busy_cores", 1)}},
		"threads on a CPU each, none": {rx: "udp-recv", busy: new(1.2), poller: new(.6), thread: new(.6),
			metrics: []measure.Metric{metric(measure.MetricBusiestPoller, .6), metric("cpu0_busy_cores", .6),
				metric("cpu1_busy_cores", .6)}, want: results.SlackIdle, warns: "0.60"},
		"two threads on one full CPU": {rx: "udp-recv", busy: new(1.), poller: new(.7), thread: new(.29),
			metrics: []measure.Metric{metric(measure.MetricBusiestPoller, .7), metric("cpu1_busy_cores", 1)}},
		"threads told to have run longer": {rx: "udp-recv", busy: new(1.), poller: new(.75), thread: new(.46)},
		"round trips":                     {rx: "udp", busy: new(.5)},
	} {
		r := results.Record{Cell: plan.Cell{RX: x.rx, TX: "udp"}, Verdict: results.OK, Limit: x.limit}
		if name == "round trips" {
			r.Cell.TX = "udp-rr"
		}
		r.SUT = results.Host{PacketsPerS: &pps, CPUBusyCores: x.busy, CPUPollerCores: x.poller, Metrics: x.metrics,
			DurationS: new(1.), Flows: []results.Flow{{CPUS: x.thread}}}
		for range 2 { // to judge it again changes nothing
			slack(&r)
		}
		if got := r.Slack(); got != x.want || slices.Contains(r.Flags, results.FlagUnsaturated) != (x.want != "") {
			t.Errorf("%s: %q, flags %q; want %q", name, got, r.Flags, x.want)
		}
		if (x.warns == "") != (len(r.Warnings) == 0) || len(r.Warnings) > 1 ||
			!strings.Contains(strings.Join(r.Warnings, ""), x.warns) {
			t.Errorf("%s: %q, want %q", name, r.Warnings, x.warns)
		}
	}
	stream := results.Record{Cell: plan.Cell{RX: "tcp", TX: "tcp"}, SUT: results.Host{CPUBusyCores: new(.5)}}
	if slack(&stream); stream.Slack() != "" || len(stream.Flags) > 0 {
		t.Errorf("a stream: %q", stream.Flags)
	}
}
