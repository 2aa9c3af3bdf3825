// SPDX-License-Identifier: MIT

package matrix

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// What is of another boot goes, of the ends that it is of; all else of the cells stays as it was
// said.
func TestLeaveInterrupts(t *testing.T) {
	const set = "interrupt 24=3; coalesce rx-usecs=5; tg:interrupt 25=1; tg:rss=default"
	for _, x := range []struct{ ends, set, want, left string }{
		{"", set, "interrupt 24=3;coalesce rx-usecs=5;tg:interrupt 25=1;tg:rss=default", ""},
		{"sut", set, "tg:interrupt 24=3;coalesce rx-usecs=5;tg:interrupt 25=1;tg:rss=default", "sut:interrupt 24=3"},
		{"tg", set, "sut:interrupt 24=3;coalesce rx-usecs=5;tg:rss=default", "tg:interrupt 24=3, tg:interrupt 25=1"},
		{"sut tg", set, "coalesce rx-usecs=5;tg:rss=default",
			"sut:interrupt 24=3, tg:interrupt 24=3, tg:interrupt 25=1"},
		{"sut tg", "interrupt 24=3", "", "sut:interrupt 24=3, tg:interrupt 24=3"},
		{"sut tg", "coalesce rx-usecs=5", "coalesce rx-usecs=5", ""},
	} {
		s := &Spec{Cells: []plan.Cell{{ID: "tcp/tcp", RX: "tcp", TX: "tcp", Set: x.set},
			{ID: "uring/tcp", RX: "uring", TX: "tcp", Set: x.set}}}
		s.Base = new(s.Cells[0])
		if got, want := s.MovesInterrupts(), strings.Contains(x.set, "interrupt"); got != want {
			t.Errorf("%s: it moves interrupts: %v", x.set, got)
		}
		left, err := s.LeaveInterrupts(strings.Fields(x.ends)...)
		if got := strings.Join(left, ", "); err != nil || got != x.left {
			t.Errorf("%s of %q: left out %q, %v, want %q", x.set, x.ends, got, err, x.left)
		}
		for _, c := range []plan.Cell{s.Cells[0], s.Cells[1], *s.Base} {
			if c.Set != x.want {
				t.Errorf("%s of %q: %s has %q, want %q", x.set, x.ends, c.ID, c.Set, x.want)
			}
		}
	}
	s := &Spec{Cells: []plan.Cell{{ID: "a", RX: "tcp", TX: "tcp", Set: "interrupt 24=3"},
		{ID: "b", RX: "tcp", TX: "tcp", Set: "interrupt 24=2"}}}
	if _, err := s.LeaveInterrupts("sut", "tg"); err == nil ||
		!strings.Contains(err.Error(), "differ only in interrupts, whose numbers are of another boot") {
		t.Error(err)
	}
}
