// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/results"
)

// NAPIThreads are the threads that poll an interface's queues, where its NAPI is threaded.
type NAPIThreads struct {
	PIDs     []int // ascending, of the caller's PID namespace
	BusyPoll bool  // one of them at least never rests
	of       map[uint32]napiThread
	queues   map[rxQueue]uint32 // the instance of each RX queue
}

// napiThread polls an instance, which the map has by its number.
type napiThread struct {
	pid      int
	busyPoll bool
}

// FindNAPIThreads asks the kernel, which tells them by instance (net/core/netdev-genl.c,
// netdev_nl_napi_fill_one, Linux 7.3.4). No interface has none.
func FindNAPIThreads(devs ...string) (all NAPIThreads, err error) {
	all.of, all.queues = map[uint32]napiThread{}, map[rxQueue]uint32{}
	for _, dev := range devs {
		t, terr := napiThreadsOf(dev)
		err = errors.Join(err, terr)
		all.PIDs, all.BusyPoll = append(all.PIDs, t.PIDs...), all.BusyPoll || t.BusyPoll
		maps.Copy(all.of, t.of)
		maps.Copy(all.queues, t.queues)
	}
	slices.Sort(all.PIDs)
	all.PIDs = slices.Compact(all.PIDs)
	return all, err
}

func napiThreadsOf(dev string) (t NAPIThreads, err error) {
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
	t.of = map[uint32]napiThread{}
	for _, n := range all {
		switch {
		case n.PID > 0:
			own := napiThread{n.PID, n.Threaded == "busy-poll"}
			t.PIDs, t.of[n.ID] = append(t.PIDs, n.PID), own
			t.BusyPoll = t.BusyPoll || own.busyPoll
		case n.Threaded != "" && n.Threaded != "off":
			hidden++
		}
	}
	if len(t.of) > 0 {
		t.queues = instances(d)
	}
	if hidden > 0 {
		err = &fault.Error{Op: fmt.Sprintf("%d NAPI threads of %s are not in this PID namespace", hidden, dev),
			How: "run the agent in the host's (docker --pid=host)"}
	}
	return t, err
}

// instances maps an interface's RX queues to their NAPI instances, as far as its driver tells.
func instances(d *nic.Device) map[rxQueue]uint32 {
	all, _ := d.Queues() // without them sockets tell
	of := map[rxQueue]uint32{}
	for _, q := range all {
		of[rxQueue{d.Name, q.ID}] = q.NAPI
	}
	return of
}

// openPollers begins to count what polls for the flows.
func (m *meters) openPollers(s wire.EndSpec) {
	threads, err := FindNAPIThreads(s.Devs()...)
	if err != nil {
		m.missing = append(m.missing, fmt.Sprintf("busy leaves out threads that poll %s, if there are any: %s",
			strings.Join(s.Devs(), ", "), fault.Reason(err)))
	}
	if m.polledBy = threads; len(threads.PIDs) > 0 {
		m.pollers = counter.OpenPollers(counter.FS{}, threads.PIDs, s.MeasureCPUs)
	}
}

// polled adds that threads busy-poll, if they do, and warns of those that came or went while the
// flow was measured.
func (r *run) polled(h *results.Host) {
	if r.polledBy.BusyPoll {
		h.Metrics = append(h.Metrics, measure.Metric{Name: measure.MetricBusyPolls, Unit: "1", Value: 1,
			Source: "netdev napi-get"})
	}
	now, err := FindNAPIThreads(r.end.spec.Devs()...)
	if err == nil && (now.BusyPoll != r.polledBy.BusyPoll || !slices.Equal(now.PIDs, r.polledBy.PIDs)) {
		r.warnings = append(r.warnings,
			fmt.Sprintf("threaded NAPI of %s was switched since the end was opened: busy may leave some of it out",
				strings.Join(r.end.spec.Devs(), ", ")))
	}
}

// napis looks up the NAPI instances that the flows come by, as their sockets say
// (SO_INCOMING_NAPI_ID), and where a socket does not, that of the queue that its flow was to come
// by: of interest where threads poll. Nil: none does.
func (r *run) napis() (ids []uint32) {
	if len(r.polledBy.of) == 0 {
		return nil
	}
	for _, f := range r.end.flows {
		id, err := unix.GetsockoptInt(f.Conn.FD, unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID)
		if err != nil || id == 0 {
			id = int(r.polledBy.queues[f.rxQueue()]) // 0, no instance's number, where that is not known
		}
		ids = append(ids, uint32(id))
	}
	return ids
}

// pollerCores returns what the thread that polls an instance used in the window: where it has no
// time left, the flows of its queue have none. Nil: no thread does, or one that busy-polls, which
// never rests and so says nothing.
func (t NAPIThreads) pollerCores(napi uint32, p *counter.Polled) *float64 {
	thread, ok := t.of[napi]
	if !ok || thread.busyPoll || p == nil {
		return nil
	}
	cores, ok := p.Of[thread.pid]
	if !ok {
		return nil
	}
	return share(cores)
}
