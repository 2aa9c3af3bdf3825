// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"slices"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// withQueues gives each flow of a receiver its RX queue: where its mode takes queues over one of
// its own, and as many as were asked for where flows are only steered. One flow's path chooses
// by itself.
func withQueues(path stream.Mode, s wire.EndSpec, dev string) ([]wire.FlowSpec, error) {
	takes := path.TakesQueue()
	if s.Role != stream.RX || !takes && !s.Cell.Steers() || len(s.Flows) == 1 && s.Cell.Queues == 0 {
		return s.Flows, nil
	}
	queues := s.Cell.Queues
	if queues == 0 && !takes {
		queues = 1
	}
	ids, err := nicqueue.Spread(path, dev, s.Cell.Queue, queues, len(s.Flows))
	if err == nil {
		err = nicqueue.RoomForRules(path.Name, dev, len(s.Flows))
	}
	if err != nil {
		return nil, err
	}
	flows := slices.Clone(s.Flows)
	for i := range flows {
		flows[i].Queue = cmp.Or(flows[i].Queue, &ids[i])
	}
	return flows, nil
}

// shares groups the flows by thread: one each, but where the path takes a queue over all of that
// queue's, which share its memory.
func (e *End) shares() (all [][]*flow) {
	of := map[int]int{} // queue -> index in all
	for _, f := range e.flows {
		shared := e.spec.Role == stream.RX && e.path.TakesQueue() && f.Queue != nil && len(e.flows) > 1
		if i, ok := of[queueOf(f)]; shared && ok {
			all[i] = append(all[i], f)
			continue
		}
		if shared {
			of[queueOf(f)] = len(all)
		}
		all = append(all, []*flow{f})
	}
	return all
}

func queueOf(f *flow) int {
	if f.Queue == nil {
		return -1
	}
	return *f.Queue
}
