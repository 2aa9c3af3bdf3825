// SPDX-License-Identifier: MIT

package judge

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func with(c plan.Cell, sut, tg map[string]float64) *results.Record {
	r := &results.Record{Cell: c, Verdict: results.OK}
	for h, ms := range map[*results.Host]map[string]float64{&r.SUT: sut, &r.TG: tg} {
		for name, v := range ms {
			if v == 0 && (name == measure.MetricBusyPolled || name == measure.MetricAppPolls) {
				// as counters are kept that did not move
				h.Idle = append(h.Idle, name)
				continue
			}
			h.Metrics = append(h.Metrics, measure.Metric{Name: name, Value: v})
		}
	}
	return r
}

func TestInert(t *testing.T) {
	type ms = map[string]float64
	on, off := new(true), new(false)
	frags := 17.0 * 4096
	for _, x := range []struct {
		name    string
		cell    plan.Cell
		sut, tg ms
		want    string
	}{
		{"nothing asked for", plan.Cell{}, ms{measure.MetricRXPacketSegments: 1, measure.MetricRXPacketBytes: 60000,
			measure.MetricBusiestIRQ: 1e6},
			nil, ""},
		{"nothing measured", plan.Cell{GRO: on, HWGRO: on, BigTCPBytes: 131072, TGBigTCPBytes: 131072,
			Set: "coalesce rx-usecs=100"}, nil, nil, ""},

		{"suspended by nobody", plan.Cell{RX: "tcp", TX: "tcp",
			Set: "napi 0=defer-hard-irqs 1, gro-flush-timeout 20000, irq-suspend-timeout 1000000"}, nil, nil,
			"irq-suspend-timeout had no effect: interrupts are suspended by a reader alone that waits by epoll"},
		{"suspended", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollSuspend,
			Set: "napi 0=defer-hard-irqs 1, gro-flush-timeout 20000, irq-suspend-timeout 1000000"}, nil, nil, ""},
		{"deferred", plan.Cell{RX: "tcp", TX: "tcp",
			Set: "napi 0=defer-hard-irqs 1, gro-flush-timeout 20000, irq-suspend-timeout 0"}, nil, nil, ""},
		{"gro on", plan.Cell{GRO: on}, ms{measure.MetricRXPacketSegments: 12}, nil, ""},
		{"gro on, none", plan.Cell{GRO: on}, ms{measure.MetricRXPacketSegments: 1}, nil,
			"gro on had no effect: 1.00 segments a packet"},
		{"gro off", plan.Cell{GRO: off}, ms{measure.MetricRXPacketSegments: 1}, nil, ""},
		{"gro off, some", plan.Cell{GRO: off}, ms{measure.MetricRXPacketSegments: 44.8}, nil,
			"gro off had no effect: 44.8 segments a packet"},

		{"hw_gro on", plan.Cell{HWGRO: on}, ms{measure.MetricHWGROWire: 990, "tcp_info_data_segs_in": 1000}, nil, ""},
		{"hw_gro on, none", plan.Cell{HWGRO: on}, ms{measure.MetricHWGROWire: 0, "tcp_info_data_segs_in": 1000}, nil,
			"hw_gro on had no effect: the NIC merged 0.0 %"},
		{"hw_gro off", plan.Cell{HWGRO: off}, ms{measure.MetricHWGROWire: 0, "tcp_info_data_segs_in": 1000}, nil, ""},
		{"hw_gro off, some", plan.Cell{HWGRO: off}, ms{measure.MetricHWGROWire: 700, "tcp_info_data_segs_in": 1000},
			nil,
			"hw_gro off had no effect: the NIC merged 70.0 %"},
		{"hw_gro on, gro off", plan.Cell{HWGRO: on, GRO: off}, ms{measure.MetricHWGROWire: 6892,
			"tcp_info_data_segs_in":        6634,
			measure.MetricRXPacketSegments: 14.5}, nil, ""},
		// gro may do it, or not
		{"hw_gro on, uncounted", plan.Cell{HWGRO: on}, ms{measure.MetricRXPacketSegments: 1}, nil, ""},
		{"hw_gro on, uncounted, alone", plan.Cell{HWGRO: on, GRO: off}, ms{measure.MetricRXPacketSegments: 20}, nil,
			""},
		{"hw_gro on, uncounted, alone, none", plan.Cell{HWGRO: on, GRO: off}, ms{measure.MetricRXPacketSegments: 1},
			nil,
			"hw_gro on had no effect: 1.00 segments a packet, with gro off"},

		{"big_tcp", plan.Cell{BigTCPBytes: 131072}, ms{measure.MetricRXPacketBytes: 123844,
			measure.MetricFragsBytes: frags}, nil, ""},
		{"big_tcp of pages", plan.Cell{BigTCPBytes: 131072}, ms{measure.MetricRXPacketBytes: 65100,
			measure.MetricFragsBytes: frags}, nil,
			"big_tcp 131072 had no effect: 65 kB a packet, MAX_SKB_FRAGS: page-sized fragments hold 70 kB"},
		{"big_tcp of a page more", plan.Cell{BigTCPBytes: 131072}, ms{measure.MetricRXPacketBytes: 69632,
			measure.MetricFragsBytes: frags},
			nil, "big_tcp 131072 had no effect: 70 kB a packet, MAX_SKB_FRAGS"},
		{"big_tcp, small packets", plan.Cell{BigTCPBytes: 131072}, ms{measure.MetricRXPacketBytes: 9000,
			measure.MetricFragsBytes: frags},
			nil, "big_tcp 131072 had no effect: 9 kB a packet"},
		{"big_tcp, 45 fragments", plan.Cell{BigTCPBytes: 131072},
			ms{measure.MetricRXPacketBytes: 65100, measure.MetricFragsBytes: 45 * 4096}, nil,
			"big_tcp 131072 had no effect: 65 kB a packet"},
		{"big_tcp off", plan.Cell{BigTCPBytes: plan.PlainTCP}, ms{measure.MetricRXPacketBytes: 65100}, nil, ""},
		{"big_tcp off, and yet", plan.Cell{BigTCPBytes: plan.PlainTCP}, ms{measure.MetricRXPacketBytes: 123844}, nil,
			"big_tcp 65536 had no effect: 124 kB a packet"},
		{"tg_big_tcp", plan.Cell{TGBigTCPBytes: 131072}, ms{measure.MetricRXPacketBytes: 9000},
			ms{measure.MetricTXPacketBytes: 123844}, ""},
		{"tg_big_tcp of pages", plan.Cell{TGBigTCPBytes: 131072}, nil,
			ms{measure.MetricTXPacketBytes: 57400, measure.MetricFragsBytes: frags},
			"tg_big_tcp 131072 had no effect: 57 kB a packet, MAX_SKB_FRAGS"},

		{"coalescing", plan.Cell{Set: "coalesce rx-usecs=100"}, ms{measure.MetricBusiestIRQ: 9800}, nil, ""},
		{"coalescing of sends too", plan.Cell{Set: "coalesce rx-usecs=100"}, ms{measure.MetricBusiestIRQ: 19000}, nil,
			""},
		{"no coalescing", plan.Cell{Set: "tg:rss=default; sut:coalesce rx-usecs=100"},
			ms{measure.MetricBusiestIRQ: 61000}, nil,
			"coalesce rx-usecs=100 had no effect: 61000 interrupts a second, 10000 expected"},
		{"coalescing of the TG", plan.Cell{Set: "tg:coalesce rx-usecs=100"}, ms{measure.MetricBusiestIRQ: 61000}, nil,
			""},
		{"none asked for", plan.Cell{Set: "coalesce rx-usecs=0"}, ms{measure.MetricBusiestIRQ: 61000}, nil, ""},

		{"opened fast", plan.Cell{FastOpen: new(true)}, ms{measure.MetricFastOpened: 12}, nil, ""},
		{"not opened fast", plan.Cell{FastOpen: new(true)}, ms{measure.MetricFastOpened: 0}, nil, "fastopen"},
		{"polled", plan.Cell{BusyPollUs: 50}, ms{measure.MetricBusyPolled: 12}, ms{measure.MetricBusyPolled: 0}, ""},
		{"polled by the TG", plan.Cell{BusyPollUs: 50}, ms{measure.MetricBusyPolled: 0},
			ms{measure.MetricBusyPolled: 12}, ""},
		{"polled, uncounted", plan.Cell{BusyPollUs: 50}, nil, nil, ""},
		{"not polled", plan.Cell{BusyPollUs: 50}, ms{measure.MetricBusyPolled: 0}, ms{measure.MetricBusyPolled: 0},
			"busy_poll 50us had no effect: no packet was taken by polling at either end"},
		{"not polled, one end uncounted", plan.Cell{BusyPollUs: 50}, ms{measure.MetricBusyPolled: 0}, nil,
			"busy_poll 50us had no effect"},
		{"polled by one end of round trips", plan.Cell{BusyPollUs: 50, RX: "tcp", TX: "rr"},
			ms{measure.MetricBusyPolled: 0},
			ms{measure.MetricBusyPolled: 12},
			"busy_poll 50us had no effect: no packet was taken by polling at the SUT, only at the TG"},
		{"polled by the other end", plan.Cell{BusyPollUs: 50, RX: "udp", TX: "udp-rr"},
			ms{measure.MetricBusyPolled: 12},
			ms{measure.MetricBusyPolled: 0},
			"busy_poll 50us had no effect: no packet was taken by polling at the TG, only at the SUT"},
		{"polled by both ends of round trips", plan.Cell{BusyPollUs: 50, RX: "tcp", TX: "rr"},
			ms{measure.MetricBusyPolled: 9},
			ms{measure.MetricBusyPolled: 12}, ""},
		{"the other end uncounted", plan.Cell{BusyPollUs: 50, RX: "tcp", TX: "rr"}, ms{measure.MetricBusyPolled: 9},
			nil, ""},
		{"round trips at a rate", plan.Cell{BusyPollUs: 50, RX: "tcp", TX: "rr", RRRate: 100},
			ms{measure.MetricBusyPolled: 9},
			ms{measure.MetricBusyPolled: 0}, ""},
		{"not asked to poll", plan.Cell{}, ms{measure.MetricBusyPolled: 0}, ms{measure.MetricBusyPolled: 0}, ""},

		{"poll: nothing measured", plan.Cell{RX: "tcp", TX: "rr", Poll: plan.PollThreaded}, nil, nil, ""},
		{"poll: as found", plan.Cell{}, ms{measure.MetricPolledBySoftirq: 100}, nil, ""},
		{"busy", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollBusy, BusyPollUs: 50},
			ms{measure.MetricAppPolls: 5000, measure.MetricPolledByApp: 97}, ms{measure.MetricBusyPolled: 0}, ""},
		{"busy, and nobody polls", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollBusy},
			ms{measure.MetricBusyPolled: 0, measure.MetricAppPolls: 0, measure.MetricPolledByApp: 0,
				measure.MetricPolledBySoftirq: 100, measure.MetricInterruptRate: 12345}, nil,
			"poll busy had no effect at the SUT: its threads polled 0.0 % of the packets, softirq polled 100.0 % of " +
				"the packets, its threads did not poll, 12345 interrupts a second"},
		{"busy, hardly", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollBusy},
			ms{measure.MetricBusyPolled: 7, measure.MetricAppPolls: 9000, measure.MetricPolledByApp: .2}, nil,
			"poll busy had no effect at the SUT: its threads polled 0.2 % of the packets, they polled 9000 times"},
		{"busy, and packets came later", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollBusy, PaceBitsPS: 1e6},
			ms{measure.MetricBusyPolled: 0, measure.MetricAppPolls: 9000, measure.MetricPolledByApp: 0}, nil, ""},
		{"suspended by nobody's polls", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollSuspend},
			ms{measure.MetricBusyPolled: 0}, nil,
			"poll suspend had no effect at the SUT: no packet was taken by polling"},
		{"busy at one end of round trips", plan.Cell{RX: "tcp", TX: "rr", Poll: plan.PollBusy},
			ms{measure.MetricBusyPolled: 9}, ms{measure.MetricBusyPolled: 0},
			"poll busy had no effect at the TG: no packet"},
		{"busy, of requests by a clock", plan.Cell{RX: "tcp", TX: "rr", Poll: plan.PollBusy, RRRate: 100},
			ms{measure.MetricBusyPolled: 9}, ms{measure.MetricBusyPolled: 0}, ""},
		{"threaded", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollThreaded},
			ms{"cpu_window_s": 1, measure.MetricPolledByThread: 99}, nil, ""},
		{"threaded, and softirq polls", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollThreaded},
			ms{"cpu_window_s": 1, measure.MetricPolledByThread: 3, measure.MetricPolledBySoftirq: 97,
				measure.MetricBusiestPoller: .1}, nil,
			"poll threaded had no effect at the SUT: NAPI threads polled 3.0 %"},
		{"threaded, no eBPF", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollThreaded},
			ms{"cpu_window_s": 1, measure.MetricBusiestPoller: .4}, nil, ""},
		{"threaded, no thread", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollThreaded}, ms{"cpu_window_s": 1}, nil,
			"poll threaded had no effect at the SUT: no packet was taken by polling"},
		{"threads of the TG, of requests by a clock",
			plan.Cell{RX: "tcp", TX: "rr", Poll: plan.PollThreaded, RRRate: 9},
			ms{"cpu_window_s": 1, measure.MetricPolledByThread: 99},
			ms{"cpu_window_s": 1, measure.MetricPolledByThread: 0}, "poll threaded had no effect at the TG"},
		{"never at rest", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollThreadedBusy},
			ms{"cpu_window_s": 1, measure.MetricPolledByThread: 99, measure.MetricBusyPolls: 1}, nil, ""},
		{"at rest", plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollThreadedBusy},
			ms{"cpu_window_s": 1, measure.MetricPolledByThread: 99}, nil,
			"poll threaded-busy had no effect at the SUT: NAPI threads polled 99.0 %"},

		{"split", plan.Cell{Set: "header-split=tcp-data-split on, hds-thresh 0"}, ms{measure.MetricSplitShare: .999},
			nil, ""},
		{"not split", plan.Cell{Set: "header-split=tcp-data-split on, hds-thresh 0"}, ms{measure.MetricSplitShare: .1},
			nil,
			"header-split on had no effect: the NIC split 10.0 %"},
		{"split off", plan.Cell{Set: "header-split=tcp-data-split off"}, ms{measure.MetricSplitShare: 0}, nil, ""},
		{"split, though off", plan.Cell{Set: "header-split=tcp-data-split off"}, ms{measure.MetricSplitShare: 1}, nil,
			"header-split off had no effect: the NIC split 100.0 %"},
		{"split as the driver likes", plan.Cell{Set: "header-split=tcp-data-split auto"},
			ms{measure.MetricSplitShare: 1}, nil, ""},
	} {
		got := FindInert(with(x.cell, x.sut, x.tg))
		if len(got) > 1 || (len(got) == 1) != (x.want != "") || len(got) == 1 &&
			(!strings.HasPrefix(got[0].Reason, x.want) || got[0].Fix == "" || plan.LookupOption(got[0].Option) == nil) {
			t.Errorf("%s: %+v, want %q", x.name, got, x.want)
		}
		if strings.Contains(x.name, "45") && strings.Contains(got[0].Reason, "FRAGS") {
			t.Error("it was not the fragments: " + got[0].Reason)
		}
	}
}

