// SPDX-License-Identifier: MIT

package endpoint

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// A run has the counters of both ends, with rates, each under a documented name; what did not
// move is named, and in no row.
func TestRunHasCounters(t *testing.T) {
	rx, tx := rxSpec("tcp", mib), txSpec("tcp", mib)
	rx.Dev, tx.Dev = "lo", "lo"
	r, s := flowUntil(t, rx, tx, moved(64*mib))
	checkMoved(t, r, s, "tcp")
	for name, end := range map[string]wire.EndResult{"receiver": r, "sender": s} {
		h := end.Host
		by := map[string]measure.Metric{}
		for _, m := range h.Metrics {
			by[m.Named()] = m
			if err := metrics.CheckRow(m.Named(), m.Unit, m.Source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, level := range []string{"socket_rcvbuf", "sockstat_tcp_inuse", "counter_tally_cpu_ns",
			"counter_tally_wall_ns"} {
			if m, ok := by[level]; !ok || m.Value <= 0 || m.PerSecond != nil {
				t.Errorf("%s: %s: %+v", name, level, m)
			}
		}
		for _, moved := range []string{"netstat_tcp_in_segs", "link_rx_bytes"} {
			m := by[moved]
			if m.Value <= 0 || m.PerSecond == nil || m.PerPacket == nil {
				t.Errorf("%s: %s: %+v", name, moved, m)
				continue
			}
			seconds, packets := by["cpu_window_s"].Value, by["link_rx_packets"].Value
			if name == "sender" {
				packets = by["link_tx_packets"].Value
			}
			if d := *m.PerSecond*seconds/m.Value - 1; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s: %s is %v in %v s, %v per second", name, moved, m.Value, seconds, *m.PerSecond)
			}
			if d := *m.PerPacket*packets/m.Value - 1; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s: %s is %v in %v packets, %v per packet", name, moved, m.Value, packets, *m.PerPacket)
			}
		}
		if !slices.Contains(h.Idle, "netstat_ip_in_hdr_errors") { // of the namespace's loopback
			t.Errorf("%s: a counter that does not move is none of %d idle ones", name, len(h.Idle))
		}
		for _, idle := range h.Idle {
			if _, ok := by[idle]; ok || results.CheckFolded(idle) != nil {
				t.Errorf("%s: %s is idle, and has a row: %v", name, idle, ok)
			}
		}
	}
}
