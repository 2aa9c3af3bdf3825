// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

func someSupport() Support {
	return Support{
		RX: []wire.ModeSupport{{Role: stream.RX, Name: "tcp", Supported: true}, {Role: stream.RX, Name: "devmem", Reason: "no rx queue", Fix: "a NIC"}, {Role: stream.RX, Name: "uring", Supported: true}},
		TX: []wire.ModeSupport{{Role: stream.TX, Name: "tcp", Supported: true}, {Role: stream.TX, Name: "sendfile", Supported: true}, {Role: stream.TX, Name: "devmem", Reason: "no tx binding", Fix: "a kernel"}},
	}
}

func never(results.Cell) bool { return false }

// product are all pairs of modes.
func product(c results.Cell, s Support) (cells []results.Cell) {
	for _, rx := range s.RX {
		for _, tx := range s.TX {
			c.ID, c.RX, c.TX = rx.Name+"/"+tx.Name, rx.Name, tx.Name
			cells = append(cells, c)
		}
	}
	return cells
}

func TestSupportCells(t *testing.T) {
	s := someSupport()
	var ids []string
	seen := map[string]bool{}
	for _, c := range s.fold(product(results.Cell{MTU: 1500, Touch: "none"}, s), never) {
		ids = append(ids, c.ID)
		if seen[c.ID] || c.MTU != 1500 || c.Touch != "none" {
			t.Errorf("cell %+v", c)
		}
		seen[c.ID] = true
	}
	want := []string{"tcp/tcp", "tcp/sendfile", "devmem/*", "uring/tcp", "uring/sendfile", "*/devmem"}
	if d := cmp.Diff(want, ids); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestSupportMissing(t *testing.T) {
	s := someSupport()
	for _, x := range []struct {
		rx, tx string
		want   *Missing
	}{
		{"tcp", "tcp", nil},
		{"devmem", "", &Missing{"no rx queue", "a NIC"}},
		{"devmem", "tcp", &Missing{"no rx queue", "a NIC"}},
		{"", "devmem", &Missing{"no tx binding", "a kernel"}},
		{"tcp", "devmem", &Missing{"no tx binding", "a kernel"}},
	} {
		if d := cmp.Diff(x.want, s.Missing(results.Cell{RX: x.rx, TX: x.tx})); d != "" {
			t.Errorf("%s/%s: -want +got\n%s", x.rx, x.tx, d)
		}
	}
}

// A pair of hosts that can run nothing still shows every mode with its reason.
func TestSupportNothing(t *testing.T) {
	s := someSupport()
	for i := range s.RX {
		s.RX[i].Supported = false
	}
	for i := range s.TX {
		s.TX[i].Supported = false
	}
	cells := s.fold(product(results.Cell{}, s), never)
	if len(cells) != len(s.RX)+len(s.TX) {
		t.Errorf("%d cells, want %d", len(cells), len(s.RX)+len(s.TX))
	}
	for _, c := range cells {
		if s.Missing(c) == nil {
			t.Errorf("%s can run", c.ID)
		}
	}
}
