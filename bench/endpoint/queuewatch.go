// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

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

// queueWatch finds out by which RX queues steered flows come while they are measured: one that
// came by another queue for a while may be back on its own in the end. What is shorter than the
// time between two looks may be missed.
type queueWatch struct {
	flows []*flow
	next  int // to be looked at

	stop chan struct{}
	done sync.WaitGroup
}

// watchQueues looks at the flows that are steered, until unwatchQueues.
func (r *run) watchQueues() {
	w := &queueWatch{stop: make(chan struct{})}
	for _, f := range r.end.flows {
		if f.steered != nil {
			f.seenOn = map[int]int{}
			w.flows = append(w.flows, f)
		}
	}
	if len(w.flows) > 0 {
		r.queues = w
		w.done.Go(w.run)
	}
}

// unwatchQueues ends the watch, before the sockets and the queues are let go.
func (r *run) unwatchQueues() {
	if r.queues == nil {
		return
	}
	close(r.queues.stop)
	r.queues.done.Wait()
	r.queues = nil
}

func (w *queueWatch) run() {
	tick := time.NewTicker(queueEvery)
	defer tick.Stop()
	for {
		w.round()
		select {
		case <-tick.C:
		case <-w.stop:
			return
		}
	}
}

// round looks at the next flows, each once at most. Before its first payload a flow's socket has
// seen the hello alone, which may come by any queue.
func (w *queueWatch) round() {
	for range min(len(w.flows), queueLooks) {
		f := w.flows[w.next]
		w.next = (w.next + 1) % len(w.flows)
		if f.Meter.Snapshot().Bytes == 0 {
			continue
		}
		if on, ok := f.steered.on(); ok {
			f.seenOn[on]++
		}
	}
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
