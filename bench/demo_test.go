package bench

import (
	"regexp"
	"testing"

	"github.com/zcbench/zcbench/matrix"
	"github.com/zcbench/zcbench/results"
)

func TestPlanOnce(t *testing.T) {
	cells := []results.Cell{{ID: "a", RX: "tcp"}, {ID: "b", RX: "devmem"}, {ID: "c", RX: "uring"}}
	missing := func(c results.Cell) *Missing {
		if c.RX == "devmem" {
			return &Missing{"reason", "fix"}
		}
		return nil
	}
	for _, warmup := range []bool{true, false} {
		runs, warmups := map[string]int{}, map[string]int{}
		for _, p := range planOnce(matrix.Interleave(cells, 4, warmup, 3), missing) {
			if p.Warmup {
				warmups[p.Cell.ID]++
			} else {
				runs[p.Cell.ID]++
			}
		}
		wu := 0
		if warmup {
			wu = 1
		}
		if runs["a"] != 4 || runs["c"] != 4 || runs["b"] != 1 || warmups["a"] != wu || warmups["b"] != 0 {
			t.Errorf("warm-up %v: runs %v, warm-ups %v", warmup, runs, warmups)
		}
	}
}

func TestNewSession(t *testing.T) {
	if s := NewSession(); !regexp.MustCompile(`^20\d{6}-\d{6}\d{3}$`).MatchString(s) {
		t.Errorf("session %q", s)
	}
}
