// SPDX-License-Identifier: MIT

package judge

import (
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// packets is a run of 64-byte datagrams.
func packetsRun(sent, received, lost uint64) *results.Record {
	r := &results.Record{Schema: results.SchemaVersion, RunID: "r", Cell: plan.Cell{ID: "c", RX: "udp", TX: "udp"},
		Verdict: results.OK}
	r.SUT = results.Host{DurationS: new(1.), ThroughputGbps: new(float64(received) * 64 * 8 / 1e9),
		PacketsPerS: new(float64(received)), CPUBusyCores: new(.5),
		Packets: &results.Packets{Sent: &sent, Received: &received, Lost: &lost, Corrupted: new(uint64(0))}}
	r.TG = results.Host{DurationS: new(1.), ThroughputGbps: new(float64(sent) * 64 * 8 / 1e9),
		PacketsPerS: new(float64(sent)),
		Packets:     &results.Packets{Sent: &sent}}
	return r
}

func TestPacketLimit(t *testing.T) {
	busy := func(h *results.Host) {
		h.Metrics = append(h.Metrics, measure.Metric{Name: "thread_data_path_run_cores", Value: .99})
	}
	counted := func(h *results.Host, name string, n float64) {
		h.Packets.Counted = append(h.Packets.Counted, results.DropCounter{Name: name, Value: &n})
	}
	speed := func(r *results.Record, bits float64) {
		r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: measure.MetricLinkSpeed, Value: bits})
	}
	for name, x := range map[string]struct {
		lost   uint64
		change func(*results.Record)
		want   plan.LimitedBy
	}{
		"all came, the sender's thread is full": {0, func(r *results.Record) { busy(&r.TG) }, plan.BySender},
		"both are full, all came": {0, func(r *results.Record) { busy(&r.TG); busy(&r.SUT) },
			plan.BySender},
		"hardly any was lost": {500,
			func(r *results.Record) { busy(&r.TG); counted(&r.SUT, "udp_rcvbuf_errors", 500) }, plan.BySender},
		"the socket was full": {50_000,
			func(r *results.Record) { busy(&r.TG); counted(&r.SUT, "udp_rcvbuf_errors", 50_000) }, plan.ByReceiver},
		"its end of a veth was": {50_000,
			func(r *results.Record) { counted(&r.TG, "tx_dropped", 50_000); r.TG.Env.Driver = "veth" },
			plan.ByReceiver},
		"a driver refused": {50_000,
			func(r *results.Record) { counted(&r.TG, "tx_dropped", 50_000); r.TG.Env.Driver = "mlx5_core" },
			plan.ByLink},
		"a queue was full": {50_000, func(r *results.Record) { counted(&r.TG, "qdisc_drops", 50_000) },
			plan.ByLink},
		"both, the queue more": {50_000,
			func(r *results.Record) {
				counted(&r.TG, "qdisc_drops", 30_000)
				counted(&r.SUT, "udp_rcvbuf_errors", 20_000)
			},
			plan.ByLink},
		"lost, and nobody knows where": {50_000, func(r *results.Record) { busy(&r.TG) }, ""},
		"nothing was full":             {0, func(*results.Record) {}, ""},
		"the receiver's CPU was": {0,
			func(r *results.Record) {
				r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: "cpu1_busy_cores", Value: 1})
			},
			plan.ByReceiver},
		"the pace": {0, func(r *results.Record) { busy(&r.TG); r.Cell.PaceBitsPS = 512e5 },
			plan.ByPace},
		"the pace was not kept": {50_000,
			func(r *results.Record) { r.Cell.PaceBitsPS = 512e5; counted(&r.SUT, "udp_rcvbuf_errors", 50_000) },
			plan.ByReceiver},
		// 64 bytes of payload are 130 on the wire.
		"the link":           {0, func(r *results.Record) { busy(&r.TG); speed(r, 100_000*130*8) }, plan.ByLink},
		"a link half filled": {0, func(r *results.Record) { busy(&r.TG); speed(r, 2*100_000*130*8) }, plan.BySender},
		"frames on a link": {0, func(r *results.Record) {
			r.Cell.RX, r.Cell.TX = "xdp-drop",
				"pktgen-xdp"
			busy(&r.TG)
			speed(r, 100_000*130*8)
		}, plan.ByLink},
	} {
		r := packetsRun(100_000, 100_000-x.lost, x.lost)
		x.change(r)
		if got := FindLimit(r); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}
