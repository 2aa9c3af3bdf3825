// SPDX-License-Identifier: MIT

package results

import (
	"strconv"
	"testing"
)

// Hand-computed to the last printed digit, from throughputs, cores and watts as
// published for such experiments.
func TestROIOfPublishedRows(t *testing.T) {
	rec := func(gbps, rxCores, txCores, rxW, txW float64) *Record {
		return &Record{SUT: Host{ThroughputGbps: ptr(gbps), CPUBusyCores: ptr(rxCores), PowerW: ptr(rxW)},
			TG: Host{ThroughputGbps: ptr(gbps), CPUBusyCores: ptr(txCores), PowerW: ptr(txW)}}
	}
	a, b := rec(91.7, 1.9, 0.8, 460, 410), rec(116.2, 1, 1.25, 455.5, 412.3)
	for _, tt := range []struct {
		rec  *Record
		side Side
		cost Cost
		n, m float64
		want string
	}{
		{a, Receiver, CostCPU, 2, 1, "4425.731579"}, // 8408.89 / 1.9
		{a, Sender, CostCPU, 2, 1, "10511.112500"},  // 8408.89 / 0.8
		{a, Total, CostCPU, 2, 1, "3114.403704"},    // 8408.89 / 2.7
		{a, Receiver, CostPower, 2, 1, "18.280196"}, // 8408.89 / 460
		{a, Total, CostPower, 2, 1, "9.665391"},     // 8408.89 / 870
		{b, Total, CostCPU, 2, 1, "6001.084444"},    // 13502.44 / 2.25
		{b, Receiver, CostCPU, 1, 0.5, "116.200000"},
		{b, Total, CostPower, 2, 1, "15.559392"}, // 13502.44 / 867.8
		{b, Total, CostPower, 1, 2, "0.000154"},  // 116.2 / 753076.84
	} {
		got := tt.rec.ROI(tt.side, tt.cost, tt.n, tt.m)
		if got == nil || strconv.FormatFloat(*got, 'f', 6, 64) != tt.want {
			t.Errorf("%s %s n=%v m=%v: %v, want %s", tt.side, tt.cost, tt.n, tt.m, got, tt.want)
		}
	}
	// Net of what the idle hosts draw: 8408.89 / (460 - 230 + 410 - 210), and J/GB of 10 s at
	// 91.7 Gbit/s.
	a.SUT.PowerIdleW, a.TG.PowerIdleW = ptr(230.0), ptr(210.0)
	a.SUT.DurationS, a.SUT.Bytes = ptr(10.0), ptr(uint64(91.7e9/8*10))
	for _, tt := range []struct {
		got  *float64
		want string
	}{
		{a.ROI(Total, CostNetPower, 2, 1), "19.555558"}, {a.ROI(Receiver, CostNetPower, 2, 1), "36.560391"},
		{a.TotalJoulePerGB(false), "75.899673"}, {a.TotalJoulePerGB(true), "37.513631"},
		{a.SUT.NetJoulePerGB(), "20.065431"},
	} {
		if tt.got == nil || strconv.FormatFloat(*tt.got, 'f', 6, 64) != tt.want {
			t.Errorf("net: %v, want %s", tt.got, tt.want)
		}
	}
	if b.ROI(Receiver, CostNetPower, 2, 1) != nil || b.TotalJoulePerGB(false) != nil {
		t.Error("a net figure without idle, or energy without bytes")
	}
	a.Flags = []string{FlagSharedPower}
	if got := a.ROI(Total, CostPower, 2, 1); *got != *a.ROI(Receiver, CostPower, 2, 1) {
		t.Errorf("power of one instrument was counted twice: %v", *got)
	}
	b.TG.PowerW = nil
	if b.ROI(Total, CostPower, 2, 1) != nil || b.ROI(Sender, CostPower, 2, 1) != nil ||
		b.ROI(Receiver, CostPower, 2, 1) == nil {
		t.Error("a total without one half")
	}
}

