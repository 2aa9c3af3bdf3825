// SPDX-License-Identifier: MIT

package results

import "testing"

// What receives is NAPI's threads, and the data path's where it reads; others on the CPU are not.
func TestOwnCores(t *testing.T) {
	pps := 2e6
	r := Record{SUT: Host{CPUBusyCores: new(1.), CPUPollerCores: new(.2), PacketsPerS: &pps, Flows: []Flow{{ThreadCores: new(.3)}}}}
	for rx, want := range map[string]float64{"xdp-drop": 100, "udp-recv": 250, "udp": 250} {
		r.Cell.RX = rx
		if got := r.OwnNsPerPacket(); got == nil || *got < want-1e-6 || *got > want+1e-6 {
			t.Errorf("%s: %v ns, want %v", rx, got, want)
		}
	}
	r.SUT.Flows[0].ThreadCores, r.Cell.RX = nil, "udp-recv"
	if got := r.OwnNsPerPacket(); got != nil {
		t.Errorf("without the thread's time: %v", *got)
	}
	r.SUT.CPUPollerCores, r.Cell.RX = nil, "xdp-drop"
	if got := r.OwnNsPerPacket(); got != nil {
		t.Errorf("where softirq receives: %v", *got)
	}
}

// Frames have one flow, and payloads that a page holds.
func TestCheckFrames(t *testing.T) {
	for _, x := range []struct {
		c  Cell
		ok bool
	}{
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp"}, true}, {Cell{RX: "xdp-drop", TX: "pktgen-xdp", MessageBytes: 2958, Flows: 1}, true},
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp", MessageBytes: 2959}, false}, {Cell{RX: "xdp-drop", TX: "pktgen-xdp", MessageBytes: 17}, false},
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp", Flows: 2}, false}, {Cell{RX: "tcp", TX: "tcp", Flows: 2, MessageBytes: 1 << 20}, true},
		{Cell{RX: "tcp", TX: "tcp", XDPTouch: "read"}, false}, {Cell{RX: "xdp-drop", TX: "pktgen-xdp", XDPTouch: "read"}, true},
	} {
		if err := x.c.Check(); (err == nil) != x.ok {
			t.Errorf("%+v: %v", x.c, err)
		}
	}
}
