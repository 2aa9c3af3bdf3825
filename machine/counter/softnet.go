// SPDX-License-Identifier: MIT

package counter

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/prometheus/procfs"
)

// ReadSoftnet reads /proc/net/softnet_stat (net/core/net-procfs.c): one row per
// online CPU, the same in every network namespace.
func ReadSoftnet(fs FS) ([]procfs.SoftnetStat, error) {
	p, err := fs.procfs("net/softnet_stat")
	if err != nil {
		return nil, fmt.Errorf("read softnet counters: %w", mounted(err))
	}
	rows, err := p.NetSoftnetStat()
	if err != nil {
		return nil, fmt.Errorf("read softnet counters: %w", err)
	}
	return rows, nil
}

// softnetColumn is a figure of a row.
type softnetColumn struct {
	Name, Unit string
	Level      bool // it rises and falls; else it counts in 32 bits
	Of         func(*procfs.SoftnetStat) uint32
}

// softnetColumns are those that are told, in packets except where said.
var softnetColumns = []softnetColumn{
	{"processed", "packets", false, func(s *procfs.SoftnetStat) uint32 { return s.Processed }},
	// the backlog queue was full (net.core.netdev_max_backlog)
	{"dropped", "packets", false, func(s *procfs.SoftnetStat) uint32 { return s.Dropped }},
	// times that softirq ended with work left
	{"time_squeeze", "1", false, func(s *procfs.SoftnetStat) uint32 { return s.TimeSqueezed }},
	// times woken by another CPU for RPS
	{"received_rps", "1", false, func(s *procfs.SoftnetStat) uint32 { return s.ReceivedRps }},
	{"flow_limit", "1", false, func(s *procfs.SoftnetStat) uint32 { return s.FlowLimitCount }},
	{"backlog", "packets", true, func(s *procfs.SoftnetStat) uint32 { return s.SoftnetBacklogLen }},
}

// softnetMetric returns the name of a CPU's row in metrics.csv.
func softnetMetric(cpu uint32, column string) string {
	return fmt.Sprintf("softnet_cpu%d_%s", cpu, column)
}

// SoftnetSource is where the figures are from.
const SoftnetSource = "/proc/net/softnet_stat"

// SoftnetCounts reads them as counters, by CPU.
func SoftnetCounts(fs FS) (out []measure.Count, err error) {
	all, err := ReadSoftnet(fs)
	for i := range all {
		for _, col := range softnetColumns {
			c := measure.Count{Name: fmt.Sprintf("cpu%d %s", all[i].Index, col.Name),
				Metric: softnetMetric(all[i].Index, col.Name), Unit: col.Unit, Source: SoftnetSource,
				Kind: measure.Counter32, Value: uint64(col.Of(&all[i]))}
			if col.Level {
				c.Kind = measure.Gauge
			}
			out = append(out, c)
		}
	}
	return out, err
}

// backlogFields is how many columns the file has where it tells the backlog's length: it is
// the last but one, before the CPU's number.
const backlogFields = 13

// SoftnetBacklog adds up the packets that wait in the CPUs' backlogs; false: the kernel does not
// tell.
func SoftnetBacklog(rows []procfs.SoftnetStat) (packets uint64, known bool) {
	for _, r := range rows {
		if r.Width < backlogFields {
			return 0, false
		}
		packets += uint64(r.SoftnetBacklogLen)
	}
	return packets, len(rows) > 0
}

// SoftnetBetween compares two readings by CPU: counters are what they grew by, and the backlog is
// that of the second reading. A CPU that is in one only is left out. Counters are 32 bits wide and
// may wrap once: at 10 million packets a second that is a window of 7 minutes.
func SoftnetBetween(before, after []procfs.SoftnetStat) (out []procfs.SoftnetStat) {
	for _, a := range after {
		i := slices.IndexFunc(before, func(b procfs.SoftnetStat) bool { return b.Index == a.Index })
		if i < 0 {
			continue
		}
		b := before[i]
		a.Processed -= b.Processed
		a.Dropped -= b.Dropped
		a.TimeSqueezed -= b.TimeSqueezed
		a.ReceivedRps -= b.ReceivedRps
		a.FlowLimitCount -= b.FlowLimitCount
		out = append(out, a)
	}
	return out
}

// softnet reports the CPUs of the list and those that processed packets; of others, what moved.
func (r *rows) softnet(grown []procfs.SoftnetStat, cpus []int) {
	for _, g := range grown {
		worked := uint64(g.Processed)+uint64(g.Dropped) > 0 || slices.Contains(cpus, int(g.Index))
		for _, c := range softnetColumns {
			switch name, v := softnetMetric(g.Index, c.Name), float64(c.Of(&g)); {
			case !worked && !c.Level:
				r.moved(name, c.Unit, v, SoftnetSource)
			case worked && c.Level:
				r.add(name, c.Unit, v, SoftnetSource, "")
			case worked:
				r.count(name, c.Unit, v, SoftnetSource, "")
			}
		}
	}
}

// netRXShare is how much of the packets the CPUs of NetRXCPUs processed.
const netRXShare = 0.9

// netRXCPUs names the fewest CPUs that together processed at least 90 % of the
// packets of the window: where receive softirq, threaded NAPI or busy
// polling ran. The list has the kernel's format, "0,2-3"; "" is no packets or
// not measured. It counts the whole host, not one flow.
func netRXCPUs(grown []procfs.SoftnetStat) string {
	rows := slices.SortedStableFunc(slices.Values(grown),
		func(a, b procfs.SoftnetStat) int { return cmp.Compare(b.Processed, a.Processed) })
	var total, have uint64
	for _, r := range rows {
		total += uint64(r.Processed)
	}
	var cpus []int
	for _, r := range rows {
		if r.Processed == 0 || float64(have) >= netRXShare*float64(total) {
			break
		}
		have += uint64(r.Processed)
		cpus = append(cpus, int(r.Index))
	}
	return FormatCPUList(cpus)
}

// SoftnetMetrics describe the backlog of each CPU.
var SoftnetMetrics = []measure.MetricDoc{
	{Names: "softnet_cpuN_processed softnet_cpuN_dropped softnet_cpuN_time_squeeze " +
		"softnet_cpuN_received_rps softnet_cpuN_flow_limit softnet_cpuN_backlog",
		Units: "packets packets 1 1 1 packets", Source: "/proc/net/softnet_stat",
		Meaning: "/proc/net/softnet_stat; time_squeeze: the budget ended a run"},
}
