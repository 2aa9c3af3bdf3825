// SPDX-License-Identifier: MIT

// Package metrics lists all metrics that a run may have. What a source counts is described where
// that is read; what is worked out of several, or by the ends of a run, is described here.
package metrics

import (
	"cmp"
	"slices"
	"sync"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/hops"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/tally"
	"github.com/zcbench/zcbench/packet/datagram"
	"github.com/zcbench/zcbench/packet/xdp"
	"github.com/zcbench/zcbench/packet/xsk"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"github.com/zcbench/zcbench/zc/tcpmmap"
	"github.com/zcbench/zcbench/zc/uringzc"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Sections are the metrics by the sections of docs/metrics.md, which is made of them; tests hold
// the rows of real runs against them. Words in capitals stand for what differs: N is a number.
var Sections = []measure.MetricSection{
	{Title: "The flow",
		Metrics: slices.Concat(
			payload,
			datagram.BatchMetrics,
			lost,
			xdp.ReceiverMetrics,
			xsk.Metrics,
			xdp.SenderMetrics,
			timed,
			uringzc.Metrics,
			baseline.URINGMetrics,
			encrypted, steered,
			zcrx.Metrics,
			written,
			devmem.ProofMetrics,
			devmem.ReadMetrics,
			nicqueue.Metrics,
			tcpmmap.Metrics,
			counter.TCPInfoMetrics,
			run,
		)},
	{Title: "CPU",
		Metrics: slices.Concat(
			counter.CPUMetrics,
			counter.ForeignMetrics,
			counter.TaskMetrics,
			counter.CgroupMetrics,
			siblings,
			counter.ThreadMetrics,
			rests,
			counter.PollerMetrics,
			counter.NAPIMetrics,
			asleep,
			placed,
			counter.IdleMetrics,
			counter.PMUMetrics,
			counter.MBMMetrics,
			counter.DRAMMetrics,
			nodes,
			counter.ThrottleMetrics,
			counter.CostMetrics,
			tally.CostMetrics,
		)},
	{Title: "Network",
		Metrics: slices.Concat(
			counted(tally.Sources),
			speed,
			counter.LinkSettingMetrics,
			network,
		)},
	{Title: "Power", Intro: "docs/power.md explains them.",
		Metrics: power.Metrics},
	{Title: "Probes", Intro: "docs/probes.md says where each is taken.",
		Metrics: slices.Concat(
			bpf.LatencyMetrics,
			bpf.SyscallMetrics,
			bpf.PathMetrics,
			bpf.DropMetrics,
			segments,
			counter.FlowSamplerMetrics,
		)},
	{Title: "Along the path",
		Intro:   "Of the interfaces of the option path, by number from 1 on; at the receiver (docs/path.md).",
		Metrics: hops.Metrics},
	{Title: "Profile", Intro: "docs/profile.md explains classes and functions.",
		Metrics: profile.Metrics},
	{Title: "Over time", Intro: "The rows of samples.csv.",
		Metrics: slices.Concat(
			counter.SamplerSeries,
			counter.FlowSamplerSeries,
			power.Series,
			zcrx.Series,
		)},
}

// areas are those of the sources in the order of the page, on which any others come last.
var areas = []string{"softirq", "softnet", "netstat", "link", "qdisc", "queue", "ethtool", "page-pool", "interrupt",
	"sockets", "socket", "tls"}

// counted describes what sources count.
func counted(sources []tally.Source) (out []measure.MetricDoc) {
	place := func(s tally.Source) uint { return uint(slices.Index(areas, s.Area)) } // -1 is the most
	for _, s := range slices.SortedStableFunc(slices.Values(sources), func(a, b tally.Source) int {
		return cmp.Compare(place(a), place(b))
	}) {
		out = append(out, s.Doc...)
	}
	return out
}

var index = sync.OnceValue(func() measure.Index {
	var all [][]measure.MetricDoc
	for _, s := range Sections {
		all = append(all, s.Metrics)
	}
	return measure.NewIndex(all...)
})

// Describe looks up what a row of metrics.csv or samples.csv means, as [measure.Index.Describe]
// does.
func Describe(row string) (d *measure.MetricDoc, unit string) { return index().Describe(row) }

// CheckRow holds a row of metrics.csv against [Sections].
func CheckRow(name, unit, source string) error { return index().CheckRow(name, unit, source) }
