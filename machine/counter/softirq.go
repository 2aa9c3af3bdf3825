// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
)

// Softirqs holds how often each kind ran since boot, or between two readings: NET_RX, NET_TX, then
// the others (/proc/softirqs). NET_RX counts softirq runs, not packets, and misses threaded NAPI
// and busy polling.
type Softirqs []softirqKind

// softirqKind is a line of the file, such as TIMER, whose name here is timer.
type softirqKind struct {
	Name string
	// Runs is by position among the possible CPUs, which is the CPU's number on every machine whose
	// CPUs are numbered without gaps.
	Runs []uint64
}

// NetRX returns the runs of NET_RX by CPU.
func (s Softirqs) NetRX() []uint64 {
	if len(s) == 0 {
		return nil // not read
	}
	return s[0].Runs
}

// ReadSoftirqs reads /proc/softirqs (fs/proc/softirqs.c).
func ReadSoftirqs(fs FS) (Softirqs, error) {
	p, err := fs.procfs("softirqs")
	if err != nil {
		return nil, fmt.Errorf("read softirqs: %w", mounted(err))
	}
	s, err := p.Softirqs()
	if err != nil {
		return nil, fmt.Errorf("read softirqs: %w", err)
	}
	if len(s.NetRx) == 0 {
		return nil, fmt.Errorf("read softirqs: no NET_RX line: the kernel has no networking")
	}
	var all Softirqs
	for i, runs := range [][]uint64{s.NetRx, s.NetTx, s.Hi, s.Timer, s.Block, s.IRQPoll, s.Tasklet, s.Sched,
		s.HRTimer, s.RCU} {
		all = append(all, softirqKind{softirqKinds[i], runs})
	}
	return all, nil
}

// softirqKinds are all kinds, in the order of [Softirqs].
var softirqKinds = []string{"net_rx", "net_tx", "hi", "timer", "block", "irq_poll", "tasklet", "sched", "hrtimer",
	"rcu"}

// SoftirqsBetween computes how often each kind ran between two readings. The kernel's counters are
// 32 bits wide and may wrap once.
func SoftirqsBetween(before, after Softirqs) (grown Softirqs) {
	for i := range min(len(before), len(after)) {
		b, a := before[i].Runs, after[i].Runs
		k := softirqKind{Name: after[i].Name}
		for c := range min(len(b), len(a)) {
			k.Runs = append(k.Runs, uint64(measure.Grew32(b[c], a[c])))
		}
		grown = append(grown, k)
	}
	return grown
}

// SoftirqCounts reads them as counters, by kind and CPU.
func SoftirqCounts(fs FS) (out []measure.Count, err error) {
	s, err := ReadSoftirqs(fs)
	for _, k := range s {
		for cpu, n := range k.Runs {
			out = append(out, measure.Count{Name: fmt.Sprintf("cpu%d %s", cpu, k.Name),
				Metric: fmt.Sprintf("softirq_cpu%d_%s", cpu, k.Name), Unit: "1", Source: softirqSource,
				Kind: measure.Counter32, Value: n})
		}
	}
	return out, err
}

const softirqSource = "/proc/softirqs"

// softirqs reports the CPUs of the list and those that received or sent.
func (r *rows) softirqs(grown Softirqs, cpus []int) {
	const net = 2 // kinds
	for cpu := range grown.NetRX() {
		worked := slices.Contains(cpus, cpu) || slices.ContainsFunc(grown[:net],
			func(k softirqKind) bool { return cpu < len(k.Runs) && k.Runs[cpu] > 0 })
		for i, k := range grown {
			if cpu >= len(k.Runs) || i >= net && !worked {
				continue
			}
			name, v := fmt.Sprintf("softirq_cpu%d_%s", cpu, k.Name), float64(k.Runs[cpu])
			if i < net && worked {
				r.count(name, "1", v, softirqSource, "")
			} else {
				r.moved(name, "1", v, softirqSource)
			}
		}
	}
}

// SoftirqMetrics describe runs of softirqs.
var SoftirqMetrics = []measure.MetricDoc{
	{Names: "softirq_cpuN_net_rx softirq_cpuN_net_tx",
		Units: "1", Source: "/proc/softirqs",
		Meaning: "runs of the softirq"},
	{Names: "softirq_cpuN_NAME",
		Units: "1", Source: "/proc/softirqs",
		Meaning: "of the other kinds (timer, sched, rcu, ...), of the measured CPUs and of those " +
			"that received or sent"},
}
