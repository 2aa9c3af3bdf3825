// SPDX-License-Identifier: MIT

package tally

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Sources of rows.
const (
	sourceStats = "ethtool -S"
	sourceQueue = "netdev qstats-get"
	sourceIRQ   = "/sys/kernel/irq/N/per_cpu_count"
	sourceRoute = "rtnetlink"
)

// readLink reads the interface's counters and its queueing disciplines. In a run the first are
// what rates per packet are of: the rows are those of the snapshots.
func (r *Reader) readLink(x *Reading) {
	if r.cfg.Dev == "" {
		return
	}
	l, err := counter.ReadLink(r.cfg.Dev)
	if err != nil {
		x.gap(Link, err)
		return
	}
	x.Link = &l
	for _, c := range l.Counts() {
		if r.cfg.Host {
			x.add(Count{Area: Link, Name: c.Name, Metric: "link_" + c.Name, Unit: c.Unit, Source: sourceRoute,
				Value: c.Value})
		}
	}
	qs, err := r.route.QdiscStats(l.Index)
	if err != nil {
		x.gap(qdisc, fmt.Errorf("read the queueing disciplines of %s: %w", l.Name, err))
	}
	x.addQdiscs(qs)
}

// mostQdiscs is how many queueing disciplines are read: mq has one for each TX queue.
const mostQdiscs = 1024

func (x *Reading) addQdiscs(qs []rtnl.QdiscStats) {
	if len(qs) > mostQdiscs {
		x.gap(qdisc, fmt.Errorf("the interface has %d queueing disciplines: the first %d are read", len(qs),
			mostQdiscs))
		qs = qs[:mostQdiscs]
	}
	var root uint32
	for _, q := range qs {
		if q.Parent == rtnl.QdiscRoot {
			root = q.Handle
		}
	}
	for _, q := range qs {
		at, kind := place(q.Parent, root), q.Kind
		for _, f := range []struct {
			name, unit string
			kind       Kind
			v          uint64
		}{{"bytes", "bytes", Counter, q.Bytes}, {"packets", "packets", Counter, q.Packets},
			{"drops", "packets", counter32, uint64(q.Drops)},
			{"overlimits", "1", counter32, uint64(q.Overlimits)}, {"requeues", "1", counter32, uint64(q.Requeues)},
			{"backlog", "bytes", Gauge, uint64(q.Backlog)}, {"qlen", "packets", Gauge, uint64(q.QLen)}} {
			x.add(Count{Area: qdisc, Name: at + " " + kind + " " + f.name, Metric: "qdisc_" + word(at) + "_" +
				word(kind) + "_" + f.name,
				Unit: f.unit, Source: sourceRoute, Kind: f.kind, Value: f.v})
		}
	}
}

// place names where a queueing discipline is: root, ingress, or the class that it is in. It leaves
// out the class's major number where that is the root's: the kernel chooses that anew each time.
func place(parent, root uint32) string {
	switch {
	case parent == rtnl.QdiscRoot:
		return "root"
	case parent == rtnl.QdiscIngress:
		return "ingress"
	case parent>>16 == root>>16:
		return fmt.Sprintf("%d", parent&0xffff)
	}
	return fmt.Sprintf("%x:%x", parent>>16, parent&0xffff)
}

// readDevice reads what the driver counts.
func (r *Reader) readDevice(x *Reading) {
	if r.dev == nil {
		return
	}
	r.readPools(x)
	r.readIRQs(x)
	for _, queues := range []bool{false, true} {
		qs, err := r.dev.QStats(queues)
		if err != nil {
			x.gap(Queue, err)
			break
		}
		x.addQueues(qs)
		x.QStats = append(x.QStats, qs...)
	}
	stats, err := r.dev.StatList()
	if err != nil {
		x.gap(Ethtool, err)
	}
	x.Stats = stats
	x.addStats(stats)
}

func (r *Reader) readIRQs(x *Reading) {
	x.IRQs = map[int]uint64{}
	for _, q := range r.irqs {
		n, err := nic.IRQCount(q.IRQ)
		if errors.Is(err, os.ErrNotExist) {
			continue // its queue is gone
		}
		if err != nil {
			x.gap(Interrupt, err)
			return
		}
		x.IRQs[q.IRQ] = n
		name := fmt.Sprintf("irq%d", q.IRQ)
		if q.Queue >= 0 {
			name = fmt.Sprintf("rx%d", q.Queue)
		}
		// Each CPU's count has 32 bits; so the sum's last 32 bits are right.
		x.add(Count{Area: Interrupt, Name: name, Metric: "interrupts_" + name, Unit: "1", Source: sourceIRQ,
			Kind: counter32, Value: n})
	}
}

func (x *Reading) addQueues(qs []nic.QStat) {
	for _, q := range qs {
		for _, v := range q.Values {
			c := Count{Area: Queue, Name: v.Name, Metric: "qstats_" + word(v.Name), Unit: unitOfQueue(v.Name),
				Source: sourceQueue, Value: v.Value}
			if q.Queue >= 0 {
				way, name, _ := strings.Cut(v.Name, "-") // rx-packets
				c.Name = fmt.Sprintf("%s%d %s", way, q.Queue, name)
				c.Metric = fmt.Sprintf("qstats_%s%d_%s", way, q.Queue, word(name))
			}
			x.add(c)
		}
	}
}

// unitOfQueue: all are packets that are not bytes or times that something happened (netdev.yaml).
func unitOfQueue(name string) string {
	switch {
	case strings.HasSuffix(name, "bytes"):
		return "bytes"
	case name == "rx-alloc-fail", name == "tx-stop", name == "tx-wake":
		return "1"
	}
	return "packets"
}

// addStats takes the driver's own counters. Whether one counts or is a level only its name says.
func (x *Reading) addStats(stats []nic.Stat) {
	for _, s := range stats {
		w := word(s.Name)
		x.add(Count{Area: Ethtool, Name: s.Name, Metric: "ethtool_" + w, Unit: unitOf(w), Source: sourceStats,
			Value: s.Value})
	}
}

// DeviceMetrics describe the queueing disciplines, the queues and the driver.
var DeviceMetrics = []measure.MetricDoc{
	{Names: "qdisc_NAME", Units: "*", Source: "rtnetlink",
		Meaning: "of each queueing discipline, by where it is and its kind: " +
			"`qdisc_root_mq_drops`, `qdisc_1_fq_overlimits`"},
	{Names: "qstats_NAME qstats_rxN_NAME qstats_txN_NAME", Units: "*", Source: "netdev qstats-get",
		Meaning: "the interface's and each queue's, as netlink calls them (6.9)"},
	{Names: "ethtool_NAME", Units: "*", Source: "ethtool -S",
		Meaning: "the driver's own, as it calls them"},
}

// InterruptMetrics describe interrupts.
var InterruptMetrics = []measure.MetricDoc{
	{Names: "interrupts_rxN interrupts_irqN", Units: "1",
		Source: "/sys/kernel/irq/N/per_cpu_count",
		Meaning: "of an RX queue; of an interrupt, where it is not known of which queue it is, " +
			"or is of several"},
}
