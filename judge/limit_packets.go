// SPDX-License-Identifier: MIT

package judge

import (
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// lossy is the share of the packets from which on what was lost says what limited a run: a CPU that
// others had for a moment loses less.
const lossy = 0.01

// packetLimit finds what kept a run from moving more packets. There is no window: a sender goes on
// whatever the receiver takes, so what was lost, and where, shows which was slower.
func packetLimit(r *results.Record) plan.LimitedBy {
	switch {
	case r.Cell.PaceBitsPS > 0 && *r.PaceError() >= -plan.PaceTolerance:
		return plan.ByPace
	case packetLinkShare(r) >= reached:
		return plan.ByLink
	case heldByCgroup(r):
		return plan.ByCgroup
	}
	if lost := r.SUT.Packets.LostShare(); lost != nil && *lost >= lossy {
		return whereLost(r)
	}
	sending := func(_ *results.Record, n int) plan.LimitedBy {
		if flowFull(&r.TG, n) || flowCPUFull(&r.TG, n) {
			return orOneCPU(plan.BySender, r, ends.TG, n)
		}
		return ""
	}
	all := agreed(r, sending)
	switch {
	case all != "": // and nearly all came
		return all
	case anyCPU(r, &r.TG) && cpuFull(&r.TG):
		return plan.BySender
	case anyCPU(r, &r.SUT) && cpuFull(&r.SUT):
		return plan.ByReceiver
	}
	return ""
}

// whereLost finds where most packets were lost: on the way out, by a link that takes no more, or at
// the receiver. A veth passes its packets to the receiver within the sender's call: what it drops,
// the receiver had no room for (drivers/net/veth.c: veth_xmit).
func whereLost(r *results.Record) plan.LimitedBy {
	out, in := 0.0, 0.0
	sending := []string{"tx_dropped", "qdisc_drops", "udp_sndbuf_errors"}
	for _, c := range r.SUT.Packets.Counted {
		if !slices.Contains(sending, c.Name) {
			in += *c.Value
		}
	}
	if p := r.TG.Packets; p != nil {
		for _, c := range p.Counted {
			switch {
			case c.Name == "tx_dropped" && r.TG.Env.Driver == "veth":
				in += *c.Value
			case slices.Contains(sending, c.Name):
				out += *c.Value
			}
		}
	}
	switch {
	case out > in:
		return plan.ByLink
	case in > 0:
		return plan.ByReceiver
	}
	return ""
}

// udpHeaders are those of IPv4 and UDP, of each datagram; shortestFrame is that of Ethernet
// without its checksum.
const udpHeaders, shortestFrame = 28, 60

// packetLinkShare computes what share of the link's speed the packets take with all their overhead.
func packetLinkShare(r *results.Record) float64 {
	speed := r.SUT.Value(measure.MetricLinkSpeed)
	if !(speed > 0) || r.SUT.PacketsPerS == nil || *r.SUT.PacketsPerS <= 0 {
		return 0
	}
	const ethernet = 14
	frame := *r.SUT.ThroughputGbps*1e9/8 / *r.SUT.PacketsPerS + udpHeaders + ethernet // throughput is of payload
	return *r.SUT.PacketsPerS * (max(frame, shortestFrame) + frameBytes - ethernet) * 8 / speed
}

// fragmented reports whether the run's datagrams were longer than the MTU: what counters then count
// as lost are fragments, any number of them per datagram.
func fragmented(r *results.Record) bool {
	mtu := r.TG.Value("link_mtu")
	return mtu > 0 && float64(r.Cell.MessageBytes+udpHeaders) > mtu
}
