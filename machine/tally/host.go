// SPDX-License-Identifier: MIT

package tally

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/machine/counter"
)

// readHost reads what a run's snapshots have too, by the same readers.
func (r *Reader) readHost(x *Reading) {
	r.readNetstat(x)
	cpus, err := counter.ReadSoftnet(r.cfg.FS)
	if err != nil {
		x.gap(softnet, err)
	}
	for _, c := range cpus {
		for _, f := range counter.SoftnetColumns {
			kind := counter32
			if f.Level {
				kind = Gauge
			}
			x.add(Count{Area: softnet, Name: fmt.Sprintf("cpu%d %s", c.Index, f.Name),
				Metric: counter.SoftnetMetric(c.Index, f.Name), Unit: f.Unit, Source: counter.SoftnetSource,
				Kind: kind, Value: uint64(f.Of(&c))})
		}
	}
	s, err := counter.ReadSoftirqs(r.cfg.FS)
	if err != nil {
		x.gap(softirq, err)
	}
	for _, k := range append([]counter.SoftirqKind{{Name: "net_rx", Runs: s.NetRX}, {Name: "net_tx", Runs: s.NetTX}},
		s.Others...) {
		for cpu, n := range k.Runs {
			x.add(Count{Area: softirq, Name: fmt.Sprintf("cpu%d %s", cpu, k.Name),
				Metric: fmt.Sprintf("softirq_cpu%d_%s", cpu, k.Name),
				Unit:   "1", Source: "/proc/softirqs", Kind: counter32, Value: n})
		}
	}
}

func (r *Reader) readNetstat(x *Reading) {
	all, err := counter.ReadNetstat(r.cfg.FS)
	if err != nil {
		x.gap(Netstat, err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		kind := Counter
		if counter.NetstatGauge(name) {
			kind = Gauge
		}
		x.add(Count{Area: Netstat, Name: name, Metric: counter.NetstatMetric(name), Unit: counter.NetstatUnit(name),
			Source: all[name].Source, Kind: kind, Value: all[name].Value})
	}
}

// readMemory reads what memory sockets have: all, and the flows' own, added up.
func (r *Reader) readMemory(x *Reading, sockets []int) {
	levels := func(prefix string, ls []counter.Level) {
		for _, l := range ls {
			x.add(Count{Area: Sockets, Name: prefix + " " + l.Name, Metric: prefix + "_" + l.Name, Unit: l.Unit,
				Source: l.Source, Kind: Gauge, Value: l.Value})
		}
	}
	all, err := counter.ReadSockstat(r.cfg.FS)
	if err != nil {
		x.gap(Sockets, err)
	}
	levels("sockstat", all)
	limits, err := counter.ReadTCPMem(r.cfg.FS)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		x.gap(Sockets, err)
	}
	levels("tcp_mem", limits)
	if len(sockets) > 0 {
		r.readSockets(x, sockets)
	}
}

func (r *Reader) readSockets(x *Reading, sockets []int) {
	var sum [9]uint64
	for _, fd := range sockets {
		m, err := counter.ReadMemInfo(fd)
		if err != nil {
			x.gap(socket, err)
			return
		}
		for i, v := range [...]uint32{m.RmemAlloc, m.RcvBuf, m.WmemAlloc, m.SndBuf, m.FwdAlloc, m.WmemQueued, m.OptMem,
			m.Backlog, m.Drops} {
			sum[i] += uint64(v)
		}
	}
	for i, name := range [...]string{"rmem_alloc", "rcvbuf", "wmem_alloc", "sndbuf", "fwd_alloc", "wmem_queued",
		"optmem", "backlog", "drops"} {
		c := Count{Area: socket, Name: name, Metric: "socket_" + name, Unit: "bytes", Source: "SO_MEMINFO", Kind: Gauge,
			Value: sum[i]}
		if name == "drops" {
			c.Unit, c.Kind = "packets", counter32
		}
		x.add(c)
	}
}

// SocketMetrics describe what the sockets of the flows hold.
var SocketMetrics = []measure.MetricDoc{
	{Names: "socket_rmem_alloc socket_rcvbuf socket_wmem_alloc socket_sndbuf " +
		"socket_fwd_alloc socket_wmem_queued socket_optmem socket_backlog",
		Units: "bytes", Source: "SO_MEMINFO",
		Meaning: "what the flows' sockets hold at the window's end, added up (skmem of ss -m)"},
	{Names: "socket_drops", Units: "packets", Source: "SO_MEMINFO",
		Meaning: "packets that they dropped"},
}
