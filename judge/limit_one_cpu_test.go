// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// busy makes the figures of CPUs: how busy each was, and how much of that was softirq.
func busy(cpus map[string][2]float64) (ms []measure.Metric) {
	for cpu, x := range cpus {
		ms = append(ms, measure.Metric{Name: "cpu" + cpu + "_busy_cores", Value: x[0]},
			measure.Metric{Name: "cpu" + cpu + "_soft_cores", Value: x[1]})
	}
	return ms
}

// A veth has the receiver's softirq on the CPU of whoever sends. A full CPU that works for both
// ends is neither end's limit; one that does not, or hardly, is its own end's, as it was before.
func TestOneCPUForBothEnds(t *testing.T) {
	const rx, tx = 1, 0 // the CPUs of the threads
	idle, full, held := side{thread: .5}, side{thread: .97}, side{thread: .6, rwnd: .3}
	softirq := func(h *results.Host, cpus ...int) { h.Flows[0].SoftirqCPUs = cpus }
	for name, c := range map[string]struct {
		sut, tg  side
		cpus     map[string][2]float64
		change   func(*results.Record)
		machines int
		want     plan.LimitedBy
	}{
		"the receiver's softirq on the sender's CPU": {sut: idle, tg: full,
			change: func(r *results.Record) { softirq(&r.SUT, tx) }, want: plan.ByOneCPU},
		"on both CPUs": {sut: idle, tg: full, cpus: map[string][2]float64{"0": {1, .4}},
			change: func(r *results.Record) { softirq(&r.SUT, tx, rx) }, want: plan.ByOneCPU},
		"its CPU is full, with its thread": {sut: idle, tg: idle, cpus: map[string][2]float64{"0": {1, .5}},
			change: func(r *results.Record) { softirq(&r.SUT, tx) }, want: plan.ByOneCPU},
		"and the window was closed meanwhile": {sut: idle, tg: held, cpus: map[string][2]float64{"0": {1, .5}},
			change: func(r *results.Record) { softirq(&r.SUT, tx) }, want: plan.ByOneCPU},
		"a record with the CPU alone": {sut: idle, tg: full,
			change: func(r *results.Record) { r.SUT.Flows[0].SoftirqCPU = new(tx) }, want: plan.ByOneCPU},
		"hardly any softirq": {sut: idle, tg: full, cpus: map[string][2]float64{"0": {1, .04}},
			change: func(r *results.Record) { softirq(&r.SUT, tx) }, want: plan.BySender},
		"little of it, but a thread polls": {sut: idle, tg: full, cpus: map[string][2]float64{"0": {1, .04}},
			change: func(r *results.Record) { softirq(&r.SUT, tx); r.SUT.Flows[0].PollerCores = new(.4) },
			want:   plan.ByOneCPU},
		"on the receiver's": {sut: idle, tg: full, cpus: map[string][2]float64{"0": {1, .4}},
			change: func(r *results.Record) { softirq(&r.SUT, rx) }, want: plan.BySender},
		"on a third": {sut: idle, tg: full, cpus: map[string][2]float64{"0": {1, .4}},
			change: func(r *results.Record) { softirq(&r.SUT, 2) }, want: plan.BySender},
		"not known where": {sut: idle, tg: full, cpus: map[string][2]float64{"0": {1, .4}}, want: plan.BySender},
		"two machines": {sut: idle, tg: full, machines: 2,
			change: func(r *results.Record) { softirq(&r.SUT, tx) }, want: plan.BySender},
		"a sender that is not pinned": {sut: idle, tg: full,
			change: func(r *results.Record) { softirq(&r.SUT, tx); r.TG.Flows[0].CPU = nil }, want: plan.BySender},
		"the sender had time left": {sut: idle, tg: idle, cpus: map[string][2]float64{"0": {.9, .4}},
			change: func(r *results.Record) { softirq(&r.SUT, tx) }},

		"the sender's softirq on the receiver's CPU": {sut: full, tg: held, cpus: map[string][2]float64{"1": {1, .3}},
			change: func(r *results.Record) { softirq(&r.TG, rx) }, want: plan.ByOneCPU},
		"little of that": {sut: full, tg: held, cpus: map[string][2]float64{"1": {1, .05}},
			change: func(r *results.Record) { softirq(&r.TG, rx) }, want: plan.ByReceiver},
		"a receiver that is full by itself": {sut: full, tg: held, cpus: map[string][2]float64{"0": {1, .3}},
			change: func(r *results.Record) { softirq(&r.SUT, tx) }, want: plan.ByReceiver},
		"a thread that polls is full": {sut: full, tg: held,
			change: func(r *results.Record) { softirq(&r.TG, rx); r.SUT.Flows[0].PollerCores = new(.98) },
			want:   plan.ByReceiver},

		"both threads on one": {sut: side{thread: .97}, tg: side{thread: .98},
			change: func(r *results.Record) { r.SUT.Flows[0].CPU = new(tx) }, want: plan.ByOneCPU},
		"both threads on one, which is full": {sut: idle, tg: idle, cpus: map[string][2]float64{"0": {1, 0}},
			change: func(r *results.Record) { r.SUT.Flows[0].CPU = new(tx) }, want: plan.ByOneCPU},
		"the pace comes first": {sut: idle, tg: full,
			change: func(r *results.Record) { softirq(&r.SUT, tx); r.Cell.PaceBitsPS = 40e9 }, want: plan.ByPace},
	} {
		r := limitedRun([]side{c.sut}, []side{c.tg}, nil)
		r.SUT.Flows[0].CPU, r.TG.Flows[0].CPU = new(rx), new(tx)
		if r.TG.Metrics = busy(c.cpus); c.cpus["1"] != [2]float64{} {
			r.SUT.Metrics, r.TG.Metrics = r.TG.Metrics, nil
		}
		if c.machines < 2 {
			r.Flags = []string{results.FlagSharedMachine}
		}
		if c.change != nil {
			c.change(&r)
		}
		if Conclude(&r); r.Limit != c.want || r.SUT.Flows[0].Limit != c.want {
			t.Errorf("%s: %q, its flow %q; want %q", name, r.Limit, r.SUT.Flows[0].Limit, c.want)
		}
	}
}

