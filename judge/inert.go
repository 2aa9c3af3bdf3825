// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Inert is an option of a run that was set, and did not do what it was asked for: what its
// cell is compared with others for is not in its figures.
type Inert struct{ Option, Reason, Fix string }

// Flag returns the flag of a run whose option had no effect.
func (i *Inert) Flag() string { return results.FlagInert + i.Option }

// From where on evidence counts.
const (
	fewPackets = 1.05 // segments a packet: none are joined
	fewShare   = 0.01 // of a flow's segments: what else comes by the interface
	mostSplit  = 0.9  // share of packets whose headers were split off
	legacyGSO  = 65536
	acts       = 0.1 // share of what more was asked for than packets have without it
	tooOften   = 3   // times as often as asked: receiving, sending, and a change of load
)

// FindInert lists the options of a run that did not act, by the evidence of its figures. What was
// not measured is not listed.
func FindInert(r *results.Record) (out []Inert) {
	for _, check := range []func(*results.Record) *Inert{inertGRO, inertHWGRO, inertBigTCP,
		inertTGBigTCP, inertSegmentation, inertBusyPoll, inertPoll, inertFastOpen, inertSet} {
		if i := check(r); i != nil {
			out = append(out, *i)
		}
	}
	return out
}

// inertGRO: packets are of several segments, or not, as asked for.
func inertGRO(r *results.Record) *Inert {
	n := r.SUT.Value(measure.MetricRXPacketSegments)
	switch on, hw := r.Cell.GRO, r.Cell.HWGRO; {
	case on == nil, math.IsNaN(n), *on == (n > fewPackets):
		return nil
	case !*on && hw != nil && *hw: // which puts them together, as asked for
		return nil
	case *on:
		return &Inert{"gro", fmt.Sprintf("gro on had no effect: %.2f segments a packet", n),
			"look for what the driver cannot merge (ethtool -k: rx-checksum, rx-gro), and for tunnels"}
	}
	return &Inert{"gro", fmt.Sprintf("gro off had no effect: %.1f segments a packet", n),
		"the NIC merges them: --hw-gro off; or they were sent that way: veth passes on the sender's packets " +
			"unchanged (ethtool -K DEV tso off there)"}
}

// inertHWGRO: the NIC puts segments together, or does not, as asked for.
func inertHWGRO(r *results.Record) *Inert {
	on, wire, segments := r.Cell.HWGRO, r.SUT.Value(measure.MetricHWGROWire), r.SUT.Value("tcp_info_data_segs_in")
	if on == nil {
		return nil
	}
	if math.IsNaN(wire) || math.IsNaN(segments) || segments <= 0 {
		return inertHWGROAlone(r, *on)
	}
	share := wire / segments
	switch {
	case *on && share < fewShare:
		return &Inert{"hw_gro", fmt.Sprintf("hw_gro on had no effect: the NIC merged %.1f %% of the flow's segments",
			100*share),
			"zcbench doctor says what the driver needs; its ntuple rule or the queue may prevent it"}
	case !*on && share > fewShare:
		return &Inert{"hw_gro", fmt.Sprintf("hw_gro off had no effect: the NIC merged %.1f %% of the flow's segments",
			100*share), "ethtool -K DEV rx-gro-hw off, lro off"}
	}
	return nil
}

// inertHWGROAlone: where the driver does not count, packets tell, as long as nothing else
// makes them.
func inertHWGROAlone(r *results.Record, on bool) *Inert {
	n, gro := r.SUT.Value(measure.MetricRXPacketSegments), r.Cell.GRO
	if gro == nil || *gro || math.IsNaN(n) || on == (n > fewPackets) {
		return nil
	}
	return &Inert{"hw_gro", fmt.Sprintf("hw_gro %s had no effect: %.2f segments a packet, with gro off", onOffText(on),
		n), "zcbench doctor says what the driver needs"}
}

