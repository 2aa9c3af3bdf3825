// SPDX-License-Identifier: MIT

package matrix_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// simulate plays a plan of two cells as a machine would: the throughput of B is
// effect times that of A, all runs drift by 2 % over the session (a slope and a
// slow wave, as warm-up and neighbours make it), vary by 0.7 %, and one in fifty is
// an outlier that lost 4 %. It goes the whole way of published data: runs.csv, sets, verdicts.
func simulate(t *testing.T, rng *rand.Rand, reps int, effect float64, seed uint64) (a, b compare.Set) {
	t.Helper()
	cells := []plan.Cell{{ID: "a", RX: "tcp", TX: "tcp"}, {ID: "b", RX: "uring", TX: "tcp"}}
	var recs []results.Record
	plan := matrix.Interleave(cells, reps, true, seed)
	phase := rng.Float64() * 2 * math.Pi
	slope := (rng.Float64()*2 - 1) * .02
	for i, p := range plan {
		at := float64(i) / float64(len(plan))
		gbps := 100 * (1 + slope*at + .004*math.Sin(phase+2*math.Pi*at)) * (1 + .007*rng.NormFloat64())
		if rng.IntN(50) == 0 {
			gbps *= .96
		}
		if p.Cell.ID == "b" {
			gbps *= effect
		}
		r := results.Record{RunID: fmt.Sprint("r", i), SessionID: "s", Seq: i, Cell: p.Cell, Block: p.Block, Rep: p.Rep,
			Warmup: p.Warmup, Verdict: results.OK}
		r.SUT.ThroughputGbps = &gbps
		r.Schema = results.SchemaVersion
		recs = append(recs, r)
	}
	var csv bytes.Buffer
	if err := results.WriteRuns(&csv, recs); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), results.RunsFile)
	if err := os.WriteFile(path, csv.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	a, err := compare.Load(path+"@rx=tcp", (*results.Folder).ReadFigures)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = compare.Load(path+"@rx=uring", (*results.Folder).ReadFigures); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// called counts the comparisons that call a difference.
func called(t *testing.T, rng *rand.Rand, n, reps int, effect float64) (slower, faster int) {
	t.Helper()
	metrics, err := compare.Lookup([]string{"throughput_gbps"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		a, b := simulate(t, rng, reps, effect, uint64(i))
		r, err := compare.Compare(&a, &b, metrics)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Rows) != 1 || r.Rows[0].Diff.NA != reps {
			t.Fatalf("%+v", r)
		}
		switch r.Rows[0].Verdict {
		case compare.Slower:
			slower++
		case compare.Faster:
			faster++
		}
	}
	return slower, faster
}

// Equal arms under drift: at most 5 of 100 comparisons call a difference. Three
// hundred more keep that from being the luck of one seed.
func TestEqualArms(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 11))
	for _, reps := range []int{10, 6, 10, 20} {
		slower, faster := called(t, rng, 100, reps, 1)
		t.Logf("n = %d: %d slower, %d faster of 100", reps, slower, faster)
		if slower+faster > 5 {
			t.Errorf("n = %d: %d of 100 equal pairs are called different", reps, slower+faster)
		}
	}
}

// A true difference of 2 % is found by 10 runs of each in at least 80 of 100, and
// never with the wrong sign.
func TestTrueDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 12))
	slower, faster := called(t, rng, 100, 10, .98)
	t.Logf("-2 %%: %d slower, %d faster of 100", slower, faster)
	if slower < 80 || faster > 0 {
		t.Errorf("-2 %%: %d slower, %d faster of 100", slower, faster)
	}
	slower, faster = called(t, rng, 100, 10, 1.02)
	t.Logf("+2 %%: %d slower, %d faster of 100", slower, faster)
	if faster < 80 || slower > 0 {
		t.Errorf("+2 %%: %d slower, %d faster of 100", slower, faster)
	}
}

// A run that bears on the one after it, by heat or memory, must not make its neighbours
// look slow: of 100 experiments with 8 equal cells and a hot one, after which the next run
// loses 2 %, at most 5 call any difference among the equal ones.
func TestCarryOver(t *testing.T) {
	const n, reps, rounds = 9, 10, 200
	cells := make([]plan.Cell, n)
	for i := range cells {
		cells[i] = plan.Cell{ID: fmt.Sprint("c", i), RX: "tcp", TX: "tcp", MTU: 1500 + i}
	}
	hot := cells[n-1].ID
	rng := rand.New(rand.NewPCG(2026, 15))
	wrong := 0
	for seed := range uint64(rounds) {
		values, after := map[string][]stat.Run{}, ""
		for _, p := range matrix.Interleave(cells, reps, true, seed) {
			v := 100 * (1 + .007*rng.NormFloat64())
			if after == hot {
				v *= .98
			}
			if after = p.Cell.ID; !p.Warmup {
				values[p.Cell.ID] = append(values[p.Cell.ID], stat.Run{Value: v, Boot: "b", Rep: p.Rep})
			}
		}
		var all []*stat.Difference
		for _, c := range cells[1 : n-1] {
			all = append(all, new(stat.Contrast(values[cells[0].ID], values[c.ID], stat.Between{})))
		}
		stat.Family(all)
		if slices.ContainsFunc(all, func(d *stat.Difference) bool { return d.Sign() != stat.Unknown }) {
			wrong++
		}
	}
	t.Logf("%d of %d experiments call equal cells different", wrong, rounds)
	if wrong > rounds*5/100 {
		t.Errorf("%d of %d experiments call equal cells different", wrong, rounds)
	}
}
