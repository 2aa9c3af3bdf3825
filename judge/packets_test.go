// SPDX-License-Identifier: MIT

package judge

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// packetRun is a run of so many packets, with what the counters of its ends told.
func packetRun(sent, received, twice uint64, rx, tx []results.DropCounter) *results.Record {
	r := &results.Record{Cell: plan.Cell{RX: "udp", TX: "udp"}, Verdict: results.OK}
	r.SUT.Packets = &results.Packets{Sent: new(sent), Received: new(received), Duplicated: new(twice), Counted: rx}
	r.TG.Packets = &results.Packets{Sent: new(sent), Counted: tx}
	r.TG.Env.Driver = "veth"
	return r
}

func counts(all ...any) (out []results.DropCounter) {
	for i := 0; i < len(all); i += 2 {
		out = append(out, results.DropCounter{Name: all[i].(string), Value: new(all[i+1].(float64))})
	}
	return out
}

// Each packet that was sent is received, or lost where a counter tells; else the run is flagged.
func TestMarkPackets(t *testing.T) {
	super := func(r *results.Record, n uint64) *results.Record {
		r.SUT.Packets.MostInOne = &n
		return r
	}
	gso := func(r *results.Record, split bool) *results.Record {
		r.TG.Packets.MostInOne = new(uint64(64))
		if split {
			r.Cell.UDPSegment = new(false)
		}
		return r
	}
	unknown := math.NaN()
	for name, x := range map[string]struct {
		rec        *results.Record
		lost       uint64
		left       float64
		warns      string
		oneMachine bool

		oneNamespace bool
	}{
		"all came": {packetRun(100, 100, 0, nil, nil), 0, 0, "", true, false},
		"all came, others were lost": {packetRun(100, 100, 0, counts("udp_no_ports", 7.), nil), 0, 0, "", true,
			false},
		"lost at the socket": {packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 40.), nil), 40, 0, "",
			true, false},
		"one came twice": {packetRun(100, 61, 1, counts("udp_rcvbuf_errors", 40.), nil), 40, 0, "",
			true, false},
		"at both ends": {packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 30.),
			counts("qdisc_drops", 10.)), 40, 0, "", true, false},
		"in between": {packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 30.), nil), 40, 10,
			"40 packets were lost; no counter shows where 10 of them went", true, false},
		"others too": {packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 45.), nil), 40, -5,
			"40 packets were lost, but counters show 5 more", true, false},
		"told by both ends of a veth": {packetRun(100, 60, 0, counts("softnet_dropped", 40.),
			counts("tx_dropped", 40.)), 40, 0, "", true, false},
		"told by two machines": {packetRun(100, 20, 0, counts("softnet_dropped", 40.),
			counts("tx_dropped", 40.)), 80, 0, "", false, false},
		"in one namespace": {packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 40.),
			counts("udp_rcvbuf_errors", 40.)), 40, 0, "", true, true},
		"of several in one": {super(packetRun(100, 36, 0, counts("udp_rcvbuf_errors", 2.), nil), 64),
			64, unknown, "", true, false},
		"more than they can have been": {super(packetRun(1000, 36, 0, counts("udp_rcvbuf_errors", 2.), nil), 64),
			964, unknown, "964 packets were lost; no counter shows where at least 836 of them went", true, false},
		"fewer than there were at least": {super(packetRun(100, 99, 0, counts("udp_rcvbuf_errors", 2.), nil), 64),
			1, unknown, "1 packets were lost, but counters show at least 1 more", true, false},
		"GSO's, one by one at the socket": {gso(packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 30.), nil), false),
			40, 10, "40 packets were lost; no counter shows where 10 of them went", true, false},
		"GSO's, together in the qdisc": {gso(packetRun(100, 36, 0, nil, counts("qdisc_drops", 2.)), true), 64,
			unknown, "", true, false},
		"GSO's, together on the link": {gso(packetRun(100, 36, 0, nil, counts("tx_dropped", 2.)), false), 64,
			unknown, "", true, false},
		"GSO's, split on the link": {gso(packetRun(100, 36, 0, nil, counts("tx_dropped", 2.)), true), 64, 62,
			"64 packets were lost; no counter shows where 62", true, false},
		"what two ends say does not agree": {packetRun(100, 101, 0, nil, nil), 0, 0, "", true, false},
	} {
		r := x.rec
		AccountPackets(r, x.oneMachine, x.oneNamespace)
		if name == "what two ends say does not agree" {
			if r.Verdict != results.Failed || !strings.Contains(r.Reason, "100 packets sent, and 101 received") {
				t.Errorf("%s: %s, %s", name, r.Verdict, r.Reason)
			}
			continue
		}
		p := r.SUT.Packets
		if p.Lost == nil || *p.Lost != x.lost || (p.Unaccounted == nil) != math.IsNaN(x.left) ||
			p.Unaccounted != nil && *p.Unaccounted != x.left {
			b, _ := json.Marshal(p)
			t.Errorf("%s: %s, want %d lost and %g unaccounted", name, b, x.lost, x.left)
			continue
		}
		flagged := slices.Contains(r.Flags, results.FlagPacketsUnaccounted)
		if flagged != (x.warns != "") || flagged &&
			(len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], x.warns)) {
			t.Errorf("%s: %q, %q", name, r.Flags, r.Warnings)
		}
	}
	long := packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 45.), nil)
	long.Cell.MessageBytes, long.TG.Metrics = 8000, []measure.Metric{{Name: "link_mtu", Value: 1500}}
	if AccountPackets(long, true, false); long.SUT.Packets.Unaccounted != nil || len(long.Flags) != 0 ||
		len(long.Warnings) != 1 {
		t.Errorf("fragments: %v, %q, %q", long.SUT.Packets.Unaccounted, long.Flags, long.Warnings)
	}
	hidden := packetRun(100, 100, 0, nil, nil) // as many of others may have stood for lost ones
	hidden.SUT.Metrics = []measure.Metric{{Name: stream.PacketsOfOthers, Value: 7}}
	if AccountPackets(hidden, true, false); hidden.SUT.Packets.Unaccounted != nil || len(hidden.Flags) != 0 ||
		len(hidden.Warnings) != 1 || !strings.Contains(hidden.Warnings[0], "at least 7 packets of others") {
		t.Errorf("others' packets: %v, %q, %q", hidden.SUT.Packets.Unaccounted, hidden.Flags, hidden.Warnings)
	}
	for name, r := range map[string]*results.Record{
		"no account": {Cell: plan.Cell{RX: "udp", TX: "udp"}, Verdict: results.OK},
		"another number told": func() *results.Record {
			r := packetRun(100, 60, 0, nil,
				nil)
			*r.SUT.Packets.Sent = 99
			return r
		}(),
		"the receiver has none": func() *results.Record {
			r := packetRun(100, 60, 0, nil, nil)
			r.SUT.Packets =
				nil
			return r
		}(),
	} {
		if AccountPackets(r, true, false); r.Verdict != results.Failed {
			t.Errorf("%s: %s", name, r.Verdict)
		}
	}
}

