// SPDX-License-Identifier: MIT

package endpoint

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// steeredFlows is a run of flows that are steered to queue 2, whose payload has begun, and which
// come by it as long as nobody sets landed.
func steeredFlows(n int) (r *run, queues []*calls) {
	r = &run{end: newEnd(several(wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp"}}, n),
		stream.Mode{Name: "tcp", Role: stream.RX}, stream.Options{})}
	for _, f := range r.end.flows {
		c := &calls{landed: 2}
		f.Queue, f.steered = new(2), &steered{Receiver: fakePath{c}, queue: fakeQueue{c}}
		f.Meter.Bytes(1)
		queues = append(queues, c)
	}
	return r, queues
}

// looks are rounds of looks at all flows, without a clock.
func (r *run) looks(rounds int) {
	if r.queues == nil {
		r.queues = r.newQueueWatch()
	}
	for range rounds {
		r.queues.Round()
	}
}

// A flow that comes by another queue for a while, and is back in the end, makes the run invalid:
// it is named, with the queues.
func TestFlowStrays(t *testing.T) {
	for _, x := range []struct {
		name  string
		where []int // of flow 1, four looks each
		want  string
		share float64
	}{
		{"never", []int{2, 2}, "", 1},
		{"once", []int{2, 0, 2}, "flow 1: the flow was seen on queue 0 in 4 of 12 looks, and was to come by queue 2",
			2. / 3},
		{"twice", []int{3, 2, 0, 2},
			"flow 1: the flow was seen on queues 0, 3 in 8 of 16 looks, and was to come by queue 2", .5},
		{"by another interface", []int{2, elsewhere, 2, 2},
			"flow 1: the flow was seen on another interface in 4 of 16 looks, and was to come by queue 2", .75},
		{"not told from another", []int{sharing, notTold, 2, sharing}, "", 1},
		{"by one of others", []int{othersShare, 2},
			"flow 1: the flow was seen on one of queues 0, 4 in 4 of 8 looks, and was to come by queue 2", .5},
		{"by several", []int{othersShare, 0, elsewhere, 2}, "flow 1: the flow was seen on queue 0 and on one of " +
			"queues 0, 4 and on another interface in 12 of 16 looks, and was to come by queue 2", .25},
		{"all over", []int{3, elsewhere, 0, 2}, "flow 1: the flow was seen on queues 0, 3 and on another " +
			"interface in 12 of 16 looks, and was to come by queue 2", .25},
		{"not told for a while", []int{2, notTold, 2}, "", 1},
	} {
		r, queues := steeredFlows(2)
		for _, on := range x.where {
			queues[1].landed = on
			r.looks(4)
		}
		moved := stream.Counters{Bytes: 1}
		res := &wire.EndResult{Host: results.Host{Flows: make([]results.Flow, 2)}}
		for _, f := range r.end.flows {
			f.result.evidence = f.steered.Evidence()
		}
		r.ask([]stream.Counters{moved, moved}, res)
		if res.Reason != x.want || (res.Fix == "") != (x.want == "") || res.Host.Flows[0].Verdict != results.OK {
			t.Errorf("%s: %q, fix %q; want %q", x.name, res.Reason, res.Fix, x.want)
		}
		ms := r.end.queueShares()
		if len(ms) != 2 || ms[0].Name != "flow0_steered_share" || ms[0].Value != 1 || ms[1].Value != x.share {
			t.Errorf("%s: %+v", x.name, ms)
		}
		for _, m := range ms {
			if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
				t.Error(err)
			}
		}
	}
}

// What was seen at the end is said first: the flow is elsewhere for good.
func TestStraysForGood(t *testing.T) {
	r, queues := steeredFlows(1)
	r.looks(3)
	queues[0].landed = 0
	r.looks(3)
	f := r.end.flows[0]
	f.result.evidence = f.steered.Evidence()
	var res wire.EndResult
	r.ask([]stream.Counters{{Bytes: 1}}, &res)
	if res.Reason != "the flow landed on queue 0 instead of queue 2" {
		t.Errorf("%q", res.Reason)
	}
}

