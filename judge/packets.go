// SPDX-License-Identifier: MIT

package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// AccountPackets holds the packets that the receiver got against those that the sender sent: each
// is received, or lost where a counter of one of the ends tells it. The receiver has the sum.
func AccountPackets(rec *results.Record, oneMachine, oneNamespace bool) {
	rx, tx := rec.SUT.Packets, rec.TG.Packets
	if !rec.Cell.MovesPackets() || rec.Verdict != results.OK {
		return
	}
	if err := samePackets(rec, rx, tx); err != nil {
		Distrust(rec, "SUT", &fault.NonsenseError{Err: err,
			How: "the agents are not those the controller started, or this is a bug of zcbench: please report it"})
		return
	}
	if n := rec.PerLinkPacket(); n != nil && *n > mostPerPacket {
		rec.Flags = append(rec.Flags, results.FlagSuperPackets)
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("a packet of the link carried %.1f datagrams: none of "+
			"these was a packet; over veth, --udp-segmentation off makes the kernel segment", *n))
	}
	rx.Sent = new(*tx.Sent)
	takeReturned(rec)
	came := *rx.Received - orZero(rx.Duplicated)
	rx.Lost = new(*tx.Sent - came)
	least, most := unaccounted(*tx.Sent+orZero(rx.Answers), came+orZero(tx.Answers),
		lostBy(rec, oneMachine, oneNamespace))
	if more := holdLink(rec); most != 0 { // else the counters tell of all, as they are
		least -= more
	}
	if (least != 0 || most != 0) && fragmented(rec) {
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("%d datagrams were lost, and counters may not show all "+
			"of them: longer than the MTU, they travel in fragments, which is what counters count", *rx.Lost))
		return
	}
	if (least != 0 || most != 0) && untold(rec) {
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("%d frames were lost, and counters may not show all of "+
			"them: only veth is known to count every XDP frame that it does not send, and the sender's driver is %s",
			*rx.Lost, cmp.Or(plaintext.Line(rec.TG.Env.Driver), "not known")))
		return
	}
	if n := metric(&rec.SUT, stream.PacketsOfOthers); n > 0 {
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("at least %.0f packets of others left by the interface "+
			"that frames were redirected to, and its counters do not tell them from frames: as many frames may "+
			"have been lost there unseen; let nothing else leave by it, or take a veth, which tells them", n))
		return
	}
	if least == most {
		rx.Unaccounted = new(float64(least))
	}
	lost := *rx.Lost
	if tx.Answers != nil { // of both directions
		lost += orZero(rx.Answers) - min(orZero(tx.Answers), orZero(rx.Answers))
	}
	atLeast := "" // where it is not known how many packets those of a counter were
	if least != most {
		atLeast = "at least "
	}
	var why string
	switch {
	case least > 0:
		why = fmt.Sprintf("%d packets were lost; no counter shows where %s%d of them went: between the hosts, or "+
			"where nothing counts (--probe drops shows more)", lost, atLeast, least)
	case most < 0:
		why = fmt.Sprintf("%d packets were lost, but counters show %s%d more: other traffic lost some, or "+
			"something is counted twice", lost, atLeast, -most)
	default:
		return
	}
	unaccountedFor(rec, why)
}

func unaccountedFor(rec *results.Record, why string) {
	if !slices.Contains(rec.Flags, results.FlagPacketsUnaccounted) {
		rec.Flags = append(rec.Flags, results.FlagPacketsUnaccounted)
	}
	rec.Warnings = append(rec.Warnings, why)
}

// holdLink holds the frames that a generator handed to its interface against those that the
// interface counts: as passed on, and as not taken. It returns how many more its counters may not
// have: a veth adds without a lock (drivers/net/veth.c: veth_xdp_xmit, 6.18), so where several CPUs
// send to one of the peer's queues, of two counts at the same time one is lost.
func holdLink(rec *results.Record) (more int64) {
	tx := rec.TG.Packets
	i := slices.IndexFunc(rec.TG.Metrics, func(m measure.Metric) bool { return m.Name == stream.FramesPassedOn })
	if i < 0 {
		return 0
	}
	passed, dropped := rec.TG.Metrics[i].Value, 0.0
	for _, c := range tx.Counted {
		if c.Name == "tx_dropped" && c.Value != nil {
			dropped += *c.Value
		}
	}
	short := int64(*tx.Sent) - int64(passed+dropped)
	says := fmt.Sprintf(
		"the generator handed %d frames to its interface, which counts %.0f as passed on and %.0f as not taken",
		*tx.Sent, passed, dropped)
	switch several, _ := cpulist.Parse(rec.Cell.GenCPUs); {
	case short == 0:
	case short > 0 && len(several) > 1:
		rec.Warnings = append(rec.Warnings, says+": where several CPUs send to one queue, veth loses counts; "+
			"--channels, as many as CPUs, gives each its own")
		return short
	default:
		unaccountedFor(rec, says)
	}
	return 0
}

// markReassembly warns where datagrams were lost because fragments had no room. Those whose
// datagram lacks one wait for it, and meanwhile hold the namespace's memory for all
// (net/ipv4/inet_fragment.c: inet_frag_alloc): with some 40 of 64 KiB nothing is put together any
// more.
func markReassembly(rec *results.Record) {
	if !rec.Cell.MovesPackets() || !fragmented(rec) {
		return
	}
	for i, h := range []*results.Host{&rec.SUT, &rec.TG} {
		for ip, x := range map[string]string{"ip": "net.ipv4.ipfrag", "ip6": "net.ipv6.ip6frag"} {
			dropped := metric(h, "netstat_"+ip+"_reasm_fails") - metric(h, "netstat_"+ip+"_reasm_timeout")
			if dropped > 0 {
				rec.Warnings = append(rec.Warnings,
					fmt.Sprintf("%s: the kernel dropped %.0f fragments (ReasmFails): those of datagrams that "+
						"lost one wait for it (%s_time, 30 s) and fill the memory of all (%s_high_thresh, 4 MB). "+
						"Meanwhile every longer datagram is lost, in the next runs, too: use a --pace at which none "+
						"is lost, or raise the limit", []string{"SUT", "TG"}[i], dropped, x, x))
			}
		}
	}
}

