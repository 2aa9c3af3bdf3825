// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// Counters are read as the interface's message has them, and what is no answer is an error.
func TestStatsReader(t *testing.T) {
	l, err := LinkNamed("lo")
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenStats(l.Index)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var v []uint64
	for range 3 {
		if v, err = s.Read(v); err != nil {
			t.Fatal(err)
		}
	}
	if got := StatsOf(v); got.RxPackets < l.Stats.RxPackets || got.TxBytes < l.Stats.TxBytes ||
		got.Size != l.Stats.Size {
		t.Errorf("%+v, want %+v and what passed since", got, l.Stats)
	}
	none, err := OpenStats(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	if _, err := none.Read(nil); !errors.Is(err, unix.ENODEV) {
		t.Errorf("of no interface: %v", err)
	}
	short := make([]byte, statsHeader+8)
	binary.NativeEndian.PutUint16(short[4:], unix.RTM_NEWSTATS)
	for _, b := range [][]byte{nil, short[:10], short, short[:statsHeader]} {
		if v, err := statsOf(b, nil); err == nil {
			t.Errorf("%d bytes: %v", len(b), v)
		}
	}
}
