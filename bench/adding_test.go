// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// addedModeEnv gives agents of these tests the mode of [TestOneLineAddsAMode].
const addedModeEnv = "ZCBENCH_TEST_ADDED_MODE"

// added is a mode that works as tcp does, and has none of its options.
func added() stream.Mode {
	m := baseline.TCP
	m.Name, m.Summary, m.Traits, m.Holds, m.Kernel = "borrowed", "recv, by another name", 0, nil, "4.9"
	return m
}

// One entry of modes.All adds a mode: files and options know it, what it cannot have is refused by
// its traits, doctor has its rungs, and runs between two hosts are made with it.
func TestOneLineAddsAMode(t *testing.T) {
	const file = "name: x\nfactors:\n  rx: [borrowed]\n  tx: [tcp]\n"
	if _, err := matrix.Parse("x.yaml", []byte(file)); err == nil || !strings.Contains(err.Error(), "borrowed") {
		t.Fatalf("before it is there: %v", err)
	}
	before := modes.All
	defer func() { modes.All = before }()
	modes.All = append(before[:len(before):len(before)], added())
	t.Setenv(addedModeEnv, "1")

	spec, err := matrix.Parse("x.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if got := spec.Cells; len(got) != 1 || got[0].RX != "borrowed" {
		t.Errorf("the file has %+v", got)
	}
	if names := plan.LookupOption("rx").Choices(); !slices.Contains(names, "borrowed") {
		t.Errorf("choices of --rx: %q", names)
	}
	c := cell("borrowed", "tcp")
	if no := plan.CannotRun(&c, nil); no != nil {
		t.Errorf("refused: %+v", no)
	}
	c.RXBuffer = 1 << 20 // which is of buffered modes
	if no := plan.CannotRun(&c, nil); no == nil || !strings.Contains(no.Reason, "borrowed") {
		t.Errorf("an option that it does not have: %+v", no)
	}

	r := newRig(t)
	r.bounded(4 << 20)
	var ladders []wire.Ladder
	if err := r.sut.Call(t.Context(), wire.OpLadders, wire.ModesParams{}, &ladders); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(ladders, func(l wire.Ladder) bool { return l.Name == "borrowed" })
	if i < 0 || !ladders[i].Supported || len(ladders[i].Rungs) == 0 {
		t.Errorf("doctor's ladders do not have it: %+v", ladders)
	}
	recs, err := r.Play(t.Context(), interleaved(2, cell("borrowed", "tcp")))
	if err != nil || len(recs) != 2 {
		t.Fatalf("%d runs, %v", len(recs), err)
	}
	for _, rec := range recs {
		if rec.Verdict != results.OK || rec.Cell.RX != "borrowed" || *rec.SUT.TotalBytes == 0 {
			t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
		}
	}
}