// Watts of CPU packages and of the wall have no sum; what older journals leave
// open is taken for what they say.
func TestROIOfMixedScopes(t *testing.T) {
	for _, c := range []struct {
		sut, tg Instrument
		total   bool
	}{
		{Instrument{"redfish=https://bmc1", "board"}, Instrument{"redfish=https://bmc2", "board"}, true},
		{Instrument{"rapl", "package"}, Instrument{"scpi=m", "wall"}, false},
		{Instrument{"command=a", "board"}, Instrument{"command=a", "wall"}, false},
		{Instrument{"rapl", ""}, Instrument{"rapl", ""}, true},
		{Instrument{"rapl", ""}, Instrument{"rapl", "package"}, true},
		{Instrument{"rapl", "package-dram"}, Instrument{"rapl", "package-dram"}, true},
		{Instrument{"rapl", "package"}, Instrument{"rapl", "package-dram"}, false},
		{Instrument{"rapl", ""}, Instrument{"rapl", "package-dram"}, false}, // it was the packages' then
		{Instrument{"hwmon", ""}, Instrument{"hwmon", "board"}, true},
		{Instrument{"rapl", ""}, Instrument{"csv=wt", "wall"}, false},
		{Instrument{}, Instrument{}, true}, // published
	} {
		end := func(i Instrument) Host {
			return Host{ThroughputGbps: ptr(100.0), CPUBusyCores: ptr(1.0), PowerW: ptr(50.0), PowerSource: i.Source,
				PowerScope: i.Scope}
		}
		r := Record{SUT: end(c.sut), TG: end(c.tg)}
		if got := r.ROI(Total, CostPower, 2, 1); (got != nil) != c.total || r.MixedScopes() == c.total {
			t.Errorf("%v and %v: total %v, mixed %v", c.sut, c.tg, got, r.MixedScopes())
		}
		if r.ROI(Receiver, CostPower, 2, 1) == nil || r.ROI(Total, CostCPU, 2, 1) == nil {
			t.Errorf("%v and %v: there is more than the total lost", c.sut, c.tg)
		}
		r.TG.PowerW = nil
		if r.MixedScopes() {
			t.Errorf("%v and nothing are mixed", c.sut)
		}
	}
}

// A sender that verifies what comes back spends its CPUs and power on zcbench's own check as well:
// they are no cost of sending, nor of both ends. The receiver's are of what it did.
func TestCostsOfCheck(t *testing.T) {
	end := func(w *Way) Host {
		return Host{ThroughputGbps: ptr(10.0), Bytes: ptr(uint64(1e9)), DurationS: ptr(.8), CPUBusyCores: ptr(1.0),
			PowerW: ptr(50.0), PowerIdleW: ptr(10.0), Then: w}
	}
	r := Record{SUT: end(&Way{Bytes: 1e9, CopiedBytes: ptr(uint64(0))}), TG: end(&Way{Bytes: 1e9,
		Mismatches: ptr(uint64(0))})}
	for cost := range map[Cost]bool{CostCPU: true, CostPower: true, CostNetPower: true} {
		if r.ROI(Receiver, cost, 2, 1) == nil || r.ROI(Sender, cost, 2, 1) != nil || r.ROI(Total, cost, 2, 1) != nil {
			t.Errorf("%s: not of the receiver alone", cost)
		}
	}
	if h := &r.TG; h.NsPerKB() != nil || h.ROICPU() != nil || h.ROIPower() != nil || h.JoulePerGB() != nil ||
		h.NetJoulePerGB() != nil || r.TotalJoulePerGB(false) != nil || r.TotalJoulePerGB(true) != nil {
		t.Error("the TG's check is charged to sending")
	}
	if h := &r.SUT; h.NsPerKB() == nil || h.ROICPU() == nil || h.ROIPower() == nil || h.JoulePerGB() == nil ||
		h.NetJoulePerGB() == nil {
		t.Error("the receiver's costs are gone")
	}
}
