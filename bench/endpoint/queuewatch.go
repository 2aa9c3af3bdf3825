// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/rounds"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// queueEvery is between two rounds of looks at the steered flows' sockets, queueLooks how many of
// them a round has: of more flows each is looked at every few rounds. A look costs less than a
// microsecond.
const (
	queueEvery = 20 * time.Millisecond
	queueLooks = 256
)

// watchQueues finds out by which RX queues the steered flows come, until unwatchQueues: one that
// came by another queue for a while may be back on its own in the end. What is shorter than the
// time between two looks may be missed.
func (r *run) watchQueues() {
	if w := r.newQueueWatch(); w != nil {
		r.queues = w
		w.Start(queueEvery)
	}
}

// newQueueWatch looks at the flows that are steered; nil: there are none. Before its first payload
// a flow's socket has seen the hello alone, which may come by any queue.
func (r *run) newQueueWatch() *rounds.Watch {
	var flows []*flow
	for _, f := range r.end.flows {
		if f.steered != nil {
			f.seenOn = map[int]int{}
			flows = append(flows, f)
		}
	}
	if len(flows) == 0 {
		return nil
	}
	return rounds.New(len(flows), queueLooks, func(i int) {
		f := flows[i]
		if f.Meter.Snapshot().Bytes == 0 {
			return
		}
		if on, ok := f.steered.on(); ok {
			f.seenOn[on]++
		}
	})
}

// unwatchQueues ends the watch, before the sockets and the queues are let go.
func (r *run) unwatchQueues() {
	if r.queues == nil {
		return
	}
	r.queues.Stop()
	r.queues = nil
}

// queueLooksOf is how often a flow was looked at, and how often it was found on its queue.
func queueLooksOf(f *flow) (all, own int) {
	for on, n := range f.seenOn {
		if all += n; on == queueOf(f) {
			own += n
		}
	}
	return all, own
}

// strayed says of a steered flow that it was seen on another queue; "" where it was not.
func strayed(f *flow) string {
	all, own := queueLooksOf(f)
	if own == all {
		return ""
	}
	return fmt.Sprintf("the flow was seen on %s in %d of %d looks, and was to come by queue %d", elsewhere(f), all-own, all, queueOf(f))
}

// elsewhere are the queues other than its own that a flow was seen on.
func elsewhere(f *flow) string {
	var others, where []string
	for _, on := range slices.Sorted(maps.Keys(f.seenOn)) {
		if on != queueOf(f) && on != nicqueue.Elsewhere {
			others = append(others, fmt.Sprint(on))
		}
	}
	switch ids := strings.Join(others, ", "); len(others) {
	case 0:
	case 1:
		where = []string{"queue " + ids}
	default:
		where = []string{"queues " + ids}
	}
	if f.seenOn[nicqueue.Elsewhere] > 0 {
		where = append(where, "another interface")
	}
	return strings.Join(where, " and on ")
}

// queueShares are how much of the looks at each steered flow found it on its queue.
func (e *End) queueShares() (ms []results.Metric) {
	for _, f := range e.flows {
		all, own := queueLooksOf(f)
		if all == 0 {
			continue
		}
		m := results.Metric{Name: "steered_share", Unit: "1", Value: float64(own) / float64(all), Source: "SO_INCOMING_NAPI_ID"}
		if len(e.flows) > 1 {
			m.Name = results.FlowMetric(f.N, m.Name)
		}
		ms = append(ms, m)
	}
	return ms
}