// metric looks up a metric of a host; 0 where it has none.
func metric(h *results.Host, name string) float64 {
	for _, m := range h.Metrics {
		if m.Name == name {
			return m.Value
		}
	}
	return 0
}

// untold reports whether the interface of a run's sender need not count the frames that it did not
// send.
func untold(rec *results.Record) bool {
	m, err := modes.Find(stream.TX, rec.Cell.TX)
	return err == nil && m.Kind == stream.Frame && !driver.Of(rec.TG.Env.Driver).CountsUnsent
}

// takeReturned holds the frames that the receiver has sent back against those that came back to
// the sender: those alone have been through.
func takeReturned(rec *results.Record) {
	i := slices.IndexFunc(rec.TG.Metrics, func(m measure.Metric) bool { return m.Name == stream.FramesReturned })
	if i < 0 || !(rec.TG.Metrics[i].Value < float64(*rec.SUT.Packets.Received)) {
		return
	}
	rx, back := rec.SUT.Packets, uint64(max(rec.TG.Metrics[i].Value, 0))
	rx.Counted = append(rx.Counted, results.DropCounter{Name: "frames_not_returned", Source: "data path",
		Value: new(float64(*rx.Received - back))})
	rx.Received = &back
}

// mostPerPacket is from where on packets of the link carried several: what else came by it is less.
const mostPerPacket = 1.05

// samePackets refuses accounts of two ends that do not fit together.
func samePackets(rec *results.Record, rx, tx *results.Packets) error {
	switch {
	case rx == nil || tx == nil || rx.Received == nil || tx.Sent == nil:
		return fmt.Errorf("no account of packets: %s; %s", rx.PacketsText(), tx.PacketsText())
	case rx.Sent != nil && *rx.Sent != *tx.Sent:
		return fmt.Errorf("the sender sent %d packets, but told the receiver %d", *tx.Sent, *rx.Sent)
	case (rx.Answers != nil) != rec.Cell.RoundTrips(), (tx.Answers != nil) != rec.Cell.RoundTrips():
		return fmt.Errorf("answers without round trips, or round trips without answers: %s; %s", rx.PacketsText(),
			tx.PacketsText())
	case *rx.Received-orZero(rx.Duplicated) > *tx.Sent:
		return fmt.Errorf("%d packets sent, and %d received, %d of them twice", *tx.Sent, *rx.Received,
			orZero(rx.Duplicated))
	}
	return nil
}

func orZero(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// lostBy picks counters of both ends such that no packet is in two of them. Between two veths
// without NAPI the sender's call fills the receiver's backlog: what that has no room for, the
// sender's interface counts as well (see ledger.Across). In one namespace both ends have read the
// same counters, and the receiver longer.
func lostBy(rec *results.Record, oneMachine, oneNamespace bool) (all []lossLine) {
	backlog := 0.0
	for _, c := range rec.SUT.Packets.Counted {
		if c.Name == "softnet_dropped" {
			backlog = *c.Value
		}
		all = append(all, lossLine{int64(*c.Value), mostInOne(rec, c.Name)})
	}
	if oneNamespace {
		return all
	}
	for _, c := range rec.TG.Packets.Counted {
		n := *c.Value
		if c.Name == "tx_dropped" && oneMachine && driver.Of(rec.TG.Env.Driver).CountsUnsent {
			n -= min(n, backlog)
		}
		all = append(all, lossLine{int64(n), mostInOne(rec, c.Name)})
	}
	return all
}

// lossLine is what a counter tells to be lost, and how many packets one of these may be.
type lossLine struct{ count, most int64 }

// mostInOne returns how many packets one count of a counter may stand for. The socket has several
// in one with UDP_GRO; without it what came so is split before it counts. With UDP_SEGMENT a call's
// packets go as one through the qdisc, and over the link unless the interface has them split.
func mostInOne(rec *results.Record, counter string) int64 {
	gro, gso := int64(max(orZero(rec.SUT.Packets.MostInOne), 1)), int64(max(orZero(rec.TG.Packets.MostInOne), 1))
	out, in := gso, gso
	if split := rec.Cell.UDPSegment; split != nil && !*split {
		out, in = 1, 1
	}
	if n := rec.PerLinkPacket(); n != nil && *n <= mostPerPacket {
		in = 1
	}
	switch counter {
	case "udp_rcvbuf_errors", "udp_mem_errors", "udp_csum_errors", "udp_in_errors":
		return gro
	case "qdisc_drops", "udp_sndbuf_errors":
		return gso
	case "tx_dropped":
		return out
	case "rx_missed":
		return in
	}
	return max(in, gro) // in the backlog or in IP, before or after GRO
}

// unaccounted bounds how many packets were lost without any counter telling of them; below 0, those
// that counters tell of beyond the loss.
func unaccounted(sent, came uint64, lines []lossLine) (least, most int64) {
	if sent == came {
		return 0, 0 // all came: what counters tell is of others
	}
	least = int64(sent - came)
	most = least
	for _, l := range lines {
		least, most = least-l.count*l.most, most-l.count
	}
	return least, most
}
