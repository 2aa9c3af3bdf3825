// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/rounds"
	"github.com/zcbench/zcbench/machine/measure"
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
			f.seen = sightings{}
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
			f.seen.add(on, queueOf(f))
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

// sightings are what the looks at a flow's socket found. Those that cannot tell its own queue from
// others, with which that shares a NAPI instance, are no evidence, and left out.
type sightings struct {
	all, own int
	others   map[int]bool    // queues that it came by
	places   map[string]bool // and other places: one of several queues, another interface
}

func (s *sightings) add(p nicqueue.Place, own int) {
	on, sure := p.On(own)
	if !sure {
		return
	}
	if s.all++; on {
		s.own++
		return
	}
	if s.others == nil {
		s.others, s.places = map[int]bool{}, map[string]bool{}
	}
	id, single := p.Queue()
	switch {
	case single:
		s.others[id] = true
	case p.Elsewhere():
		s.places["another interface"] = true
	default:
		s.places[p.String()] = true
	}
}

// strayed explains that a steered flow was seen on another queue; "" where it was not.
func strayed(f *flow) string {
	s := &f.seen
	if s.own == s.all {
		return ""
	}
	return fmt.Sprintf("the flow was seen on %s in %d of %d looks, and was to come by queue %d", s.elsewhere(),
		s.all-s.own, s.all, queueOf(f))
}

// elsewhere lists the places other than its own queue that a flow was seen on.
func (s *sightings) elsewhere() string {
	var where []string
	if len(s.others) == 1 {
		where = append(where, fmt.Sprintf("queue %d", slices.Collect(maps.Keys(s.others))[0]))
	} else if len(s.others) > 1 {
		ids := strings.Trim(fmt.Sprint(slices.Sorted(maps.Keys(s.others))), "[]")
		where = append(where, "queues "+strings.ReplaceAll(ids, " ", ", "))
	}
	places := slices.Sorted(maps.Keys(s.places))
	slices.Reverse(places) // queues first
	where = append(where, places...)
	return strings.Join(where, " and on ")
}

// queueShares computes how much of the looks at each steered flow found it on its queue.
func (e *End) queueShares() (ms []measure.Metric) {
	for _, f := range e.flows {
		all, own := f.seen.all, f.seen.own
		if all == 0 {
			continue
		}
		m := measure.Metric{Name: "steered_share", Unit: "1", Value: float64(own) / float64(all),
			Source: "SO_INCOMING_NAPI_ID"}
		if len(e.flows) > 1 {
			m.Name = measure.FlowMetric(f.N, m.Name)
		}
		ms = append(ms, m)
	}
	return ms
}
