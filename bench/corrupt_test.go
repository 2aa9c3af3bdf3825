// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/resultstest"
)

// A journal that is damaged in any way becomes tables and a report of what is
// sound, or an error; never a panic, and the journal stays as it was.
func TestDeriveCorruptions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	cells := []plan.Cell{cell("tcp", "tcp"), cell("uring", "tcp")}
	w, err := results.Create(dir, results.Header{SessionID: "s", Cells: cells})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 14 {
		gbps, cores, bytes := 10+float64(i%3), 0.5, uint64(1e9)
		h := results.Host{ThroughputGbps: &gbps, CPUBusyCores: &cores, Bytes: &bytes}
		r := results.Record{RunID: fmt.Sprint("r", i), SessionID: "s", Seq: i, Rep: i / 2, Cell: cells[i%2],
			Verdict: results.OK, SUT: h, TG: h}
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	path := filepath.Join(dir, results.JournalFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(6, 600))
	derived, refused := 0, 0
	for i := range long.Rounds(30, 600) {
		b := append([]byte(nil), good...)
		for range 1 + rnd.IntN(3) {
			b = resultstest.Corrupt(rnd, b)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, s, err := Derive(dir); err != nil {
			refused++
		} else if derived++; s == nil {
			t.Errorf("corruption %d: neither a report nor an error", i)
		}
		if after, _ := os.ReadFile(path); string(after) != string(b) {
			t.Fatalf("corruption %d: the journal was changed", i)
		}
	}
	t.Logf("%d reports, %d refused", derived, refused)
	if derived < refused {
		t.Error("the corruptions are no test: most journals cannot be read")
	}
}
