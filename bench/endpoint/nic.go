// SPDX-License-Identifier: MIT

package endpoint

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/tally"
	"github.com/zcbench/zcbench/plan"
)

// nicWatch looks up in what was read at the window's edges what the NIC counts of what was asked
// of it. A nil one has nothing to look up.
type nicWatch struct {
	rx    bool
	split *driver.SplitCounters // nil: not asked for, or not counted
	irqs  string                // the driver's own counter of a queue's interrupts; "": it has none
}

// watchNIC finds what there is to be read of the end's interface; nil: it cannot be asked. That
// nothing can be is no failure of the run: what was not measured is not judged.
func watchNIC(s wire.EndSpec, d *nic.Device) *nicWatch {
	if d == nil || d.Software() != "" {
		return nil
	}
	w := &nicWatch{rx: s.Role == stream.RX}
	asked := slices.ContainsFunc(s.Cell.Others(), func(o plan.Other) bool {
		return o.Name == "header-split" &&
			o.End != "tg"
	})
	if drv, err := d.Driver(); err == nil {
		own := driver.Own(drv.Name)
		if w.irqs = own.IRQCounter; w.rx && asked {
			w.split = own.SplitCounters
		}
	}
	return w
}

// beside takes another interface of the end's flows in. What drivers count themselves is counted
// together where all count it alike.
func (w *nicWatch) beside(d *nic.Device) {
	if w == nil {
		return
	}
	var own driver.Driver
	if d != nil {
		if drv, err := d.Driver(); err == nil {
			own = driver.Own(drv.Name)
		}
	}
	if own.SplitCounters != w.split {
		w.split = nil
	}
	if own.IRQCounter != w.irqs {
		w.irqs = ""
	}
}

// countsNow reports whether the counters of an interface are those of the time when they are read,
// so that they can be told by turns: those of veth and loopback are, and of drivers that are known
// for it. Hardware's may be up to a second old.
func countsNow(dev string, d *nic.Device) bool {
	if dev == "" || d == nil {
		return false
	}
	if d.Software() != "" {
		return true
	}
	drv, err := d.Driver()
	return err == nil && driver.Own(drv.Name).CountsNow
}

// nicReading is what was read at an edge.
type nicReading struct {
	queues      map[int]nic.QueueStats
	irqs        map[string]uint64 // by name
	irqSource   string
	split       []uint64
	splitCounts bool
}

// of takes its part out of what was read.
func (w *nicWatch) of(all []*tally.Reading) (r nicReading) {
	if w == nil || slices.Contains(all, nil) {
		return r
	}
	r.queues, r.irqs = map[int]nic.QueueStats{}, map[string]uint64{}
	for i, t := range all {
		if w.rx {
			for id, q := range nic.RXStats(t.QStats) {
				r.queues[i<<16+id] = q
			}
		}
		own, source := w.interruptsOf(t)
		for name, n := range own {
			r.irqs[strconv.Itoa(i)+" "+name] = n
		}
		r.irqSource = source
	}
	if w.split == nil {
		return r
	}
	r.split, r.splitCounts = make([]uint64, len(w.split.Names)), true
	for _, t := range all {
		own := make(map[string]uint64, len(t.Stats))
		for _, s := range t.Stats {
			own[s.Name] = s.Value
		}
		for i, n := range summed(own, w.split.Names) {
			r.split[i] += n
		}
		r.splitCounts = r.splitCounts && len(t.Stats) > 0
	}
	return r
}

// interruptsOf looks up how often each interrupt came: as the kernel counts, or else the driver.
func (w *nicWatch) interruptsOf(t *tally.Reading) (n map[string]uint64, source string) {
	n = map[string]uint64{}
	for irq, v := range t.IRQs {
		n[strconv.Itoa(irq)] = v
	}
	if len(n) > 0 || w.irqs == "" {
		return n, "/sys/kernel/irq/N/per_cpu_count"
	}
	for _, s := range t.Stats {
		if nic.Called(s.Name, w.irqs) {
			n[s.Name] = s.Value
		}
	}
	return n, "ethtool -S"
}

// summed adds up the counters of each name, of all queues.
func summed(all map[string]uint64, names []string) (out []uint64) {
	for _, name := range names {
		sum := uint64(0)
		for counter, v := range all {
			if nic.Called(counter, name) {
				sum += v
			}
		}
		out = append(out, sum)
	}
	return out
}

// figures computes what the NIC counted between two readings. A counter that fell, because its
// queue began anew, is left out.
func (w *nicWatch) figures(from, to nicReading, seconds float64) (ms []measure.Metric) {
	if w == nil || seconds <= 0 {
		return nil
	}
	var made, wire uint64
	counts := len(to.queues) > 0
	for id, q := range to.queues {
		b, ok := from.queues[id]
		counts = counts && ok && q.CountsGRO && q.HWGRO >= b.HWGRO && q.HWGROWire >= b.HWGROWire
		made, wire = made+q.HWGRO-b.HWGRO, wire+q.HWGROWire-b.HWGROWire
	}
	if counts {
		const src = "netdev qstats-get"
		ms = append(ms, measure.Metric{Name: measure.MetricHWGROPackets, Unit: "packets", Value: float64(made),
			Source: src},
			measure.Metric{Name: measure.MetricHWGROWire, Unit: "packets", Value: float64(wire), Source: src})
	}
	ms = append(ms, interrupts(from, to, seconds)...)
	if from.splitCounts && to.splitCounts {
		n := make([]uint64, len(to.split))
		for i := range n {
			if to.split[i] < from.split[i] {
				return ms
			}
			n[i] = to.split[i] - from.split[i]
		}
		if v, ok := w.split.Share(n); ok {
			ms = append(ms, measure.Metric{Name: measure.MetricSplitShare, Unit: "1", Value: v, Source: "ethtool -S"})
		}
	}
	return ms
}

func interrupts(from, to nicReading, seconds float64) []measure.Metric {
	var all, busiest uint64
	for irq, n := range to.irqs {
		b, ok := from.irqs[irq]
		if !ok || n < b {
			return nil
		}
		all, busiest = all+n-b, max(busiest, n-b)
	}
	if len(to.irqs) == 0 {
		return nil
	}
	m := func(name, unit string, v float64) measure.Metric {
		return measure.Metric{Name: name, Unit: unit, Value: v, Source: to.irqSource}
	}
	return []measure.Metric{m(measure.MetricInterrupts, "1", float64(all)),
		m(measure.MetricInterruptRate, "1/s", float64(all)/seconds),
		m(measure.MetricBusiestIRQ, "1/s", float64(busiest)/seconds)}
}

// defaultFrags is CONFIG_MAX_SKB_FRAGS where nobody changed it (net/Kconfig).
const defaultFrags = 17

// fragments computes how much payload a packet has room for in fragments of a page. Only the first
// network namespace shows it (net/core/sysctl_net_core.c: net_core_table, Linux 7.3.4).
func fragments() []measure.Metric {
	const file = "/proc/sys/net/core/max_skb_frags"
	m := measure.Metric{Name: measure.MetricFragsBytes, Unit: "bytes", Source: file}
	b, err := kernelfile.ReadFile(file)
	n, perr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || perr != nil {
		n, m.Quality = defaultFrags, "not shown in this network namespace: the default is assumed"
	}
	m.Value = float64(n * os.Getpagesize())
	return []measure.Metric{m}
}
