// SPDX-License-Identifier: MIT

package results

import (
	"math"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

func with(c plan.Cell, sut, tg map[string]float64) *Record {
	r := &Record{Cell: c, Verdict: OK}
	for h, ms := range map[*Host]map[string]float64{&r.SUT: sut, &r.TG: tg} {
		for name, v := range ms {
			if v == 0 && name == measure.MetricBusyPolled { // as counters are kept that did not move
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
		got := with(x.cell, x.sut, x.tg).Inert()
		if len(got) > 1 || (len(got) == 1) != (x.want != "") || len(got) == 1 &&
			(!strings.HasPrefix(got[0].Reason, x.want) || got[0].Fix == "" || plan.LookupOption(got[0].Option) == nil) {
			t.Errorf("%s: %+v, want %q", x.name, got, x.want)
		}
		if strings.Contains(x.name, "45") && strings.Contains(got[0].Reason, "FRAGS") {
			t.Error("it was not the fragments: " + got[0].Reason)
		}
	}
}

// From counters of a real run over veth: sendfile, IPv4.
func TestPacketSizes(t *testing.T) {
	counters := func(in, received, segments, out, sent float64) (ms []measure.Metric) {
		for name, v := range map[string]float64{"netstat_ip_ext_in_octets": in, "netstat_ip_in_receives": received,
			"netstat_ip_ext_in_no_ect_pkts": segments,
			"netstat_ip_ext_out_octets":     out, "netstat_ip_out_requests": sent} {
			ms = append(ms, measure.Metric{Name: name, Value: v})
		}
		return ms
	}
	for _, x := range []struct {
		name string
		ms   []measure.Metric
		want map[string]float64
	}{
		{"receiver", counters(421942416, 7348, 102920, 77136, 1482),
			map[string]float64{measure.MetricRXPacketBytes: 57422.757,
				measure.MetricRXPacketSegments: 14.0065}},
		{"sender", counters(77136, 1482, 1482, 421942416, 7348),
			map[string]float64{measure.MetricTXPacketBytes: 57422.757}},
		{"loopback: both ways", counters(4e8, 9e3, 1e5, 4e8, 9e3), nil},
		{"nothing", nil, nil},
	} {
		got := map[string]float64{}
		for _, m := range PacketSizes(x.ms) {
			got[m.Name] = m.Value
		}
		if len(got) != len(x.want) {
			t.Errorf("%s: %v", x.name, got)
		}
		for name, v := range x.want {
			if math.Abs(got[name]-v) > v/1e5 {
				t.Errorf("%s: %s is %g, want %g", x.name, name, got[name], v)
			}
		}
	}
}
