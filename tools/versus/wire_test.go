// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"testing"

	"github.com/zcbench/zcbench/machine/rtnl"
)

func TestPayloadBetween(t *testing.T) {
	a := rtnl.Stats{RxBytes: 1000, RxPackets: 10}
	if got := payloadBetween(a, rtnl.Stats{RxBytes: 1000 + 2*(65160+66) + 66, RxPackets: 13}); got != 2*65160 {
		t.Errorf("payload %d, want %d: two packets full, and one without", got, 2*65160)
	}
	if got := payloadBetween(a, rtnl.Stats{RxBytes: 1054, RxPackets: 11}); got != 0 {
		t.Errorf("payload %d of a packet without timestamps, want 0", got)
	}
}

// Of a flow that goes both ways, what went out is asked as what came in.
func TestPassedBothWays(t *testing.T) {
	s := rtnl.Stats{RxBytes: 1000 + 66, RxPackets: 1, TxBytes: 500 + 66, TxPackets: 1}
	for both, want := range map[bool]uint64{false: 1000, true: 1500} {
		if got := payloadBetween(passed(rtnl.Stats{}, both), passed(s, both)); got != want {
			t.Errorf("both %v: %d bytes, want %d", both, got, want)
		}
	}
}

// A tool cannot claim what the kernel did not see.
func TestFlowCheck(t *testing.T) {
	const saw = 10e9
	for said, ok := range map[uint64]bool{10e9: true, 10.04e9: true, 9e9: true, 10.1e9: false, 8e9: false, 0: false,
		math.MaxUint64: false} {
		if err := (Flow{Bytes: said, Seconds: 2}).check(saw); (err == nil) != ok {
			t.Errorf("%d of %d bytes: %v, want ok %v", said, uint64(saw), err, ok)
		}
	}
}

// Datagrams that came in fewer packets were not split; a tool's figure may be rounded.
func TestEachAPacket(t *testing.T) {
	for _, x := range []struct {
		messages float64
		packets  uint64
		ok       bool
	}{{1000, 1000, true}, {1000, 5000, true}, {1004, 1000, true}, {64000, 1000, false}, {1, 0, false}} {
		if err := eachAPacket(x.messages, x.packets); (err == nil) != x.ok {
			t.Errorf("%+v: %v", x, err)
		}
	}
}
