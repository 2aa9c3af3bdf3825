// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/results"
)

const lengths = `name: lengths
factors: {rx: [tcp, uring], tx: tcp, touch: verify, message: 256K, turn: [20ms, 100ms, none]}
duration: 160ms
ramp_up: 40ms
warmup: false
repetitions: 2
purpose: check
gates: {foreign_cores: off, replace: 0}
`

// written writes a file.
func written(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// The length of a turn is a factor: each cell has its records, verified, of turns of its length, or
// of none where it was made alone. A turn that is long has eight all the same.
func TestIntegrationTurnLengths(t *testing.T) {
	needRoot(t)
	file, out := written(t, "lengths.yaml", lengths), filepath.Join(t.TempDir(), "out")
	p := built.Start(t, "zcbench", "matrix", file, "--out", out)
	if got := p.Wait(await.Hang); got > 1 {
		t.Fatalf("exit status %d: %s%s", got, &p.Err, &p.Out)
	}
	if e := p.Err.String(); !strings.Contains(e, "order: turns, as asked") {
		t.Error(e)
	}
	made := map[string]int{}
	for _, r := range journal(t, out).Records {
		if r.Verdict != results.OK {
			if r.Verdict != results.Invalid || !r.Spoilt() {
				t.Errorf("%s: %s: %s", r.Cell.ID, r.Verdict, r.Reason)
			}
			continue
		}
		made[r.Cell.ID]++
		if r.SUT.Mismatches == nil || *r.SUT.Mismatches != 0 || *r.SUT.Bytes == 0 {
			t.Errorf("%s: the payload was not verified", r.Cell.ID)
		}
		want := map[string]*results.Turns{"20ms": {TurnNs: 20e6, Turns: 8, Cells: 2},
			"100ms": {TurnNs: 100e6, Turns: 8, Cells: 2}, "none": nil}[r.Cell.Turn]
		if want != nil && r.Turns != nil {
			if want.WindowNs = r.Turns.WindowNs; want.WindowNs < 8*want.TurnNs {
				t.Errorf("%s: 8 turns of %d ns in a window of %d ns", r.Cell.ID, want.TurnNs, want.WindowNs)
			}
		}
		if (r.Turns == nil) != (want == nil) || want != nil && *r.Turns != *want || (r.Start > 0) != (want != nil) {
			t.Errorf("%s: %+v, start %d, want %+v", r.Cell.ID, r.Turns, r.Start, want)
		}
	}
	if len(made) < 4 { // others may be disturbed
		t.Errorf("runs of %v", made)
	}
	p = built.Start(t, "zcbench", "matrix", file, "--out", out, "--resume")
	if got := p.Wait(await.Hang); got > 1 {
		t.Errorf("resume: exit status %d: %s", got, &p.Err)
	}
	p = built.Start(t, "zcbench", "matrix", file, "--dry-run")
	p.Wait(await.Hang)
	for _, want := range []string{"group 1, 2 cells: a start takes", "8 turns of 20ms of each cell",
		"8 turns of 100ms of each cell", "made alone, as with order: blocks: tcp/tcp turn=none, uring/tcp turn=none"} {
		if !strings.Contains(p.Out.String(), want) {
			t.Errorf("no %q in\n%s", want, &p.Out)
		}
	}
}

const chosen = `name: chosen
factors: {rx: [tcp, uring], tx: tcp, message: 256K}
duration: 200ms
ramp_up: 40ms
warmup: false
repetitions: 1
purpose: check
gates: {foreign_cores: off, replace: 0}
`

// Cells of a file take turns where nobody says otherwise. A journal that was begun in blocks, or in
// turns of another length, goes on so, and is refused where the user wants another order.
func TestIntegrationMatrixOrder(t *testing.T) {
	needRoot(t)
	file := written(t, "chosen.yaml", chosen)
	for _, x := range []struct {
		name         string
		begin        []string
		says         string
		turns        int64 // ns
		other, wants string
	}{
		{"by default", nil, "order: turns, because all cells can (--order blocks:", 60e6, "blocks", "turns"},
		{"blocks", []string{"--order", "blocks"}, "order: blocks, as asked", 0, "turns", "blocks"},
		{"long turns", []string{"--turn", "100ms"}, "order: turns, as asked", 100e6, "blocks", "turns"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		play := func(flags ...string) (int, string) {
			t.Helper()
			p := built.Start(t, "zcbench", append([]string{"matrix", file, "--out", out}, flags...)...)
			status := p.Wait(await.Hang)
			return status, strings.Join(strings.Fields(p.Err.String()), " ")
		}
		if status, e := play(x.begin...); status > 1 || !strings.Contains(e, x.says) {
			t.Errorf("%s: exit status %d: %s", x.name, status, e)
		}
		for _, r := range journal(t, out).Records {
			if (r.Turns != nil) != (x.turns > 0) || r.Turns != nil && r.Turns.TurnNs != x.turns {
				t.Errorf("%s: %s: %+v", x.name, r.Cell.ID, r.Turns)
			}
		}
		if status, e := play("--resume"); status > 1 || !strings.Contains(e, "order: "+x.wants+
			", as the journal was begun") || !strings.Contains(e, "are in the journal") {
			t.Errorf("%s: resumed with exit status %d: %s", x.name, status, e)
		}
		if status, e := play("--resume", "--order", x.other); status != 2 ||
			!strings.Contains(e, "the plan has changed") {
			t.Errorf("%s: resumed in another order with exit status %d: %s", x.name, status, e)
		}
	}
}
