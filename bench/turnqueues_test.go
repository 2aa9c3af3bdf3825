// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// turning makes cells that take turns, of these receive modes.
func turning(rx ...string) (cells []plan.Cell) {
	for _, m := range rx {
		cells = append(cells, plan.Cell{ID: m + "/tcp", RX: m, TX: "tcp"})
	}
	return cells
}

// Each cell that takes queues over has its own, in an order that does not depend on whose turn is
// the first. Flows that are only steered share one, which nobody takes.
func TestShareQueues(t *testing.T) {
	if got := fmt.Sprint(takersFirst(turning("tcp", "zcrx", "uring", "devmem"))); got != "[3 1 0 2]" {
		t.Errorf("opened in the order %s", got)
	}
	for _, rx := range [][]string{{"tcp", "zcrx", "devmem"}, {"devmem", "tcp", "zcrx"}} {
		for i, q := range shareQueues(turning(rx...)) {
			want := map[string]int{"devmem": 0, "zcrx": 1}[rx[i]]
			if own := map[bool]int{true: 0, false: 1}[rx[i] == "tcp"]; q.All != 2 || q.Each != 1 || q.Own != own ||
				q.From != want || q.Rules != 2 || q.Check() != nil {
				t.Errorf("%s of %v: %+v", rx[i], rx, *q)
			}
		}
	}
	cells := turning("uring", "zcrx", "tcp")
	for i := range cells {
		cells[i].Queue = new(2)
	}
	s := shareQueues(cells)
	if *s[0] != *s[2] || s[0].From != 1 || s[0].Own != 1 || s[0].All != 2 || s[1].From != 0 || s[0].Rules != 3 {
		t.Errorf("steered: %+v, %+v, %+v", *s[0], *s[1], *s[2])
	}
	cells = turning("devmem", "zcrx")
	for i := range cells {
		cells[i].Flows = 3
	}
	if s = shareQueues(cells); s[0].All != 6 || s[1].From != 3 || s[1].Own != 3 || s[1].Each != 3 {
		t.Errorf("several flows: %+v, %+v", *s[0], *s[1])
	}
	for _, q := range shareQueues(turning("tcp", "uring")) {
		if q != nil {
			t.Errorf("nobody takes queues: %+v", *q)
		}
	}
}

// A group for which the interface has too few RX queues is split, and it is said why. Where the
// queues are not known, the agent says what is missing.
func TestFitQueues(t *testing.T) {
	for _, x := range []struct {
		queues int
		set    string
		first  *int
		want   string
	}{{4, "", nil, "[[0 1 2]]"}, {3, "", nil, "[[0 1 2]]"}, {2, "", nil, "[[0 2] [1]]"}, {0, "", nil, "[[0 1 2]]"},
		{2, "channels rx 8", nil, "[[0 1 2]]"}, {2, "coalesce rx-usecs=5", nil, "[[0 2] [1]]"},
		{8, "", new(6), "[[0 2] [1]]"}} {
		o := Options{SUTDev: "eth0"}
		o.rxQueues[0] = upTo(x.queues)
		cells := turning("tcp", "zcrx", "devmem")
		for i := range cells {
			cells[i].Set = x.set
			if x.first != nil && cells[i].TakesQueues() {
				cells[i].Queue = x.first
			}
		}
		if x.first != nil {
			cells[0].Queue = x.first
		}
		var got [][]int
		for _, part := range o.fitQueues(cells) {
			got = append(got, part.cells)
			if (part.why == "") != (x.want == "[[0 1 2]]") {
				t.Errorf("%d queues: %v: %q", x.queues, part.cells, part.why)
			}
			if part.why != "" && !strings.Contains(part.why, "it took no turns with ") {
				t.Errorf("%q", part.why)
			}
		}
		if fmt.Sprint(got) != x.want {
			t.Errorf("%d queues, %q, from %v: %v, want %s", x.queues, x.set, x.first, got, x.want)
		}
	}
}
