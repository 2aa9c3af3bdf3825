// SPDX-License-Identifier: MIT

package results

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/zcbench/zcbench/internal/cpulist"
)

// flowRow is one line of flows.csv: one flow's part of one host's figures.
type flowRow struct {
	row
	n    int // the flow's number, from 0
	flow *Flow
}

// flowColumn is one column of flows.csv, with its line in docs/schema.md.
type flowColumn struct {
	name, unit, meaning string
	get                 func(*flowRow) string
}

// flowColumns are those of flows.csv in their order. The order up to reason is a contract: new
// columns go to the end.
var flowColumns = []flowColumn{
	{"run_id", "", "as in runs.csv", func(r *flowRow) string { return CSVText(r.rec.RunID) }},
	{"host", "", "as in runs.csv", func(r *flowRow) string { return hostLabel(&r.row) }},
	{"role", "", "`sut` = receiver, `tg` = sender", func(r *flowRow) string { return string(r.role) }},
	{"flow", "", "number of the flow, from 0; the same at both ends",
		func(r *flowRow) string { return strconv.Itoa(r.n) }},
	{"cpu", "", "CPU that its thread is pinned to; empty = not pinned",
		func(r *flowRow) string { return formatInt(r.flow.CPU) }},
	{"queue", "", "RX queue requested for it; empty = as found, and at the sender",
		func(r *flowRow) string { return formatInt(r.flow.Queue) }},
	{"bytes", "bytes", "payload in the steady window; all flows' sum is the host's in runs.csv",
		func(r *flowRow) string { return formatCount(r.flow.Bytes) }},
	{"throughput_gbps", "1e9 bit/s", "payload, steady window",
		func(r *flowRow) string { return formatFloat(r.flow.ThroughputGbps) }},
	{"cpu_s", "s", "CPU time of its thread in the window, user and system, without softirqs that interrupted it; " +
		"empty = other flows share the thread",
		func(r *flowRow) string { return formatFloat(r.flow.CPUS) }},
	{"zero_copy_bytes", "bytes", "as in runs.csv",
		func(r *flowRow) string { return formatCount(r.flow.ZeroCopyBytes) }},
	{"copied_bytes", "bytes", "as in runs.csv", func(r *flowRow) string { return formatCount(r.flow.CopiedBytes) }},
	{"retrans", "segments", "from TCP_INFO of its socket",
		func(r *flowRow) string { return formatCount(r.flow.Retrans) }},
	{"verdict", "", "of this flow at this end; a run is only as good as its worst flow",
		func(r *flowRow) string { return string(r.flow.Verdict) }},
	{"reason", "", "why the verdict is not ok", func(r *flowRow) string { return CSVText(r.flow.Reason) }},

	{"limit", "", "in the receiver's row: what limited this flow (docs/comparable.md): `receiver`, `sender`, " +
		"`one-cpu`, `window`, `disk`, `path`, `cgroup`, of a run's only flow also `link`, `pace`; empty = not known",
		func(r *flowRow) string { return string(r.flow.Limit) }},
	{"landed_queue", "", "RX queue that it came by, where the driver reports it: of modes that take queues over, " +
		"and of flows that were steered", func(r *flowRow) string { return formatInt(r.flow.Landed) }},
	{"thread_cores", "cores", "share of the window in which its thread ran or waited for its CPU; 1 = no time left",
		func(r *flowRow) string { return formatFloat(r.flow.ThreadCores) }},
	{"rwnd_limited", "1", "of a sender: share of the window in which it waited for the receiver's window",
		func(r *flowRow) string { return formatFloat(r.flow.RwndLimited) }},
	{"sndbuf_limited", "1", "of a sender: share of the window in which it waited for its own socket buffer",
		func(r *flowRow) string { return formatFloat(r.flow.SndbufLimited) }},
	{"softirq_cpu", "", "CPU that the flow's softirq ran on in at least 95 % of the looks at its socket; empty = " +
		"unknown, or several", func(r *flowRow) string { return formatInt(r.flow.SoftirqCPU) }},
	{"poller_cores", "cores", "load of the kernel thread that polls the flow's queue (threaded NAPI); 1 = no " +
		"time left; empty = there is none, or it busy-polls and never rests, or the driver does not report it",
		func(r *flowRow) string { return formatFloat(r.flow.PollerCores) }},
	{"softirq_cpus", "", "CPUs on each of which at least 10 % of the looks at its socket found the flow's " +
		"softirq, such " +
		"as 0-1; empty = unknown", func(r *flowRow) string { return cpulist.Format(r.flow.SoftirqCPUs) }},
	{"tcp_busy", "1", "of a sender: share of the window in which it had data to send, or not acknowledged yet",
		func(r *flowRow) string { return formatFloat(r.flow.TCPBusy) }},
	{"app_limited", "", "of a sender: whether the application had given TCP too little to send when the window ended",
		func(r *flowRow) string { return formatBool(r.flow.AppLimited) }},
	{"dev", "", "interface that it came or left by, where the end has several; its socket is bound to that one",
		func(r *flowRow) string { return CSVText(r.flow.Dev) }},
}

// WriteFlows writes flows.csv: a header and a row for every flow of every run and host, also
// of runs with one flow. An empty field was not measured.
func WriteFlows(w io.Writer, recs []Record) error {
	c := csv.NewWriter(w)
	fields := make([]string, len(flowColumns))
	for i := range flowColumns {
		fields[i] = flowColumns[i].name
	}
	if err := c.Write(fields); err != nil {
		return err
	}
	for i := range recs {
		for _, e := range rowsOf(&recs[i]) {
			for n := range e.host.Flows {
				r := flowRow{e, n, &e.host.Flows[n]}
				for k := range flowColumns {
					fields[k] = flowColumns[k].get(&r)
				}
				if err := c.Write(fields); err != nil {
					return err
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

func formatInt(v *int) string {
	if v == nil {
		return ""
	}
	return strconv.Itoa(*v)
}

func formatBool(v *bool) string {
	if v == nil {
		return ""
	}
	return strconv.FormatBool(*v)
}

func formatCount(v *uint64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatUint(*v, 10)
}