// Of frames that are sent back, those that came back have been through; and a NIC may refuse frames
// that it does not count.
func TestMarkFrames(t *testing.T) {
	frames := func(driver string, returned float64) *results.Record {
		r := packetRun(100, 90, 0, nil, counts("tx_dropped", 10.))
		r.Cell.RX, r.Cell.TX, r.TG.Env.Driver = "xdp-tx", "pktgen-xdp", driver
		r.TG.Metrics = []measure.Metric{{Name: "frames_returned", Value: returned}}
		return r
	}
	for name, x := range map[string]struct {
		rec            *results.Record
		received, lost uint64
		told           bool
	}{
		"all came back":         {frames("veth", 90), 90, 10, true},
		"some were lost then":   {frames("veth", 70), 70, 30, true},
		"more came than were":   {frames("veth", 95), 90, 10, true},
		"by a NIC, all counted": {frames("mlx5_core", 90), 90, 10, true},
		"by a NIC, some are not": {func() *results.Record {
			r := frames("mlx5_core", 90)
			r.TG.Packets.Counted =
				nil
			return r
		}(), 90, 10, false},
	} {
		AccountPackets(x.rec, false, false)
		p := x.rec.SUT.Packets
		if *p.Received != x.received || *p.Lost != x.lost || (p.Unaccounted != nil) != x.told || x.told &&
			*p.Unaccounted != 0 || x.told == (len(x.rec.Warnings) > 0) || len(x.rec.Flags) > 0 {
			t.Errorf("%s: %s, unaccounted %v, %q, %q", name, p.PacketsText(), p.Unaccounted, x.rec.Flags,
				x.rec.Warnings)
		}
	}
}

