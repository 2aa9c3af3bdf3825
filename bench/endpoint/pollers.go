// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
)

// FlagPolled marks a run in which kernel threads polled an interface of the flow
// (threaded NAPI, busy-polling or not): their CPU time is in the flow's.
const FlagPolled = "threaded-napi"

// NAPIThreads are the numbers of the threads that poll the interface's queues, where its
// NAPI is threaded: the kernel tells them by instance, in the caller's PID namespace
// (net/core/netdev-genl.c, netdev_nl_napi_fill_one, Linux 7.3.4). "" has none.
func NAPIThreads(dev string) (pids []int, err error) {
	if dev == "" {
		return nil, nil
	}
	d, err := nic.Open(dev)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.NAPIs()
	if err != nil {
		return nil, err
	}
	hidden := 0
	for _, n := range all {
		switch {
		case n.PID > 0:
			pids = append(pids, n.PID)
		case n.Threaded != "" && n.Threaded != "off":
			hidden++
		}
	}
	slices.Sort(pids)
	if pids = slices.Compact(pids); hidden > 0 {
		err = &fault.Error{Op: fmt.Sprintf("%d NAPI threads of %s are not in this PID namespace", hidden, dev), How: "run the agent in the host's (docker --pid=host)"}
	}
	return pids, err
}

// openPollers begins to count what polls for the flow.
func (r *run) openPollers() {
	pids, err := NAPIThreads(r.end.spec.Dev)
	if err != nil {
		r.warnings = append(r.warnings, fmt.Sprintf("busy lacks threads that poll %s, if there are any: %s", r.end.spec.Dev, fault.Reason(err)))
	}
	if r.polledBy = pids; len(pids) > 0 {
		r.pollers = counter.OpenPollers(counter.FS{}, pids, r.end.spec.MeasureCPUs)
	}
}

// pollersStayed warns of threads that came or went while the flow was measured.
func (r *run) pollersStayed() {
	if now, err := NAPIThreads(r.end.spec.Dev); err == nil && !slices.Equal(now, r.polledBy) {
		r.warnings = append(r.warnings, fmt.Sprintf("NAPI of %s was made threaded, or was no longer, while the flow ran: busy may lack some of it", r.end.spec.Dev))
	}
}
