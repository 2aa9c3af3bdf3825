// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

func flows(rx string, n int) plan.Cell {
	return plan.Cell{ID: fmt.Sprintf("%s/tcp flows=%d", rx, n), RX: rx, TX: "tcp", Touch: "read", Flows: n}
}

// Four flows do three times what one does, and the mode nothing: cells with another number of
// flows are never held against each other for their modes.
func TestFlowsAreNoModes(t *testing.T) {
	gbps := func(c plan.Cell) float64 { return map[int]float64{1: 10, 4: 30}[c.Flows] }
	for _, c := range []struct {
		name  string
		cells []plan.Cell
		want  []string
	}{
		{"matched", []plan.Cell{flows("tcp", 1), flows("tcp", 4), flows("uring", 1), flows("uring", 4)}, []string{
			"rx uring/tcp flows=1 : tcp/tcp flows=1", "rx uring/tcp flows=4 : tcp/tcp flows=4",
			"flows tcp/tcp flows=4 : tcp/tcp flows=1", "flows uring/tcp flows=4 : uring/tcp flows=1"}},
		{"without a partner", []plan.Cell{flows("tcp", 1), flows("uring", 4)},
			[]string{" uring/tcp flows=4 : tcp/tcp flows=1"}},
	} {
		for seed := range uint64(20) {
			s := NewSet("s", session(seed, 8, c.cells, gbps))
			r, err := Within(&s, c.cells[0], metrics(t, "throughput_gbps"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range r.Rows {
				row := &r.Rows[i]
				got = append(got, fmt.Sprintf("%s %s", row.Factor, row.Label()))
				if row.Factor != "rx" && row.Factor != "flows" && row.Verdict != Unsure {
					t.Errorf("%s: %s: %s", c.name, got[i], row.VerdictText())
				}
				if row.Factor == "flows" && row.Verdict != Faster {
					t.Errorf("%s: %s: %s", c.name, got[i], row.VerdictText())
				}
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("%s:\n%s", c.name, strings.Join(got, "\n"))
			}
		}
	}
	s := NewSet("s", session(1, 8, []plan.Cell{flows("tcp", 1), flows("uring", 4)}, gbps))
	if r, err := Within(&s, s.Cells[0].Cell, metrics(t, "throughput_gbps")); err != nil ||
		r.Rows[0].VerdictText() != "cannot tell (differs in rx, flows)" {
		t.Errorf("%q, %v", r.Rows[0].VerdictText(), err)
	}
	// Two folders: what is alike but for its flows is no pair.
	a, b := NewSet("a", session(1, 8, []plan.Cell{flows("tcp", 1)}, gbps)),
		NewSet("b", session(2, 8, []plan.Cell{flows("tcp", 4)}, gbps))
	if _, err := Compare(&a, &b, metrics(t, "throughput_gbps")); err == nil {
		t.Error("one flow beside four")
	}
}