// A run whose option did not act is flagged and counts; who asks for a gate gets one.
func TestInertOptions(t *testing.T) {
	run := func(g plan.Gates) results.Record {
		r := ok(10)
		r.Cell.BigTCPBytes = 131072
		r.SUT.Metrics = []measure.Metric{{Name: measure.MetricRXPacketBytes, Value: 65100}}
		Run(g, &r)
		return r
	}
	if r := run(plan.DefaultGates()); r.Verdict != results.OK || len(r.Flagged()) != 1 ||
		r.Flagged()[0] != "inert-big_tcp" || len(r.Warnings) != 1 {
		t.Errorf("%s, flagged %q, warnings %q", r.Verdict, r.Flagged(), r.Warnings)
	}
	var asked plan.Gates
	asked.Ask(plan.ActedGate, true)
	if r := run(asked); r.Verdict != results.Invalid || r.Gate != plan.ByOutcome || r.Reason == "" || r.Fix == "" {
		t.Errorf("%+v", r)
	}
	notPolled := with(plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollBusy}, map[string]float64{
		measure.MetricBusyPolled: 0}, nil)
	if Run(plan.DefaultGates(), notPolled); notPolled.Verdict != results.Invalid || notPolled.Gate != plan.ByOutcome ||
		!strings.HasPrefix(notPolled.Reason, "poll busy had no effect") {
		t.Errorf("%+v", notPolled)
	}
	if r := run(plan.Gates{IgnoreInert: true}); r.Verdict != results.OK || len(r.Flags) > 0 {
		t.Errorf("%+v", r)
	}
}
