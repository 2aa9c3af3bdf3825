// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
)

// Softirqs holds /proc/softirqs since boot, by position among the possible CPUs,
// which is the CPU's number on every machine whose CPUs are numbered without gaps.
// NET_RX counts softirq runs, not packets, and misses threaded NAPI and busy polling.
type Softirqs struct {
	NetRX, NetTX []uint64
	Others       []softirqKind // what else ran
}

// softirqKind is one of the other lines, such as TIMER, whose name here is timer.
type softirqKind struct {
	Name string
	Runs []uint64
}

// ReadSoftirqs reads /proc/softirqs (fs/proc/softirqs.c).
func ReadSoftirqs(fs FS) (Softirqs, error) {
	p, err := fs.procfs("softirqs")
	if err != nil {
		return Softirqs{}, fmt.Errorf("read softirqs: %w", mounted(err))
	}
	s, err := p.Softirqs()
	if err != nil {
		return Softirqs{}, fmt.Errorf("read softirqs: %w", err)
	}
	if len(s.NetRx) == 0 {
		return Softirqs{}, fmt.Errorf("read softirqs: no NET_RX line: the kernel has no networking")
	}
	return Softirqs{NetRX: s.NetRx, NetTX: s.NetTx, Others: []softirqKind{
		{"hi", s.Hi}, {"timer", s.Timer}, {"block", s.Block}, {"irq_poll", s.IRQPoll},
		{"tasklet", s.Tasklet}, {"sched", s.Sched}, {"hrtimer", s.HRTimer}, {"rcu", s.RCU}}}, nil
}

// SoftirqDelta is one CPU's softirq runs between two readings.
type SoftirqDelta struct {
	CPU          int
	NetRX, NetTX uint64
	Others       []softirqRuns // by name, also those that did not run
}

// softirqRuns is how often a kind of softirq ran.
type softirqRuns struct {
	Name string
	Runs uint64
}

// SoftirqsBetween compares two readings. The kernel's counters are 32 bits wide
// and may wrap once.
func SoftirqsBetween(before, after Softirqs) []SoftirqDelta {
	var out []SoftirqDelta
	for c := range min(len(before.NetRX), len(after.NetRX)) {
		d := SoftirqDelta{CPU: c, NetRX: wrap32(before.NetRX[c], after.NetRX[c])}
		if c < len(before.NetTX) && c < len(after.NetTX) {
			d.NetTX = wrap32(before.NetTX[c], after.NetTX[c])
		}
		for i := range min(len(before.Others), len(after.Others)) {
			b, a := before.Others[i], after.Others[i]
			if b.Name == a.Name && c < len(b.Runs) && c < len(a.Runs) {
				d.Others = append(d.Others, softirqRuns{a.Name, wrap32(b.Runs[c], a.Runs[c])})
			}
		}
		out = append(out, d)
	}
	return out
}

// SoftirqCounts reads them as counters, by kind and CPU.
func SoftirqCounts(fs FS) (out []measure.Count, err error) {
	s, err := ReadSoftirqs(fs)
	for _, k := range append([]softirqKind{{"net_rx", s.NetRX}, {"net_tx", s.NetTX}}, s.Others...) {
		for cpu, n := range k.Runs {
			out = append(out, measure.Count{Name: fmt.Sprintf("cpu%d %s", cpu, k.Name),
				Metric: fmt.Sprintf("softirq_cpu%d_%s", cpu, k.Name), Unit: "1", Source: softirqSource,
				Kind: measure.Counter32, Value: n})
		}
	}
	return out, err
}

const softirqSource = "/proc/softirqs"

// wrap32 computes the growth of a counter that the kernel keeps in 32 bits.
func wrap32(before, after uint64) uint64 { return uint64(measure.Grew32(before, after)) }

// softirqs reports the CPUs of the list and those that received or sent.
func (r *rows) softirqs(ds []SoftirqDelta, cpus []int) {
	for _, d := range ds {
		prefix := fmt.Sprintf("softirq_cpu%d_", d.CPU)
		if d.NetRX+d.NetTX == 0 && !slices.Contains(cpus, d.CPU) {
			r.idle = append(r.idle, prefix+"net_rx", prefix+"net_tx")
			continue
		}
		r.count(prefix+"net_rx", "1", float64(d.NetRX), softirqSource, "")
		r.count(prefix+"net_tx", "1", float64(d.NetTX), softirqSource, "")
		for _, o := range d.Others {
			r.moved(prefix+o.Name, "1", float64(o.Runs), softirqSource)
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
