// SPDX-License-Identifier: MIT

package matrix

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// asked makes the plan of a question.
func asked(q Question) *Spec {
	s := New()
	s.Name = "asked"
	s.Ask(q, plan.Cell{Touch: "read", RXBuffer: 256 << 10, MessageBytes: 64 << 20})
	return s
}

func cellsOf(s *Spec) string { return strings.Join(ids(s), ", ") }

// A question is two plans: receivers with a sender that is no limit, at capacity and at equal
// rates, and senders with a receiver that is none. All of them can take turns with each other.
func TestAsk(t *testing.T) {
	s := asked(Question{RX: []string{"tcp", "tcp-trunc", "uring"}, TX: []string{"tcp", "sendfile", "uring"},
		Paces: []int{50}, Flows: []int{1}})
	if got, want := cellsOf(s), "tcp/sendfile, tcp/sendfile pace=50%, tcp-trunc/sendfile, uring/sendfile, "+
		"uring/sendfile pace=50%, tcp-trunc/tcp, tcp-trunc/uring"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if s.Base.ID != "tcp/sendfile" || !slices.Equal(s.Primary, []string{"uring/sendfile", "uring/sendfile pace=50%"}) {
		t.Errorf("of %s count %q", s.Base.ID, s.Primary)
	}
	for _, c := range s.Cells {
		if err := plan.CannotRun(&c, nil); err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
		if reads := c.RX != "tcp-trunc"; reads != (c.Touch == "read") || reads != (c.RXBuffer > 0) {
			t.Errorf("%s: touch %s, a buffer of %d", c.ID, c.Touch, c.RXBuffer)
		}
	}
	if c := s.ChooseOrder(""); c.Why != "" || len(plan.TurnGroups(s.Cells)) != 1 {
		t.Errorf("no turns: %s", c.Why)
	}
	if _, err := Replay("j", recorded(t, s)); err != nil {
		t.Error(err)
	}
}

// Cells with another number of flows are another group, and senders are compared once.
func TestAskFlows(t *testing.T) {
	s := asked(Question{RX: []string{"tcp", "uring"}, TX: []string{"sendfile", "tcp"}, Paces: []int{25, 75},
		Flows: []int{1, 4}})
	if got, want := cellsOf(s), "tcp/sendfile, tcp/sendfile pace=25%, tcp/sendfile pace=75%, uring/sendfile, "+
		"uring/sendfile pace=25%, uring/sendfile pace=75%, tcp/sendfile flows=4, tcp/sendfile pace=25% flows=4, "+
		"tcp/sendfile pace=75% flows=4, uring/sendfile flows=4, uring/sendfile pace=25% flows=4, "+
		"uring/sendfile pace=75% flows=4, tcp-trunc/sendfile, tcp-trunc/tcp"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if c := s.ChooseOrder(""); c.Why != "" || len(plan.TurnGroups(s.Cells)) != 2 {
		t.Errorf("%d groups, %s", len(plan.TurnGroups(s.Cells)), c.Why)
	}
}

// Senders alone are compared with the usual one.
func TestAskSenders(t *testing.T) {
	s := asked(Question{TX: []string{"sendfile", "tcp"}, Flows: []int{1}})
	if cellsOf(s) != "tcp-trunc/sendfile, tcp-trunc/tcp" || s.Base.ID != "tcp-trunc/tcp" ||
		!slices.Equal(s.Primary, []string{"tcp-trunc/sendfile"}) {
		t.Errorf("%s, of %s count %q", cellsOf(s), s.Base.ID, s.Primary)
	}
}

// Where a mode needs header split, all receivers have it, and tcp is measured as the host is, too:
// with it the others are compared as well. Hosts are asked again by a rerun, and nothing changes.
func TestSplitHeaders(t *testing.T) {
	q := Question{RX: []string{"tcp", "uring", "zcrx", "tcp-trunc"}, TX: []string{"tcp"}, Paces: []int{50},
		Flows: []int{1}}
	for hwGRO, want := range map[bool]string{
		false: "tcp/sendfile, tcp/sendfile header_split=on, tcp/sendfile pace=50%, " +
			"tcp/sendfile header_split=on pace=50%, " +
			"uring/sendfile header_split=on, uring/sendfile header_split=on pace=50%, zcrx/sendfile, " +
			"zcrx/sendfile pace=50%, tcp-trunc/sendfile, tcp-trunc/tcp",
		true: "tcp/sendfile, tcp/sendfile hw_gro=on header_split=on, tcp/sendfile pace=50%, " +
			"tcp/sendfile hw_gro=on header_split=on pace=50%, uring/sendfile hw_gro=on header_split=on, " +
			"uring/sendfile hw_gro=on header_split=on pace=50%, zcrx/sendfile hw_gro=on, " +
			"zcrx/sendfile hw_gro=on pace=50%, tcp-trunc/sendfile, tcp-trunc/tcp"} {
		s := asked(q)
		for range 2 {
			s.SplitHeaders(hwGRO)
			if got := cellsOf(s); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if s.Base.ID != "tcp/sendfile" || len(s.Against) != 2 || slices.ContainsFunc(s.Primary,
			func(id string) bool { return strings.HasPrefix(id, "tcp") }) || len(s.Primary) != 4 {
			t.Errorf("of %s count %q against %v", s.Base.ID, s.Primary, s.Against)
		}
		if _, err := Replay("j", recorded(t, s)); err != nil {
			t.Error(err)
		}
	}
}

// All cells have hardware GRO where a mode needs it, the baseline too, unless the plan says
// something of it.
func TestGiveHWGRO(t *testing.T) {
	s := asked(Question{RX: []string{"tcp", "zcrx"}, TX: []string{"tcp"}, Flows: []int{1}})
	if !s.GiveHWGRO() || s.GiveHWGRO() {
		t.Error("given twice, or never")
	}
	if s.Base.HWGRO == nil || slices.ContainsFunc(s.Cells, func(c plan.Cell) bool {
		return c.HWGRO == nil ||
			!*c.HWGRO
	}) {
		t.Error(cellsOf(s))
	}
	if s.TakeHWGRO(); s.Base.HWGRO != nil || s.Cells[0].HWGRO != nil {
		t.Error("not taken back")
	}
	s.Cells[0].HWGRO, s.Cells[1].HWGRO = nil, new(false)
	if s.GiveHWGRO() || s.Cells[0].HWGRO != nil || *s.Cells[1].HWGRO {
		t.Error("a plan that says something of it is changed")
	}
	if (&Spec{}).GiveHWGRO() {
		t.Error("given to no cell")
	}
	s = New()
	s.Cells = []plan.Cell{{ID: "a", RX: "zcrx", TX: "tcp"}, {ID: "b", RX: "xdp-drop", TX: "pktgen-xdp"}}
	if !s.GiveHWGRO() || s.Cells[0].HWGRO == nil || s.Cells[1].HWGRO != nil {
		t.Error("given to XDP, which drivers refuse together with it")
	}
}
