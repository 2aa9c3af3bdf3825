// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/results"
)

// markPackets holds the packets that the receiver got against those that the sender sent: each is
// received, or lost where a counter of one of the ends tells it. The receiver has the sum.
func markPackets(rec *results.Record, oneMachine, oneNamespace bool) {
	rx, tx := rec.SUT.Packets, rec.TG.Packets
	if !rec.Cell.MovesPackets() || rec.Verdict != results.OK {
		return
	}
	if err := samePackets(rx, tx); err != nil {
		distrust(rec, "SUT", &wire.NonsenseError{Err: err, How: "the agents are not what the controller started, or this is a bug of zcbench: please report it"})
		return
	}
	if n := rec.PerLinkPacket(); n != nil && *n > mostPerPacket {
		rec.Flags = append(rec.Flags, results.FlagSuperPackets)
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("a packet of the link carried %.1f datagrams: none of these was a packet; over veth --udp-segmentation off has the kernel make some", *n))
	}
	rx.Sent = new(*tx.Sent)
	takeReturned(rec)
	came := *rx.Received - orZero(rx.Duplicated)
	rx.Lost = new(*tx.Sent - came)
	left := unaccounted(*tx.Sent, came, lostBy(rec, oneMachine, oneNamespace), max(orZero(rx.MostInOne), orZero(tx.MostInOne)))
	if left != 0 && rec.Fragmented() {
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("%d datagrams were lost, and it is not known whether counters tell of all: longer than the MTU, they go in fragments, which counters count", *rx.Lost))
		return
	}
	if left != 0 && untold(rec) {
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("%d frames were lost, and it is not known whether counters tell of all: of drivers, only veth is known to count each frame of XDP that it does not send, and the sender's is %s", *rx.Lost, cmp.Or(plaintext.Line(rec.TG.Env.Driver), "not known")))
		return
	}
	if rx.Unaccounted = &left; left == 0 {
		return
	}
	rec.Flags = append(rec.Flags, results.FlagPacketsUnaccounted)
	why := fmt.Sprintf("of %d lost packets no counter tells where %.0f were lost: between the hosts, or where nothing counts (--probe drops shows more)", *rx.Lost, left)
	if left < 0 {
		why = fmt.Sprintf("%d packets were lost, and counters tell of %.0f more: other traffic lost some, or something is counted twice", *rx.Lost, -left)
	}
	rec.Warnings = append(rec.Warnings, why)
}

// untold tells a run whose sender's interface need not count the frames that it did not send.
func untold(rec *results.Record) bool {
	m, err := stream.LookupMode(stream.TX, rec.Cell.TX)
	return err == nil && m.Kind == stream.Frame && rec.TG.Env.Driver != "veth"
}

// takeReturned holds the frames that the receiver has sent back against those that came back to
// the sender: those alone have been through.
func takeReturned(rec *results.Record) {
	i := slices.IndexFunc(rec.TG.Metrics, func(m results.Metric) bool { return m.Name == stream.FramesReturned })
	if i < 0 || !(rec.TG.Metrics[i].Value < float64(*rec.SUT.Packets.Received)) {
		return
	}
	rx, back := rec.SUT.Packets, uint64(max(rec.TG.Metrics[i].Value, 0))
	rx.Counted = append(rx.Counted, results.DropCounter{Name: "frames_not_returned", Source: "data path", Value: new(float64(*rx.Received - back))})
	rx.Received = &back
}

// mostPerPacket is from where on packets of the link carried several: what else came by it is less.
const mostPerPacket = 1.05

// samePackets refuses accounts of two ends that do not fit together.
func samePackets(rx, tx *results.Packets) error {
	switch {
	case rx == nil || tx == nil || rx.Received == nil || tx.Sent == nil:
		return fmt.Errorf("no account of packets: %s; %s", rx.PacketsText(), tx.PacketsText())
	case rx.Sent != nil && *rx.Sent != *tx.Sent:
		return fmt.Errorf("the sender sent %d packets, and told the receiver of %d", *tx.Sent, *rx.Sent)
	case *rx.Received-orZero(rx.Duplicated) > *tx.Sent:
		return fmt.Errorf("%d packets sent, and %d received, %d of them twice", *tx.Sent, *rx.Received, orZero(rx.Duplicated))
	}
	return nil
}

func orZero(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// lostBy are the counters of both ends such that no packet is in two of them. Between two veths
// without NAPI the receiver's backlog is filled by the sender's call: what it has no room for, the
// sender's interface counts as well (see ledger.Across). In one namespace both ends have read the
// same counters, and the receiver longer.
func lostBy(rec *results.Record, oneMachine, oneNamespace bool) (all []ledger.Counted) {
	backlog := 0.0
	for _, c := range rec.SUT.Packets.Counted {
		if c.Name == "softnet_dropped" {
			backlog = *c.Value
		}
		all = append(all, ledger.Counted{Name: c.Name, Count: uint64(*c.Value)})
	}
	if oneNamespace {
		return all
	}
	for _, c := range rec.TG.Packets.Counted {
		n := *c.Value
		if c.Name == "tx_dropped" && oneMachine && rec.TG.Env.Driver == "veth" {
			n -= min(n, backlog)
		}
		all = append(all, ledger.Counted{Name: c.Name, Count: uint64(n)})
	}
	return all
}

// unaccounted are the packets that were lost and that no counter tells; below 0, those that
// counters tell of beyond that. A counter that counts once what GSO or GRO made of several may
// stand for any number of these: then what is left over is what cannot be.
func unaccounted(sent, came uint64, lines []ledger.Counted, mostInOne uint64) float64 {
	if sent == came {
		return 0 // all came: what counters tell is of others
	}
	l := ledger.Ledger{Sent: sent, Received: came, Counted: lines, SuperPackets: mostInOne > 1, MaxSegments: mostInOne}
	b := l.Add()
	if b.LeftLeast <= 0 && b.LeftMost >= 0 {
		return 0
	}
	if math.Abs(float64(b.LeftLeast)) < math.Abs(float64(b.LeftMost)) {
		return float64(b.LeftLeast)
	}
	return float64(b.LeftMost)
}
