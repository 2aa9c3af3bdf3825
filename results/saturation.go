// SPDX-License-Identifier: MIT

package results

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

// Slack is why 1/packets_per_s of a run is not what a packet cost its receiver: the time between
// two packets is that only where what received had nothing else to do and no time left. "": that
// was so, or it is not known.
type Slack string

// The kinds of slack, in the order in which they count.
const (
	SlackSender Slack = "sender" // it was slower than the receiver, so the rate is its
	SlackIdle   Slack = "idle"   // the receiver's CPUs had time left
	SlackShared Slack = "shared" // they had none, but what received had only a part of theirs
)

// Saturated is how busy a CPU or thread is that has no time left.
const Saturated = 0.95

// Slack returns the run's slack; round trips have none: they wait for answers.
func (r *Record) Slack() Slack {
	if r.SUT.PacketsPerS == nil || r.Cell.RoundTrips() {
		return ""
	}
	used, busy := r.Received()
	switch {
	case r.Limit == plan.BySender:
		return SlackSender
	case r.Limit == plan.ByOneCPU:
		return SlackShared
	case used != nil && r.SUT.Spun() > 1-Saturated:
		return SlackIdle
	case used == nil || *used >= Saturated:
		return ""
	case busy != nil && *busy >= Saturated:
		return SlackShared
	}
	return SlackIdle
}

// Received returns how busy the receiving threads were, if threads received, and the CPUs: of
// several CPUs the busiest, and of threads that may be on several the busiest.
func (r *Record) Received() (used, busy *float64) {
	h := &r.SUT
	most, cpus := h.busiestCPU()
	if busy = h.CPUBusyCores; busy != nil && cpus > 1 {
		busy = most
	}
	used = r.OwnCores()
	switch {
	case used == nil:
		return busy, busy
	case cpus <= 1: // they share it
		return used, busy
	}
	if v := h.Value(measure.MetricBusiestPoller); v > 0 && v < *used { // else there is no other
		used = &v
		for i := range h.Flows {
			if s := h.Flows[i].CPUS; s != nil && r.readsItself() {
				used = new(max(*used, *s / *h.DurationS))
			}
		}
	}
	return used, busy
}

// busiestCPU returns how busy the busiest measured CPU was, and how many were told apart.
func (h *Host) busiestCPU() (most *float64, cpus int) {
	for i := range h.Metrics {
		n, ok := strings.CutSuffix(h.Metrics[i].Name, "_busy_cores")
		if n, cpu := strings.CutPrefix(n, "cpu"); ok && cpu && n != "" && strings.Trim(n, "0123456789") == "" {
			cpus++
			if v := h.Metrics[i].Value; most == nil || v > *most {
				most = &v
			}
		}
	}
	return most, cpus
}

// overBusy is by how much the time of threads may seem to be more than that of all CPUs: their
// clocks are read one after the other.
const overBusy = 1.02

// OwnCores returns [Host.OwnCores] of a run's receiver; nil also if its packets went on to a thread
// that was not counted, or if its threads appear to have run longer than the CPUs were busy, which
// includes all of their time.
func (r *Record) OwnCores() *float64 {
	if r.Cell.LeavesThreads() && !r.HasHelpers() {
		return nil
	}
	own := r.SUT.OwnCores(r.readsItself())
	if own != nil && r.SUT.CPUBusyCores != nil && *own > overBusy**r.SUT.CPUBusyCores {
		return nil
	}
	return own
}

// OwnNsPerPacket divides OwnCores by the packet rate: nanoseconds per packet.
func (r *Record) OwnNsPerPacket() *float64 {
	own := r.OwnCores()
	if own == nil || r.SUT.PacketsPerS == nil {
		return nil
	}
	return finite(*own * 1e9 / *r.SUT.PacketsPerS)
}

// readsItself reports whether the data path's thread takes packets, rather than only reading what
// was counted.
func (r *Record) readsItself() bool {
	m, err := modes.Find(stream.RX, r.Cell.RX)
	return err == nil && (m.Kind != stream.Frame || r.Cell.ReadsFrames(m))
}

// SlackOf returns the slack of most of some runs; "": most have none.
func SlackOf(runs []*Record) Slack {
	n := map[Slack]int{}
	for _, r := range runs {
		n[r.Slack()]++
	}
	for _, s := range []Slack{SlackSender, SlackIdle, SlackShared} {
		if 2*n[s] > len(runs) {
			return s
		}
	}
	if n[""]*2 >= len(runs) {
		return ""
	}
	return slices.MaxFunc([]Slack{SlackSender, SlackIdle, SlackShared}, func(a, b Slack) int { return n[a] - n[b] })
}
