// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/results"
)

// FlagPolled marks a run in which kernel threads polled an interface of the flow
// (threaded NAPI, busy-polling or not): their CPU time is in the flow's.
const FlagPolled = "threaded-napi"

// NAPIThreads are the threads that poll an interface's queues, where its NAPI is threaded.
type NAPIThreads struct {
	PIDs     []int // ascending, of the caller's PID namespace
	BusyPoll bool  // one of them at least never rests
}

// FindNAPIThreads asks the kernel, which tells them by instance (net/core/netdev-genl.c,
// netdev_nl_napi_fill_one, Linux 7.3.4). No interface has none.
func FindNAPIThreads(dev string) (t NAPIThreads, err error) {
	if dev == "" {
		return t, nil
	}
	d, err := nic.Open(dev)
	if err != nil {
		return t, err
	}
	defer d.Close()
	all, err := d.NAPIs()
	if err != nil {
		return t, err
	}
	hidden := 0
	for _, n := range all {
		switch {
		case n.PID > 0:
			t.PIDs = append(t.PIDs, n.PID)
			t.BusyPoll = t.BusyPoll || n.Threaded == "busy-poll"
		case n.Threaded != "" && n.Threaded != "off":
			hidden++
		}
	}
	slices.Sort(t.PIDs)
	if t.PIDs = slices.Compact(t.PIDs); hidden > 0 {
		err = &fault.Error{Op: fmt.Sprintf("%d NAPI threads of %s are not in this PID namespace", hidden, dev), How: "run the agent in the host's (docker --pid=host)"}
	}
	return t, err
}

// openPollers begins to count what polls for the flow.
func (r *run) openPollers() {
	threads, err := FindNAPIThreads(r.end.spec.Dev)
	if err != nil {
		r.warnings = append(r.warnings, fmt.Sprintf("busy lacks threads that poll %s, if there are any: %s", r.end.spec.Dev, fault.Reason(err)))
	}
	if r.polledBy = threads; len(threads.PIDs) > 0 {
		r.pollers = counter.OpenPollers(counter.FS{}, threads.PIDs, r.end.spec.MeasureCPUs)
	}
}

// polled says of threads that busy-poll that they do, and warns of those that came or
// went while the flow was measured.
func (r *run) polled(h *results.Host) {
	if r.polledBy.BusyPoll {
		h.Metrics = append(h.Metrics, results.Metric{Name: results.MetricBusyPolls, Unit: "1", Value: 1, Source: "netdev napi-get"})
	}
	now, err := FindNAPIThreads(r.end.spec.Dev)
	if err == nil && (now.BusyPoll != r.polledBy.BusyPoll || !slices.Equal(now.PIDs, r.polledBy.PIDs)) {
		r.warnings = append(r.warnings, fmt.Sprintf("NAPI of %s was made threaded, or was no longer, while the flow ran: busy may lack some of it", r.end.spec.Dev))
	}
}
