// SPDX-License-Identifier: MIT

package counter

import "github.com/zcbench/zcbench/machine/measure"

// MemInfoCounts adds up what sockets of this process hold and dropped; there is nothing of none.
func MemInfoCounts(fds []int) (out []measure.Count, err error) {
	if len(fds) == 0 {
		return nil, nil
	}
	var sum [9]uint64
	for _, fd := range fds {
		m, err := ReadMemInfo(fd)
		if err != nil {
			return nil, err
		}
		for i, v := range [...]uint32{m.RmemAlloc, m.RcvBuf, m.WmemAlloc, m.SndBuf, m.FwdAlloc, m.WmemQueued, m.OptMem,
			m.Backlog, m.Drops} {
			sum[i] += uint64(v)
		}
	}
	for i, name := range [...]string{"rmem_alloc", "rcvbuf", "wmem_alloc", "sndbuf", "fwd_alloc", "wmem_queued",
		"optmem", "backlog", "drops"} {
		c := measure.Count{Name: name, Metric: "socket_" + name, Unit: "bytes", Source: "SO_MEMINFO",
			Kind: measure.Gauge, Value: sum[i]}
		if name == "drops" {
			c.Unit, c.Kind = "packets", measure.Counter32
		}
		out = append(out, c)
	}
	return out, nil
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
