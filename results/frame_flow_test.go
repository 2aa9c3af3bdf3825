// SPDX-License-Identifier: MIT

package results

import "testing"

// What receives is NAPI's threads, and the data path's where it reads; others on the CPU are not.
func TestOwnCores(t *testing.T) {
	pps := 2e6
	r := Record{SUT: Host{CPUBusyCores: new(1.), CPUPollerCores: new(.2), PacketsPerS: &pps, DurationS: new(2.),
		Flows: []Flow{{CPUS: new(.6), ThreadCores: new(.9)}}}}
	for rx, want := range map[string]float64{"xdp-drop": 100, "udp-recv": 250, "udp": 250} {
		r.Cell.RX = rx
		if got := r.OwnNsPerPacket(); got == nil || *got < want-1e-6 || *got > want+1e-6 {
			t.Errorf("%s: %v ns, want %v", rx, got, want)
		}
	}
	r.SUT.CPUBusyCores, r.Cell.RX = new(.4), "udp-recv"
	if got := r.OwnNsPerPacket(); got != nil {
		t.Errorf("threads that ran for longer than the CPU: %v", *got)
	}
	r.SUT.CPUBusyCores, r.Cell.RX, r.SUT.Metrics = new(1.), "xdp-redirect", nil
	for _, flags := range [][]string{nil, {FlagHelpers}} {
		if r.Flags = flags; (r.OwnNsPerPacket() != nil) != (flags != nil) {
			t.Errorf("behind a cpumap, flags %q: %v", flags, r.OwnNsPerPacket())
		}
	}
	r.SUT.Flows[0].CPUS, r.Cell.RX = nil, "udp-recv"
	if got := r.OwnNsPerPacket(); got != nil {
		t.Errorf("without the thread's time: %v", *got)
	}
	r.SUT.CPUPollerCores, r.Cell.RX = nil, "xdp-drop"
	if got := r.OwnNsPerPacket(); got != nil {
		t.Errorf("where softirq receives: %v", *got)
	}
}
