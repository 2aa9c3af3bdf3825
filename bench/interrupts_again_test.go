// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Interrupts are moved again by their numbers only in the boot that these are of, of each host, and
// what is left out is said.
func TestInterruptsOfAnotherBoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	planned := &plan.Origin{}
	planned.SUT.BootID, planned.TG.BootID = "a", "b"
	w, err := results.Create(dir, results.Header{SessionID: "s", Plan: planned})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ before, sut, tg, want, said string }{
		{dir, "a", "b", "interrupt 24=3;coalesce rx-usecs=5", ""},
		{dir, "later", "b", "tg:interrupt 24=3;coalesce rx-usecs=5", "sut:interrupt 24=3;"},
		{dir, "later", "too", "coalesce rx-usecs=5", "sut:interrupt 24=3, tg:interrupt 24=3;"},
		{"", "later", "too", "interrupt 24=3;coalesce rx-usecs=5", ""}, // no experiment is made again
	} {
		var said strings.Builder
		s := &matrix.Spec{Cells: []plan.Cell{{ID: "tcp/tcp", RX: "tcp", TX: "tcp",
			Set: "interrupt 24=3;coalesce rx-usecs=5"}}}
		b := &Before{Dir: x.before}
		if x.before == "" {
			b = nil
		}
		sut, tg := machines(x.sut, x.tg)
		if err := b.leaveInterrupts(s, sut, tg, func(line string) { said.WriteString(line) }); err != nil {
			t.Fatal(err)
		}
		if got := s.Cells[0].Set; got != x.want || b != nil && b.InterruptsLeft != (x.said != "") {
			t.Errorf("boots %s, %s: %q, want %q (%v)", x.sut, x.tg, got, x.want, b)
		}
		if !strings.Contains(said.String(), x.said) || (said.Len() > 0) != (x.said != "") {
			t.Errorf("boots %s, %s: %q, want %q", x.sut, x.tg, said.String(), x.said)
		}
	}
}
