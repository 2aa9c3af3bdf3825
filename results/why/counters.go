// SPDX-License-Identifier: MIT

package why

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

// Units of counters.
const (
	perGB  = "1/GB" // per 1e9 bytes of payload
	number = "1"
)

// counter is a figure of what the stack or the path did that the classes' time may follow from.
type counter struct {
	name, unit string
	of         func(*run) *float64 // nil: the run does not have it
}

// countersKnown are compared in this order, as far as both cells have them and it moved in any
// run: what so few runs cannot tell apart is left out from behind.
var countersKnown = []counter{
	{"system calls of the data path", perGB, metric("flow_calls")},
	{"sleeps of the data path", perGB, ofThread("voluntary_switches")}, // flow_waits counts calls that may sleep
	{"preemptions of the data path", perGB, ofThread("involuntary_switches")},
	{"interrupts of the interface", perGB, metric("nic_interrupts")},
	{"NET_RX softirqs", perGB, sum("softirq_cpu", "_net_rx")},
	{"polls", perGB, probed("napi_polls")},
	{"packets a poll", number, ratio(probedCount("napi_packets"), probedCount("napi_polls"))},
	{"bytes a packet, after GRO", "bytes", level("ip_rx_packet_bytes")},
	{"retransmitted segments", perGB, func(r *run) *float64 { return r.perGB(whole(r.host.Retrans), r.host.Bytes) }},
	{"page pool: slow allocations", perGB, slowAllocations},
	{"page pool: share of pages recycled", number, level("page_pool_recycle_rate")},
	{"token batches given back", perGB, metric("devmem_setsockopt_calls")},
	{"tokens a batch", number, ratio(level("devmem_tokens_freed"), level("devmem_setsockopt_calls"))},
	{"completions with payload (CQE)", perGB, metric("zcrx_pieces")},
	{"multishot requests issued again", perGB, metric("uring_rearms")},
	{"page faults", perGB, metric("process_minor_faults")},
	{"softirqs that ran out of budget", perGB, sum("softnet_cpu", "_time_squeeze")},
	{"frequency of the flow's CPUs", "GHz", gigahertz},
	{"bytes read from DRAM, whole machine", "bytes/GB", metric("dram_read_bytes")},
	{"bytes written to DRAM, whole machine", "bytes/GB", metric("dram_write_bytes")},
	{"bytes between caches and memory (resctrl)", "bytes/GB", metric("mbm_total_bytes")},
	{"cycles", "1/byte", func(r *run) *float64 { return r.host.CyclesPerByte }},
	{"instructions", "1/kB", func(r *run) *float64 { return r.host.InstructionsPerKB }},
	{"instructions per cycle", number, func(r *run) *float64 { return r.host.IPC }},
	{"misses of the last-level cache", "1/kB", func(r *run) *float64 { return r.host.LLCMissesPerKB }},
}

// counters compares what is counted, and how long and how often CPUs were in each idle state.
func (s *sides) counters() (lines []Line) {
	for _, c := range slices.Concat(countersKnown, s.idleStates()) {
		l, ok := s.some(c.name, c.unit, c.of)
		if ok && (l.A != 0 || l.B != 0) {
			lines = append(lines, l)
		}
	}
	return lines
}

// perGB divides a count by the GB of payload.
func (r *run) perGB(v *float64, bytes *uint64) *float64 {
	if v == nil || bytes == nil || *bytes == 0 {
		return nil
	}
	return new(*v / (float64(*bytes) / 1e9))
}

func whole(v *uint64) *float64 {
	if v == nil {
		return nil
	}
	return new(float64(*v))
}

// wholeFlow is how the source of a metric ends that is of more than the steady window.
const wholeFlow = "whole flow"

// metric reads a row of metrics.csv, per GB of the payload that it covers.
func metric(name string) func(*run) *float64 {
	return func(r *run) *float64 {
		m := r.figures.Get(name)
		if m == nil {
			return nil
		}
		bytes := r.host.Bytes
		if strings.HasSuffix(m.Source, wholeFlow) {
			bytes = r.host.TotalBytes
		}
		return r.perGB(&m.Value, bytes)
	}
}

// ofThread reads what the data path's thread did, per GB. The figures are of one thread, the first
// flow's: where several moved the payload, they are not the data path's.
func ofThread(what string) func(*run) *float64 {
	of := metric("thread_data_path_" + what)
	return func(r *run) *float64 {
		if r.host.Threads > 1 || r.host.Threads == 0 && len(r.host.Flows) > 1 {
			return nil
		}
		return of(r)
	}
}

// level reads a row of metrics.csv as it is.
func level(name string) func(*run) *float64 {
	return func(r *run) *float64 {
		if m := r.figures.Get(name); m != nil {
			return &m.Value
		}
		return nil
	}
}

// sum adds up a row over all CPUs, per GB.
func sum(before, after string) func(*run) *float64 {
	return func(r *run) *float64 { return r.perGB(r.figures.Sum(before, after), r.host.Bytes) }
}

// probed reads a counter of the probe zc, per GB.
func probed(name string) func(*run) *float64 {
	of := probedCount(name)
	return func(r *run) *float64 { return r.perGB(of(r), r.host.Bytes) }
}

func probedCount(name string) func(*run) *float64 {
	return func(r *run) *float64 {
		for _, c := range r.host.Probes.Counters {
			if c.Name == name {
				return c.Value
			}
		}
		return nil
	}
}

func ratio(of, by func(*run) *float64) func(*run) *float64 {
	return func(r *run) *float64 {
		x, y := of(r), by(r)
		if x == nil || y == nil || *y == 0 {
			return nil
		}
		return new(*x / *y)
	}
}

// slowAllocations counts the buffers that page pools took from the page allocator: by the
// interface's own counters, else by the probe zc.
func slowAllocations(r *run) *float64 {
	slow, high := r.figures.Get("page_pool_alloc_slow"), r.figures.Get("page_pool_alloc_slow_high_order")
	if slow == nil || high == nil {
		return probed("page_pool_slow_allocs")(r)
	}
	return r.perGB(new(slow.Value+high.Value), r.host.Bytes)
}

func gigahertz(r *run) *float64 {
	if r.host.FlowMHz == nil {
		return nil
	}
	return new(*r.host.FlowMHz / 1e3)
}

// ofCPU are the words of metrics that are of one CPU.
var ofCPU = lazy.Regexp(`^cpu[0-9]+_`)

// idleStates makes two counters for each idle state: how long the measured CPUs were in it, and how
// often they entered it.
func (s *sides) idleStates() (out []counter) {
	var states []string
	for _, r := range slices.Concat(s.a.runs, s.b.runs) {
		for _, state := range r.figures.Words("cpuidle_", "_cores") {
			if !ofCPU().MatchString(state) && !slices.Contains(states, state) {
				states = append(states, state)
			}
		}
	}
	slices.Sort(states)
	for _, state := range states {
		out = append(out, counter{"idle state " + state, "cores", level("cpuidle_" + state + "_cores")})
	}
	for _, state := range states {
		out = append(out, counter{"idle state " + state + ": entries", perGB, func(r *run) *float64 {
			return entries(r, state)
		}})
	}
	return out
}

func entries(r *run, state string) *float64 {
	return r.perGB(r.figures.Sum("cpuidle_cpu", "_"+state+"_entries"), r.host.Bytes)
}
