// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// busyHost is a host on which something else works at times, about as long as a block lasts: it is
// over, or not, when runs are made again. Then all runs are 15 % slower, and it is seen in a
// quarter of those of the first cell, and in three quarters of the second's, whose runs are longer.
type busyHost struct {
	rng  *rand.Rand
	busy bool
	last *matrix.Run // that was made
	j    results.Journal
}

func (h *busyHost) run(p matrix.Run) results.Record {
	if last := h.last; last == nil || last.Rep != p.Rep || last.Try != p.Try || last.Cell.RX == p.Cell.RX {
		h.busy = h.rng.Float64() < .4
	}
	h.last = &p
	gbps := 20 * math.Exp(.01*h.rng.NormFloat64())
	r := results.Record{RunID: fmt.Sprint("r", len(h.j.Records)), SessionID: "s", Cell: p.Cell, Rep: p.Rep,
		Block: p.Block, Try: p.Try, Verdict: results.OK}
	if h.busy {
		gbps *= .85
		if seen := map[string]float64{"tcp": .25, "uring": .75}[p.Cell.RX]; h.rng.Float64() < seen {
			r.Fail(plan.ByEnvironment, "foreign load", "")
		}
	}
	r.SUT.ThroughputGbps = &gbps
	h.j.Records = append(h.j.Records, r)
	return r
}

// Two equal cells, of which other load hits one more often, and the slower the machine is: as whole
// blocks are made again, neither seems faster. Made again alone, that cell's runs are of the good
// times.
func TestWholeBlocksAreFair(t *testing.T) {
	a, b := cell("tcp", "tcp"), cell("uring", "tcp")
	rounds := long.Rounds(300, 4000)
	for _, alone := range []bool{false, true} {
		var sum, squares float64
		told, n, runs, lost := 0, 0, 0, 0
		for round := range rounds {
			h := &busyHost{rng: rand.New(rand.NewPCG(uint64(round), 52))}
			h.j.Header.Plan = &plan.Origin{Baseline: &a}
			planned := matrix.Interleave([]plan.Cell{a, b}, 12, false, uint64(round))
			redo := &again{Plan: planned, Alone: alone}
			for left := planned; len(left) > 0; {
				block := redo.block(left)
				left = left[len(block):]
				if _, err := redo.play(block, plan.DefaultReplace, func(matrix.Run) {},
					func(ps []matrix.Run) ([]results.Record, bool, error) {
						r := h.run(ps[0])
						return []results.Record{r}, redo.wants(&r, plan.DefaultReplace), nil
					}); err != nil {
					t.Fatal(err)
				}
			}
			judge.Apply(&h.j)
			set := compare.NewSet("s", h.j)
			metric, _ := compare.Lookup([]string{"throughput_gbps"})
			r, err := compare.Within(&set, a, metric)
			if err != nil {
				t.Fatal(err)
			}
			runs += len(h.j.Records)
			row := &r.Rows[0]
			if !alone && min(row.Diff.NA, row.Diff.NB) < 12 {
				lost++
			}
			if q := row.Diff.Ratio; q != nil {
				x := math.Log(q.Value)
				sum, squares, n = sum+x, squares+x*x, n+1
			}
			if row.Verdict != compare.Unsure {
				told++
			}
		}
		mean := sum / float64(n)
		se := math.Sqrt((squares/float64(n) - mean*mean) / float64(n))
		t.Logf("alone %v: B/A is off by %+.3f %% (standard error %.3f %%), %d of %d have a verdict, %.1f runs each, "+
			"runs are left out in %d", alone, 100*mean, 100*se, told, rounds, float64(runs)/float64(rounds), lost)
		if alone {
			if mean < .003 {
				t.Errorf("runs that are made again alone have no bias, %g: this test shows nothing", mean)
			}
			continue
		}
		if math.Abs(mean) > .001+2*se || float64(told) > .05*float64(rounds)+2*math.Sqrt(.0475*float64(rounds)) {
			t.Errorf("a bias of %.3f %%, and %d of %d equal pairs with a verdict", 100*mean, told, rounds)
		}
	}
}
