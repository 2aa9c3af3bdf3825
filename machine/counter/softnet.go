// SPDX-License-Identifier: MIT

package counter

import (
	"cmp"
	"fmt"
	"slices"

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

// SoftnetDelta is one CPU's network backlog between two readings, in packets
// except where said.
type SoftnetDelta struct {
	CPU         int
	Processed   uint64
	Dropped     uint64 // the backlog queue was full (net.core.netdev_max_backlog)
	TimeSqueeze uint64 // times that softirq ended with work left
	ReceivedRPS uint64 // times woken by another CPU for RPS
	FlowLimit   uint64
	Backlog     uint32 // queue length at the second reading
}

// SoftnetBetween compares two readings by CPU. A CPU that is in one only is left
// out. Counters are 32 bits wide and may wrap once: at 10 million packets a
// second that is a window of 7 minutes.
func SoftnetBetween(before, after []procfs.SoftnetStat) []SoftnetDelta {
	var out []SoftnetDelta
	for _, a := range after {
		i := slices.IndexFunc(before, func(b procfs.SoftnetStat) bool { return b.Index == a.Index })
		if i < 0 {
			continue
		}
		b := before[i]
		out = append(out, SoftnetDelta{
			CPU:         int(a.Index),
			Processed:   uint64(a.Processed - b.Processed),
			Dropped:     uint64(a.Dropped - b.Dropped),
			TimeSqueeze: uint64(a.TimeSqueezed - b.TimeSqueezed),
			ReceivedRPS: uint64(a.ReceivedRps - b.ReceivedRps),
			FlowLimit:   uint64(a.FlowLimitCount - b.FlowLimitCount),
			Backlog:     a.SoftnetBacklogLen,
		})
	}
	return out
}

// netRXShare is how much of the packets the CPUs of NetRXCPUs processed.
const netRXShare = 0.9

// NetRXCPUs names the fewest CPUs that together processed at least 90 % of the
// packets between two snapshots: where receive softirq, threaded NAPI or busy
// polling ran. The list has the kernel's format, "0,2-3"; "" is no packets or
// not measured. It counts the whole host, not one flow.
func NetRXCPUs(before, after Snapshot) string {
	rows := SoftnetBetween(before.Softnet, after.Softnet)
	slices.SortStableFunc(rows, func(a, b SoftnetDelta) int { return cmp.Compare(b.Processed, a.Processed) })
	var total, have uint64
	for _, r := range rows {
		total += r.Processed
	}
	var cpus []int
	for _, r := range rows {
		if r.Processed == 0 || float64(have) >= netRXShare*float64(total) {
			break
		}
		have += r.Processed
		cpus = append(cpus, r.CPU)
	}
	return FormatCPUList(cpus)
}
