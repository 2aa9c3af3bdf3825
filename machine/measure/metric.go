// SPDX-License-Identifier: MIT

package measure

import (
	"github.com/zcbench/zcbench/internal/lazy"
)

// Metrics whose words in capitals reports ask for.
const (
	MetricIdleState     = "cpuidle_cpuN_STATE_cores" // time in an idle state
	MetricGHz           = "pmu_cpuN_ghz"             // the frequency while not idle
	MetricLinkSpeed     = "link_speed_bits_ps"       // what the driver says of the link
	MetricPollerCores   = "poller_cpuN_cores"        // of NAPI threads on a CPU
	MetricPollerOutside = "poller_outside_cores"     // and on CPUs that are not measured
	MetricForeignCores  = "foreign_cpuN_low_cores"   // load of others, at least
	MetricForeignMost   = "foreign_cpuN_high_cores"  // and at most
	MetricFlowCores     = "flow_cpuN_cores"          // what the flow used on one of its CPUs
	MetricBackground    = "background_cores"         // what others used on measured CPUs that are not the flow's
	// of the interface in the turns of all, where it is not known whose packets were dropped
	MetricAllTurnsDropped = "link_all_turns_dropped"
	MetricAllTurnsBytes   = "link_all_turns_bytes"
	// of the window, in which a thread was throttled by a group that is not seen
	MetricUnseenLimit = "cgroup_unseen_held_share"
	MetricThrottled   = "cgroup_N_throttled_share" // of a CPU limit's periods, those in which it throttled
	MetricMemoryHigh  = "cgroup_N_memory_high"     // times that memory.high made tasks reclaim memory
	MetricMemoryMax   = "cgroup_N_memory_max"      // and memory.max
	MetricMemoryStall = "cgroup_memory_stall"      // share of the window in which tasks waited for memory
	MetricSiblingBusy = "sibling_cpuN_busy_cores"  // of the SMT sibling of one of the flow's CPUs

	MetricSiblingUncertainty = "sibling_cpuN_uncertainty_cores" // of that
)

// Sources of load of others that is no guess: who had the CPUs, as eBPF counts it, and what tasks
// ran on each. All other sources leave softirq time open.
const (
	ByTasks     = "eBPF sched_switch"
	BySchedstat = "/proc/schedstat - CLOCK_THREAD_CPUTIME_ID"
)

// DataPath begins the sources of figures that a data path itself counted.
const DataPath = "data path"

var capitals = lazy.Regexp("[A-Z]+")

// Named returns the metric's name with the words of Of filled in.
func (m *Metric) Named() string {
	if len(m.Of) == 0 {
		return m.Name
	}
	left := m.Of
	return capitals().ReplaceAllStringFunc(m.Name, func(word string) string {
		if len(left) > 0 {
			word, left = left[0], left[1:]
		}
		return word
	})
}

// Over adds to a counter's metric its rates per second and per packet.
func (m Metric) Over(seconds, packets float64) Metric {
	if seconds > 0 {
		m.PerSecond = new(m.Value / seconds)
	}
	if packets > 0 {
		m.PerPacket = new(m.Value / packets)
	}
	return m
}
