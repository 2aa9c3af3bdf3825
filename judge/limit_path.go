// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// nearlyAlways is from which share of the window on TCP had data to send, or on its way, all the
// time. The kernel counts it in jiffies.
const nearlyAlways = 0.9

// pathHeld reports whether a flow was held up by the path or by its congestion window: its sender's
// TCP had data all the time (tcp_chrono_start in net/ipv4/tcp_output.c) and yet waited neither for
// the receiver's window nor for its own buffer, the application had given it more than it could
// send, and a fifth of the time of each thread and CPU of the flow was left. Who waits for answers
// has data on its way all the time, too. Where the receiver's host dropped packets, these may be
// why the congestion window is small.
func pathHeld(r *results.Record, n int) bool {
	if r.Cell.RoundTrips() || receiverDropped(&r.SUT) || n >= len(r.TG.Flows) || n >= len(r.SUT.Flows) {
		return false
	}
	f := &r.TG.Flows[n]
	if f.TCPBusy == nil || *f.TCPBusy < nearlyAlways || f.AppLimited == nil || *f.AppLimited ||
		f.RwndLimited == nil || f.SndbufLimited == nil || *f.RwndLimited+*f.SndbufLimited >= heldUp {
		return false
	}
	return timeLeft(r, ends.SUT, n) && timeLeft(r, ends.TG, n)
}

// receiverDropped reports whether a counter of packets that a receiver's host dropped, or had no
// buffer for, grew in the window. How often a page pool was empty is none of these: that it asks
// for pages is how it works.
func receiverDropped(h *results.Host) bool {
	return h.RXDrops != nil && *h.RXDrops > 0 || slices.ContainsFunc(h.Metrics, func(m measure.Metric) bool {
		return m.Value > 0 && slices.ContainsFunc([]string{"out_of_buffer", "alloc_fail", "rx_hw_drop", "hw_drops"},
			func(part string) bool { return strings.Contains(m.Name, part) && !strings.Contains(m.Name, "tx") })
	})
}

// timeLeft reports whether a flow's thread at an end, the thread that polls its queue, and the CPUs
// of both and of its softirq are known to have had a fifth of their time left.
func timeLeft(r *results.Record, role ends.Role, n int) bool {
	const most = 1 - heldUp
	h := r.Host(role)
	f := &h.Flows[n]
	if f.ThreadCores == nil || *f.ThreadCores > most || f.PollerCores != nil && *f.PollerCores > most ||
		h.Value(measure.MetricBusiestPoller) > most {
		return false
	}
	on := softirqs(f)
	if f.CPU == nil || on == nil { // then any CPU may be one of them, of which one machine measures some
		busiest := math.Inf(1)
		for i := range h.Metrics {
			if m := &h.Metrics[i]; busyCPU(m.Name) != "" && (m.Value > busiest || math.IsInf(busiest, 1)) {
				busiest = m.Value
			}
		}
		return busiest <= most && !slices.Contains(r.Flags, results.FlagSharedMachine)
	}
	return !slices.ContainsFunc(append(slices.Clone(on), *f.CPU), func(cpu int) bool {
		busy := busyOf(r, cpu, role)
		return math.IsNaN(busy) || busy > most
	})
}

// busyOf returns how busy a CPU of an end's host was: on one machine the other end may be the one
// that measured it. NaN: nobody did.
func busyOf(r *results.Record, cpu int, role ends.Role) float64 {
	name := fmt.Sprintf("cpu%d_busy_cores", cpu)
	busy := r.Host(role).Value(name)
	if math.IsNaN(busy) && slices.Contains(r.Flags, results.FlagSharedMachine) {
		busy = r.Host(other(role)).Value(name)
	}
	return busy
}
