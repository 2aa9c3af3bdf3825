// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"slices"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// withQueues gives each flow of a receiver its RX queue: where its mode takes queues over one of
// its own, and as many as were asked for where flows are only steered. One flow's path chooses
// by itself, where no other ends take queues beside it. It returns the queues of all ends, too,
// where several have some; nil: they are not known, or there are none.
func withQueues(path stream.Mode, s wire.EndSpec, devs []string) (flows []wire.FlowSpec, beside []int, err error) {
	if len(devs) > 1 {
		flows, err = withQueuesOfAll(path, s, devs)
		return flows, nil, err
	}
	return withQueuesOf(path, s, devs[0], false)
}

// withQueuesOfAll gives the flows of each of several interfaces queues of that: as many as flows,
// or those that were asked for, dealt as the flows are.
func withQueuesOfAll(path stream.Mode, s wire.EndSpec, devs []string) ([]wire.FlowSpec, error) {
	flows, each := slices.Clone(s.Flows), []string(nil)
	for _, dev := range devs {
		if !slices.Contains(each, dev) {
			each = append(each, dev)
		}
	}
	for i, dev := range each {
		own, at := s, []int(nil)
		own.Flows = nil
		for n, f := range s.Flows {
			if devs[n%len(devs)] == dev {
				own.Flows, at = append(own.Flows, f), append(at, n)
			}
		}
		if s.Cell.Queues > 0 {
			own.Cell.Queues = min(plan.Dealt(s.Cell.Queues, i, len(each)), len(own.Flows))
		}
		with, _, err := withQueuesOf(path, own, dev, true)
		if err != nil {
			return nil, err
		}
		for i, n := range at {
			flows[n] = with[i]
		}
	}
	return flows, nil
}

// withQueuesOf does what [withQueues] does, of one interface; others: it is not the only one.
func withQueuesOf(path stream.Mode, s wire.EndSpec, dev string, others bool) (flows []wire.FlowSpec, beside []int,
	err error) {
	if s.Role == stream.RX && s.Beside != nil {
		return withShare(path, s, cmp.Or(dev, s.Dev))
	}
	takes := path.TakesQueue()
	byPort := s.Cell.ByPort()
	if s.Role != stream.RX || !takes && !s.Cell.Steers() ||
		len(s.Flows) == 1 && s.Cell.Queues == 0 && !byPort && !others {
		return s.Flows, nil, nil
	}
	queues, rules := s.Cell.Queues, len(s.Flows)
	if queues == 0 && !takes && !byPort {
		queues = 1
	}
	if byPort {
		rules = 1
	}
	first, alone := s.Cell.FirstQueue()
	ids, err := nicqueue.Spread(path, dev, first, alone, queues, len(s.Flows))
	if err == nil {
		err = nicqueue.RoomForRules(path.Name, dev, rules)
	}
	if err != nil {
		return nil, nil, err
	}
	return onQueues(s.Flows, ids), nil, nil
}

// withShare gives the flows of an end its part of the queues that several ends have.
func withShare(path stream.Mode, s wire.EndSpec, dev string) (flows []wire.FlowSpec, beside []int, err error) {
	q := s.Beside
	first, alone := s.Cell.FirstQueue()
	all, err := nicqueue.Spread(path, dev, first, alone, q.All, q.All)
	switch {
	case q.Own == 0: // then those that take some say what is wrong
		return s.Flows, all, nil
	case err != nil:
		return nil, nil, err
	}
	if q.From == 0 {
		err = nicqueue.RoomForRules(path.Name, dev, q.Rules)
	}
	return onQueues(s.Flows, all[q.From:q.From+q.Own]), all, err
}

// onQueues gives flows queues, in turn.
func onQueues(flows []wire.FlowSpec, ids []int) []wire.FlowSpec {
	flows = slices.Clone(flows)
	for i := range flows {
		flows[i].Queue = cmp.Or(flows[i].Queue, &ids[i%len(ids)])
	}
	return flows
}

// seat is a ring of an RX queue.
type seat struct {
	rxQueue
	ring int
}

// rxQueue is a queue of an interface.
type rxQueue struct {
	dev string
	id  int
}

func (f *flow) rxQueue() rxQueue { return rxQueue{f.port.Dev, queueOf(f)} }

func queueOf(f *flow) int {
	if f.Queue == nil {
		return -1
	}
	return *f.Queue
}

// shares groups the flows by thread: one each, but where the path takes a queue over all of that
// queue's, which share its memory, or of several rings of the queue, each ring's. A queue's first
// ring comes before its others.
func (e *End) shares() (all [][]*flow) {
	of := map[seat]int{} // index in all
	rings, flows := map[rxQueue]*stream.Rings{}, map[rxQueue]int{}
	for _, f := range e.flows {
		if e.spec.Role != stream.RX || !e.path.TakesQueue() || f.Queue == nil || len(e.flows) == 1 {
			all = append(all, []*flow{f})
			continue
		}
		q := f.rxQueue()
		at := seat{q, flows[q] % e.spec.Cell.NRings()}
		flows[q]++
		if i, ok := of[at]; ok {
			all[i] = append(all[i], f)
			continue
		}
		of[at] = len(all)
		all = append(all, []*flow{f})
		if n := e.spec.Cell.NRings(); n > 1 {
			if rings[q] == nil {
				rings[q] = &stream.Rings{N: n, Processes: e.spec.Cell.RingsIn == plan.RingsProcesses}
			}
			f.opts.NIC.Rings, f.opts.NIC.Ring = rings[q], at.ring
		}
	}
	return all
}
