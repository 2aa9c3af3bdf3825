// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
)

// qstatMessage is what the kernel tells of RX queue 3; the last attribute is of the future.
func qstatMessage(t testing.TB) []byte {
	return message(t, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attrQStatsIfindex, 2)
		ae.Uint32(attrQStatsType, queueRX)
		ae.Uint32(attrQStatsID, 3)
		for _, x := range []struct {
			attr uint16
			v    uint64
		}{{8, 1 << 40}, {9, 2}, {12, 4}, {13, 5}, {19, 6}, {21, 7}, {23, 8}, {8 + uint16(len(qstatNames)), 9}} {
			putUint(ae, x.attr, x.v)
		}
	})
}

func TestQStats(t *testing.T) {
	q, err := decodeQStat(qstatMessage(t))
	want := QStat{Queue: 3, RX: true, Values: []QValue{{"rx-packets", 1 << 40}, {"rx-bytes", 2}, {"rx-alloc-fail", 4},
		{"rx-hw-drops", 5},
		{"rx-hw-gro-packets", 6}, {"rx-hw-gro-wire-packets", 7}, {"rx-hw-drop-ratelimits", 8}}}
	if d := cmp.Diff(want, q); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	tx := message(t, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attrQStatsType, 1)
		ae.Uint32(attrQStatsID, 0)
		putUint(ae, 34, 12) // TX_WAKE, the last of Linux 7.3.4
	})
	of, err := decodeQStat(tx)
	if d := cmp.Diff(QStat{Values: []QValue{{"tx-wake", 12}}}, of); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	whole, err := decodeQStat(message(t, func(ae *netlink.AttributeEncoder) { putUint(ae, 8, 1) }))
	if whole.Queue != -1 || err != nil {
		t.Errorf("%+v, %v", whole, err)
	}
	got := RXStats([]QStat{q, of, whole})
	if d := cmp.Diff(map[int]QueueStats{3: {Packets: 1 << 40, Bytes: 2, AllocFail: 4, Drops: 5, HWGRO: 6, HWGROWire: 7,
		CountsGRO: true}}, got); d != "" {
		t.Error(d)
	}
}

// A driver's names are taken as they are, up to a zero byte or the end of their room.
func TestDecodeStats(t *testing.T) {
	names, values := make([]byte, 3*gstringLen), make([]byte, 3*8)
	copy(names, "rx_packets")
	copy(names[gstringLen:], strings.Repeat("x", gstringLen))
	copy(names[2*gstringLen:], "\x1b[2J\x00rest")
	for i := range 3 {
		binary.NativeEndian.PutUint64(values[8*i:], uint64(i)<<40)
	}
	want := []Stat{{"rx_packets", 0}, {strings.Repeat("x", gstringLen), 1 << 40}, {"\x1b[2J", 2 << 40}}
	for _, n := range []int{3, 4, 1 << 30} { // also where it says more than there is
		if d := cmp.Diff(want, decodeStats(names, values, n)); d != "" {
			t.Errorf("%d: %s", n, d)
		}
	}
	if got := decodeStats(names, values[:17], 3); len(got) != 2 {
		t.Errorf("%v", got)
	}
}