// A run is disturbed, and made again, where something moved a flow for a while. One whose flow
// ends elsewhere is not, nor one in which anything else is wrong with a flow.
func TestStrayedIsDisturbed(t *testing.T) {
	for _, x := range []struct {
		name      string
		where     [2][]int // a look at each flow
		wrong     int      // bytes of flow 0
		verdict   results.Verdict
		disturbed bool
	}{
		{"on their queue", [2][]int{{2, 2}, {2, 2}}, 0, results.OK, false},
		{"one strays", [2][]int{{2, 2}, {0, 2}}, 0, results.Invalid, true},
		{"both stray", [2][]int{{3, 2}, {0, 2}}, 0, results.Invalid, true},
		{"one ends elsewhere", [2][]int{{2, 2}, {2, 0}}, 0, results.Invalid, false},
		{"one strays, one ends elsewhere", [2][]int{{3, 2}, {2, 0}}, 0, results.Invalid, false},
		{"one strays, one is wrong", [2][]int{{2, 2}, {0, 2}}, 1, results.Invalid, false},
	} {
		r, queues := steeredFlows(2)
		for i := range x.where[0] {
			for n := range queues {
				queues[n].landed = x.where[n][i]
			}
			r.looks(1)
		}
		if x.wrong > 0 {
			r.end.flows[0].Meter.Mismatch(0, x.wrong)
		}
		for _, f := range r.end.flows {
			f.worker, f.result.evidence = &worker{own: []*flow{f}}, f.steered.Evidence()
		}
		res := r.judge(nil)
		n := 0
		for _, flag := range res.Flags {
			if flag == results.FlagDisturbed {
				n++
			}
		}
		if res.Verdict != x.verdict || n != map[bool]int{true: 1}[x.disturbed] {
			t.Errorf("%s: %s %q, %v", x.name, res.Verdict, res.Reason, res.Flags)
		}
	}
}

// Before its payload begins a flow says nothing: its hello may have come by any queue.
func TestHelloIsNotLookedAt(t *testing.T) {
	r, queues := steeredFlows(1)
	f := r.end.flows[0]
	f.Meter = stream.Meter{}
	queues[0].landed = 0
	r.looks(5)
	if f.seen.all > 0 || strayed(f) != "" || len(r.end.queueShares()) > 0 {
		t.Errorf("seen on %v", f.seen)
	}
}

// One watch has a goroutine, however many flows it looks at, in turn; without steered flows there
// is none, and it may be ended twice.
func TestQueueWatch(t *testing.T) {
	const n = queueLooks + 10
	synctest.Test(t, func(t *testing.T) {
		r, _ := steeredFlows(n)
		before := runtime.NumGoroutine()
		r.watchQueues()
		if more := runtime.NumGoroutine() - before; more > 1 {
			t.Errorf("%d goroutines", more)
		}
		time.Sleep(4 * queueEvery)
		r.unwatchQueues()
		r.unwatchQueues()
		for i, f := range r.end.flows {
			if i < queueLooks && f.seen.own == 0 || strayed(f) != "" {
				t.Errorf("flow %d: seen on %v", i, f.seen)
			}
		}
	})
	r, _ := steeredFlows(n)
	r.looks(2)
	total := 0
	for i, f := range r.end.flows {
		if f.seen.own < 1 || f.seen.own > 2 {
			t.Errorf("flow %d: seen on %v", i, f.seen)
		}
		total += f.seen.own
	}
	if total != 2*queueLooks {
		t.Errorf("%d looks in two rounds", total)
	}
	r.queues = nil
	for _, f := range r.end.flows {
		f.steered = nil
	}
	if r.watchQueues(); r.queues != nil {
		t.Error("flows that are not steered are watched")
	}
}

// Looks beside a path that comes to its end do not disturb it.
func TestQueueWatchBesideEnd(t *testing.T) {
	r, queues := steeredFlows(1)
	r.watchQueues()
	for range 50 {
		_ = r.end.flows[0].steered.Evidence()
	}
	r.unwatchQueues()
	if err := r.end.flows[0].steered.Close(); err != nil || !strings.HasSuffix(strings.Join(queues[0].all, " "),
		"close release") {
		t.Errorf("%v, %q", err, queues[0].all)
	}
}