// What the generator says that it sent is what its interface counted, or the run is flagged. Only
// several CPUs that send to one queue make a veth lose counts.
func TestMarkFramesOnLink(t *testing.T) {
	for name, x := range map[string]struct {
		cpus            string
		passed, dropped float64
		left            float64
		told, flagged   bool
		warns           string
	}{
		"as it was": {"", 90, 10, 0, true, false, ""},
		"passed on, and not counted": {"", 80, 10, 0, true, true,
			"the generator handed 100 frames to its interface, which counts 80 as passed on and 10 as not taken"},
		"more than the generator sent":    {"", 95, 10, 0, true, true, "which counts 95 as passed on"},
		"two CPUs":                        {"0-1", 90, 10, 0, true, false, ""},
		"two CPUs, passed on short":       {"0-1", 86, 10, 0, true, false, "veth loses counts"},
		"two CPUs, not taken short":       {"0-1", 90, 7, 0, false, false, "veth loses counts"},
		"two CPUs, both, and one is lost": {"0-1", 88, 1, 0, false, false, "veth loses counts"},
		"one CPU, not taken short":        {"3", 90, 7, 3, true, true, "counts 90 as passed on and 7 as not taken"},
	} {
		r := packetRun(100, 90, 0, nil, counts("tx_dropped", x.dropped))
		r.Cell.RX, r.Cell.TX, r.Cell.GenCPUs = "xdp-drop", "pktgen-xdp", x.cpus
		r.TG.Metrics = []measure.Metric{{Name: "frames_passed_on", Value: x.passed}}
		AccountPackets(r, false, false)
		p := r.SUT.Packets
		if *p.Lost != 10 || (p.Unaccounted != nil) != x.told || x.told && *p.Unaccounted != x.left ||
			slices.Contains(r.Flags, results.FlagPacketsUnaccounted) != x.flagged ||
			len(slices.Compact(r.Flags)) != len(r.Flags) || (len(r.Warnings) > 0) != (x.warns != "") ||
			x.warns != "" && !strings.Contains(r.Warnings[0], x.warns) {
			t.Errorf("%s: %s, unaccounted %v, %q, %q", name, p.PacketsText(), p.Unaccounted, r.Flags, r.Warnings)
		}
	}
	// More is missing than the interface can have failed to count.
	r := packetRun(100, 50, 0, nil, counts("tx_dropped", 7.))
	r.Cell.RX, r.Cell.TX, r.Cell.GenCPUs = "xdp-drop", "pktgen-xdp", "0-1"
	r.TG.Metrics = []measure.Metric{{Name: "frames_passed_on", Value: 90}}
	if AccountPackets(r, false, false); len(r.Flags) != 1 || len(r.Warnings) != 2 ||
		!strings.HasPrefix(r.Warnings[1], "50 packets were lost; no counter shows where at least 40 of them went") {
		t.Errorf("%q, %q", r.Flags, r.Warnings)
	}
}

// Datagrams in fragments that found no room are told of, with the limit that they met; those that
// only waited too long for their rest, and what is in one piece, are not.
func TestReassembly(t *testing.T) {
	for _, x := range []struct {
		length, fails, timeouts float64
		want                    string
	}{{8000, 7, 2, "SUT: the kernel dropped 5 fragments (ReasmFails)"}, {8000, 2, 2, ""}, {1000, 7, 2, ""},
		{8000, 0, 0, ""}} {
		r := packetRun(100, 60, 0, nil, nil)
		r.Cell.MessageBytes, r.TG.Metrics = int(x.length), []measure.Metric{{Name: "link_mtu", Value: 1500}}
		r.SUT.Metrics = []measure.Metric{{Name: "netstat_ip_reasm_fails", Value: x.fails},
			{Name: "netstat_ip_reasm_timeout", Value: x.timeouts}}
		markReassembly(r)
		if (len(r.Warnings) > 0) != (x.want != "") || !strings.Contains(strings.Join(r.Warnings, ""), x.want) {
			t.Errorf("%+v: %q", x, r.Warnings)
		}
	}
}
