// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

func someSupport() support {
	return support{
		RX: []wire.ModeSupport{{Role: stream.RX, Name: "tcp", Supported: true}, {Role: stream.RX, Name: "devmem",
			Reason: "no rx queue", Fix: "a NIC"}, {Role: stream.RX, Name: "uring", Supported: true}},
		TX: []wire.ModeSupport{{Role: stream.TX, Name: "tcp", Supported: true}, {Role: stream.TX, Name: "sendfile",
			Supported: true}, {Role: stream.TX, Name: "devmem", Reason: "no tx binding", Fix: "a kernel"}},
	}
}

func never(plan.Cell) bool { return false }

// product are all pairs of modes.
func product(c plan.Cell, s support) (cells []plan.Cell) {
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
	for _, c := range s.fold(product(plan.Cell{MTU: 1500, Touch: "none"}, s), never) {
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
		{"devmem", "", &Missing{Reason: "no rx queue", Fix: "a NIC"}},
		{"devmem", "tcp", &Missing{Reason: "no rx queue", Fix: "a NIC"}},
		{"", "devmem", &Missing{Reason: "no tx binding", Fix: "a kernel"}},
		{"tcp", "devmem", &Missing{Reason: "no tx binding", Fix: "a kernel"}},
	} {
		if d := cmp.Diff(x.want, s.Missing(plan.Cell{RX: x.rx, TX: x.tx})); d != "" {
			t.Errorf("%s/%s: -want +got\n%s", x.rx, x.tx, d)
		}
	}
}

// A mode of which only a run can tell whether it can run is run, with a warning.
func TestDoubtIsRun(t *testing.T) {
	s := someSupport()
	s.RX = append(s.RX, wire.ModeSupport{Role: stream.RX, Name: "zcrx", Supported: true, Doubt: "it cannot be known",
		Fix: "run it"})
	if m := s.Missing(plan.Cell{RX: "zcrx", TX: "tcp"}); m != nil {
		t.Errorf("missing: %+v", m)
	}
	if d := cmp.Diff([]string{"warning: sut: zcrx: it cannot be known; run it"}, s.doubts("sut", "tg")); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// What a cell asks for and the hosts do not have is told from a mode that cannot run there.
func TestBlockedCells(t *testing.T) {
	two := Options{may: [2][]int{{0, 1}, {0, 1}}, SUTFlows: []place.CPUs{{App: 1, Softirq: 0}},
		TGFlows: []place.CPUs{{App: 0, Softirq: 0}}}
	r := between("a", "b", two)
	st := &stage{hosts: &hosts{SUT: r.SUT, TG: r.TG}, spec: &matrix.Spec{}, opt: r.Opt, support: someSupport()}
	st.support.TX[1] = wire.ModeSupport{Role: stream.TX, Name: "sendfile", Blocked: true, Reason: "detach it"}
	for name, x := range map[string]struct {
		cell    plan.Cell
		blocked bool
	}{
		"too few CPUs": {plan.Cell{RX: "tcp", TX: "tcp", Flows: 9}, true},
		"the MTU":      {plan.Cell{RX: "tcp", TX: "tcp", MTU: 9000}, true},
		"a feature":    {plan.Cell{RX: "devmem", TX: "tcp"}, false},
		"both":         {plan.Cell{RX: "devmem", TX: "tcp", Flows: 9}, false},
		"a state":      {plan.Cell{RX: "tcp", TX: "sendfile"}, true},
	} {
		m := st.missing(x.cell)
		if m == nil || m.Blocked != x.blocked {
			t.Errorf("%s: %+v, want blocked %v", name, m, x.blocked)
			continue
		}
		if rec := r.Unsupported(matrix.Run{Cell: x.cell}, m); rec.Blocked != x.blocked || rec.Reason != m.Reason ||
			rec.Verdict != results.Unsupported {
			t.Errorf("%s: record %+v", name, rec)
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
	cells := s.fold(product(plan.Cell{}, s), never)
	if len(cells) != len(s.RX)+len(s.TX) {
		t.Errorf("%d cells, want %d", len(cells), len(s.RX)+len(s.TX))
	}
	for _, c := range cells {
		if s.Missing(c) == nil {
			t.Errorf("%s can run", c.ID)
		}
	}
}
