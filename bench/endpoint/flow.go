// SPDX-License-Identifier: MIT

package endpoint

import (
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

// flow is one flow of an end, and who plays it.
type flow struct {
	stream.Flow
	opts   stream.Options // of its path
	worker *worker
}

// flowsOf are the flows of a spec, with the options of their paths.
func flowsOf(s wire.EndSpec, o stream.Options) (all []*flow) {
	for n, f := range s.Flows {
		own := o
		if f.Queue != nil {
			own.NIC.Queue = f.Queue
			if s.Cell.Control == results.WrongQueue {
				own.NIC.SteerTo = otherQueue(f.Queue)
			}
		}
		all = append(all, &flow{Flow: stream.Flow{N: n, CPU: f.CPU, Queue: own.NIC.Queue}, opts: own})
	}
	return all
}

// counters are those of all flows.
func (e *End) counters() []stream.Counters {
	all := make([]stream.Counters, len(e.flows))
	for i, f := range e.flows {
		all[i] = f.Meter.Snapshot()
	}
	return all
}

// sockets are those of the flows that are open.
func (e *End) sockets() (fds []int) {
	for _, f := range e.flows {
		if f.Conn != nil {
			fds = append(fds, f.Conn.FD)
		}
	}
	return fds
}

// sum adds counters up. The first mismatch is that of the first flow that has one.
func sum(all []stream.Counters) (c stream.Counters) {
	for _, x := range all {
		c = c.Add(x)
	}
	return c
}

// flowFigures are a window's figures of one flow.
func (e *End) flowFigures(f *flow, w stream.Counters, seconds float64) results.Flow {
	gbps := float64(w.Bytes) * 8 / 1e9 / seconds
	out := results.Flow{Queue: f.Queue, Bytes: &w.Bytes, ThroughputGbps: &gbps}
	if f.CPU >= 0 {
		out.CPU = &f.CPU
	}
	if e.path.SortsBytes() {
		out.ZeroCopyBytes, out.CopiedBytes = &w.ZeroCopyBytes, &w.CopiedBytes
	}
	return out
}
