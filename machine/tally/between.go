// SPDX-License-Identifier: MIT

package tally

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
)

// Change is a counter and what became of it between two readings.
type Change struct {
	measure.Count        // as it was at last
	Delta         int64  // 0: it did not move
	Flag          string // why to doubt that; empty is good
}

// Diff is all that two readings have in common.
type Diff struct {
	Seconds float64 // from one to the other
	Changes []Change
	Gone    int    // counters that only the first reading has: somebody made queues anew
	New     int    // that only the second has
	came    string // the first of these

	rx, tx float64 // packets of the interface
	linked bool    // they are known
	place  *int    // of [Config]
}

// called names a metric as that of the interface, where there are several.
func (d *Diff) called(name string) string {
	if d.place == nil {
		return name
	}
	return measure.DevMetric(*d.place, name)
}

// Packets returns how many packets the interface received and sent meanwhile.
func (d *Diff) Packets() (rx, tx float64, ok bool) { return d.rx, d.tx, d.linked }

// Between compares two readings of one reader. It is empty where one is missing.
func Between(from, to *Reading) (d Diff) {
	if from == nil || to == nil {
		return d
	}
	d.Seconds = float64(to.AtNs-from.AtNs) / 1e9
	before := make(map[string]uint64, len(from.Counts))
	for _, c := range from.Counts {
		before[c.Metric] = c.Value
	}
	compare := func(c measure.Count) {
		v, ok := before[c.Metric]
		if delete(before, c.Metric); !ok && c.Area != Netstat {
			if d.New++; d.New == 1 {
				d.came = c.Metric
			}
			return
		}
		// Messages of ICMP are counted by type, and a type is shown from its first message on
		// (net/ipv6/proc.c: snmp6_seq_show_icmpv6msg; net/ipv4/proc.c: icmpmsg_put).
		delta, flag := c.Since(v)
		d.Changes = append(d.Changes, Change{c, delta, flag})
	}
	for _, c := range to.Counts[:to.poolsAt] {
		compare(c)
	}
	d.place = to.place
	for _, c := range poolChanges(from.Pools, to.Pools) {
		c.Metric = d.called(c.Metric)
		d.Changes = append(d.Changes, c)
	}
	for _, c := range to.Counts[to.poolsAt:] {
		compare(c)
	}
	d.Gone = len(before)
	d.linked = from.Link != nil && to.Link != nil && from.Link.Index == to.Link.Index
	d.rx, d.tx = counter.Packets(from.Link, to.Link, false), counter.Packets(from.Link, to.Link, true)
	return d
}

// mostRows is how many rows of a reading metrics.csv gets of an end and run. A NIC of 64 queues
// moves some 1,000 counters under load on all of them.
const mostRows = 2000

// Rows makes the rows of metrics.csv of a run's window: counters by what they grew by, with rates,
// and levels as they are at its end. It names in idle what would say 0. Rates per packet are of the
// packets that the interface sent, or received.
func (d *Diff) Rows(sends bool) (rows []measure.Metric, idle, warnings []string) {
	packets, cut := d.rx, 0
	if sends {
		packets = d.tx
	}
	for _, c := range d.Changes {
		m := measure.Metric{Name: c.Metric, Unit: c.Unit, Value: float64(c.Delta), Source: c.Source, Quality: c.Flag}
		if c.Kind == measure.Gauge {
			m.Value = float64(c.Value)
		} else {
			m = m.Over(d.Seconds, packets)
		}
		switch {
		case m.Value == 0 && m.Quality == "":
			idle = append(idle, m.Name)
		case len(rows) >= mostRows:
			cut++
		default:
			rows = append(rows, m)
		}
	}
	if m, ok := d.RecycleRate(); ok {
		rows = append(rows, m)
	}
	if cut > 0 {
		warnings = append(warnings,
			fmt.Sprintf("%d more counters of the interface changed: metrics.csv has the first %d (docs/counters.md)",
				cut, mostRows))
		rows = append(rows, measure.Metric{Name: measure.MetricCountersCut, Unit: "1", Value: float64(cut),
			Source: "tally"})
	}
	if d.Gone+d.New > 0 {
		what := fmt.Sprintf("%d counters appeared and %d disappeared in the window: the interface's queues were "+
			"recreated, or the kernel started counting", d.New, d.Gone)
		if d.came != "" {
			what += " (" + d.came + ")"
		}
		warnings = append(warnings, what)
	}
	return rows, idle, warnings
}