func onOffText(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func inertBigTCP(r *results.Record) *Inert {
	return bigPackets("big_tcp", r.Cell.BigTCPBytes, &r.SUT, measure.MetricRXPacketBytes)
}

func inertTGBigTCP(r *results.Record) *Inert {
	return bigPackets("tg_big_tcp", r.Cell.TGBigTCPBytes, &r.TG, measure.MetricTXPacketBytes)
}

// bigPackets: with BIG TCP packets are larger than can be without.
func bigPackets(option string, asked int, h *results.Host, name string) *Inert {
	got, most := h.Value(name), h.Value(measure.MetricFragsBytes)
	switch {
	case asked == 0, math.IsNaN(got):
		return nil
	case asked <= legacyGSO:
		if got <= 1.05*float64(asked) {
			return nil
		}
		return &Inert{option, fmt.Sprintf("%s %d had no effect: %.0f kB a packet", option, asked, got/1e3),
			"look at gso_max_size and gro_max_size of the interface (ip -d link)"}
	case got > legacyGSO+acts*float64(asked-legacyGSO):
		return nil
	}
	i := &Inert{option, fmt.Sprintf("%s %d had no effect: %.0f kB a packet", option, asked, got/1e3),
		"larger messages (--message-size), GRO on, more of the flow in one poll (napi gro-flush-timeout)"}
	// A packet has so many fragments at most (include/linux/skbuff.h: MAX_SKB_FRAGS), of a page
	// each where the payload is not copied into longer ones (net/core/skbuff.c:
	// skb_zerocopy_iter_stream, skb_splice_from_iter; the NIC's receive buffers).
	if got > 0.75*most && got < 1.05*most {
		i.Reason += fmt.Sprintf(", MAX_SKB_FRAGS: page-sized fragments hold %.0f kB", most/1e3)
		i.Fix = "a kernel with a larger CONFIG_MAX_SKB_FRAGS (45), fragments longer than a page (--tx tcp, " +
			"memory in huge pages, --rx-buf-len)"
	}
	return i
}

// inertSegmentation: packets are made before the interface, or passed to it in one, as asked for.
func inertSegmentation(r *results.Record) *Inert {
	on, n := r.Cell.UDPSegment, r.PerLinkPacket()
	switch {
	case on == nil, n == nil:
		return nil
	case !*on && *n > fewPackets:
		return &Inert{"udp_segmentation",
			fmt.Sprintf("udp_segmentation off had no effect: a packet of the link carried %.1f datagrams", *n),
			"look for what else segments or merges: ethtool -k, tx-gso-partial at the sender, " +
				"rx-udp-gro-forwarding at the receiver"}
	case *on && *n <= fewPackets && r.TG.Env.Driver == "veth":
		return &Inert{"udp_segmentation",
			"udp_segmentation on had no effect: a packet of the link carried one datagram",
			"one call must send several: --tx udp-gso, a larger --udp-batch"}
	}
	return nil
}

// inertBusyPoll: packets were taken by polling, at one end at least; of round trips that follow on
// each other, where both ends wait for packets and nothing else, at both.
func inertBusyPoll(r *results.Record) *Inert {
	sut, tg := r.SUT.Counted(measure.MetricBusyPolled), r.TG.Counted(measure.MetricBusyPolled)
	where := ""
	switch both := r.Cell.RoundTrips() && r.Cell.RRRate == 0; {
	case r.Cell.Poll != "" || r.Cell.BusyPollUs == 0 || math.IsNaN(sut) && math.IsNaN(tg) || sut > 0 && tg > 0:
		return nil
	case !(sut > 0) && !(tg > 0):
		where = "at either end"
	case both && sut == 0:
		where = "at the SUT, only at the TG"
	case both && tg == 0:
		where = "at the TG, only at the SUT"
	default:
		return nil
	}
	return &Inert{"busy_poll", fmt.Sprintf("busy_poll %dus had no effect: no packet was taken by polling %s",
		r.Cell.BusyPollUs, where), aQueue + "; on a NIC defer its interrupts: napi_defer_hard_irqs, gro_flush_timeout"}
}

// aQueue is what it takes to poll.
const aQueue = "the socket must know a queue to poll: a NIC's, or that of a veth with GRO on and TSO off at its " +
	"other end (not loopback), where the two ends have a CPU each"

// inertFastOpen: some connections were opened with a request in their first packet.
func inertFastOpen(r *results.Record) *Inert {
	if on := r.Cell.FastOpen; on == nil || !*on || r.SUT.Counted(measure.MetricFastOpened) != 0 {
		return nil
	}
	return &Inert{"fastopen", "fastopen had no effect: the receiver opened no connection with data in its first packet",
		"both hosts need net.ipv4.tcp_fastopen=3, and nothing between them may drop the option, or SYN packets " +
			"with data"}
}

// inertSet: of the settings that say how interrupts come and headers are split.
func inertSet(r *results.Record) *Inert {
	if r.Cell.SuspendsIRQs() && r.Cell.Poll != plan.PollSuspend {
		return &Inert{"set", "irq-suspend-timeout had no effect: interrupts are suspended by a reader alone that " +
			"waits by epoll with prefer_busy_poll, and this one did not",
			"use poll: suspend (--poll suspend), which has such readers; docs/polling.md"}
	}
	for _, o := range r.Cell.Others() {
		if o.End == "tg" {
			continue
		}
		switch {
		case o.Name == "coalesce rx-usecs":
			if i := interruptsTooOften(r, o.Value); i != nil {
				return i
			}
		case o.Name == "header-split":
			if i := notSplit(r, o.Value); i != nil {
				return i
			}
		}
	}
	return nil
}

// interruptsTooOften: an interrupt that waits for so long comes so often at most.
func interruptsTooOften(r *results.Record, value string) *Inert {
	usecs, err := strconv.ParseFloat(value, 64)
	rate := r.SUT.Value(measure.MetricBusiestIRQ)
	if err != nil || usecs <= 0 || math.IsNaN(rate) || rate <= tooOften*1e6/usecs {
		return nil
	}
	return &Inert{"set", fmt.Sprintf("coalesce rx-usecs=%s had no effect: %.0f interrupts a second, %.0f expected",
		value, rate, 1e6/usecs),
		"also set what fires earlier: coalesce adaptive-rx=off, rx-frames, tx-usecs"}
}

// notSplit: the NIC splits headers off, or does not.
func notSplit(r *results.Record, value string) *Inert {
	share := r.SUT.Value(measure.MetricSplitShare)
	state, _, _ := strings.Cut(strings.TrimPrefix(value, "tcp-data-split "), ",")
	switch {
	case math.IsNaN(share), state == "on" && share >= mostSplit, state == "off" && share < fewShare,
		state != "on" && state != "off":
		return nil
	}
	return &Inert{"set", fmt.Sprintf("header-split %s had no effect: the NIC split %.1f %% of its packets", state,
		100*share), "zcbench doctor says what the driver needs; packets shorter than hds-thresh are not split"}
}

// inert: what the cell asks for acted. Else the run is flagged: its figures are right, and say
// nothing of that option. A run of which somebody else polled than it says is none of its cell's.
func inert(g plan.Gates, r *results.Record) {
	if g.IgnoreInert {
		return
	}
	for _, i := range FindInert(r) {
		switch {
		case r.Verdict != results.OK:
		case g.Asks(plan.ActedGate), i.Option == "poll":
			r.Fail(plan.ByOutcome, i.Reason, i.Fix)
		default:
			r.Mark(i.Flag(), i.Reason)
		}
	}
}