// Of several flows each has its own limit, and the sum has it where all agree: a CPU of one flow's
// sender may work for another flow's receiver.
func TestOneCPUOfSeveralFlows(t *testing.T) {
	idle, full := side{thread: .5}, side{thread: .97}
	for name, c := range map[string]struct {
		softirq [2][]int // of the two receivers
		flows   []plan.LimitedBy
		sum     plan.LimitedBy
	}{
		"each its own sender's": {[2][]int{{0}, {1}}, []plan.LimitedBy{plan.ByOneCPU, plan.ByOneCPU}, plan.ByOneCPU},
		"each the other one's":  {[2][]int{{1}, {0}}, []plan.LimitedBy{plan.ByOneCPU, plan.ByOneCPU}, plan.ByOneCPU},
		"both on the first's":   {[2][]int{{0}, {0}}, []plan.LimitedBy{plan.ByOneCPU, plan.BySender}, ""},
		"on CPUs of their own":  {[2][]int{{2}, {3}}, []plan.LimitedBy{plan.BySender, plan.BySender}, plan.BySender},
		"one on both, one apart": {[2][]int{{0, 1}, {3}}, []plan.LimitedBy{plan.ByOneCPU, plan.ByOneCPU},
			plan.ByOneCPU},
	} {
		r := limitedRun([]side{idle, idle}, []side{full, full}, nil)
		r.Flags = []string{results.FlagSharedMachine}
		for i := range 2 {
			r.SUT.Flows[i].CPU, r.TG.Flows[i].CPU, r.SUT.Flows[i].SoftirqCPUs = new(2+i), new(i), c.softirq[i]
		}
		Conclude(&r)
		if got := []plan.LimitedBy{r.SUT.Flows[0].Limit, r.SUT.Flows[1].Limit}; !slices.Equal(got, c.flows) ||
			r.Limit != c.sum {
			t.Errorf("%s: flows %q, sum %q; want %q, %q", name, got, r.Limit, c.flows, c.sum)
		}
	}
}

// Datagrams over a veth are delivered by the sender's CPU up to the socket. That is no price of the
// receiver's, and neither its limit nor the sender's.
func TestOneCPUOfDatagrams(t *testing.T) {
	for softirq, want := range map[int]plan.LimitedBy{0: plan.ByOneCPU, 1: plan.BySender} {
		r := packetsRun(100_000, 100_000, 0)
		r.Flags = []string{results.FlagSharedMachine}
		r.SUT.Flows = []results.Flow{{CPU: new(1), SoftirqCPU: &softirq, ThreadCores: new(.5)}}
		r.TG.Flows = []results.Flow{{CPU: new(0), ThreadCores: new(.99)}}
		Conclude(r)
		if r.Limit != want {
			t.Errorf("softirq on CPU %d: %q, want %q", softirq, r.Limit, want)
		}
		slack := map[plan.LimitedBy]results.Slack{plan.ByOneCPU: results.SlackShared,
			plan.BySender: results.SlackSender}
		if got := r.Slack(); got != slack[want] {
			t.Errorf("softirq on CPU %d: slack %q", softirq, got)
		}
	}
}
