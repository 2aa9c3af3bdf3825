// SPDX-License-Identifier: MIT

package endpoint

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/fault"
)

// Meters are there before the run's time begins, and are the run's: with it they are closed, or
// with an end that never runs.
func TestMetersAreTheRuns(t *testing.T) {
	spec := rxSpec("tcp", mib)
	spec.Dev = "lo"
	before := streamtest.Holding(t)
	idle, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	if idle.meters.m.tally.Device() == nil {
		t.Error("an end that is open has nothing to ask its interface with")
	}
	closeEnd(t, idle)
	streamtest.NoMore(t, before, 16<<20)

	before = streamtest.Holding(t)
	ran, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	tx := txSpec("tcp", mib)
	tx.Addr, tx.Dev = ran.Addr().String(), "lo"
	sender, err := Open(tx)
	if err != nil {
		t.Fatal(err)
	}
	sch := lasting(100 * time.Millisecond)
	sent := background(t.Context(), sender, sch)
	got := ran.Run(t.Context(), sch)
	result(t, sent)
	if ran.meters.m.tally != nil {
		t.Error("a run has left the meters to its end")
	}
	closeEnd(t, sender)
	closeEnd(t, ran)
	streamtest.NoMore(t, before, 16<<20)
	told := false
	for _, m := range got.Host.Metrics {
		told = told || m.Name == "counter_tally_wall_ns"
	}
	if !told {
		t.Errorf("%s %s: nothing was read through them", got.Verdict, got.Reason)
	}
}

// An end with turns counts nothing that its turns do not read, shares the program that counts who
// has the CPUs with all others, and refuses threads that poll for its flows: nobody reads what they
// use in a turn.
func TestMetersOfTurns(t *testing.T) {
	spec := rxSpec("tcp", mib)
	spec.Dev, spec.Shares = "lo", true
	e, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	if e.meters.m.groups != nil {
		t.Error("counters are open that nobody reads")
	}
	another, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := e.meters.m.tasks, another.meters.m.tasks; a != b || a == nil && os.Geteuid() == 0 {
		t.Errorf("ends have programs of their own: %p and %p (%q)", a, b, e.meters.m.missing)
	}
	if a, b := e.meters.m.hardware, another.meters.m.hardware; a == nil || a != b {
		t.Error("ends have counters of the processor of their own, which has few")
	}
	closeEnd(t, e)
	if tasks := another.meters.m.tasks; tasks != nil {
		if _, err := tasks.Read(); err != nil || len(tasks.ReadCPUs(nil).CPUs) == 0 {
			t.Errorf("one end is closed, and the other one's program tells nothing: %v", err)
		}
	}
	closeEnd(t, another)
	if len(counting.all) != 0 || len(hardware.all) != 0 {
		t.Error("a program, or a counter, is left")
	}
	m := meters{polledBy: NAPIThreads{PIDs: []int{70}}}
	if err := m.fitTurns(spec); err == nil || !strings.Contains(fault.Fix(err), "order: blocks") {
		t.Errorf("threads poll: %v", err)
	}
	if spec.Shares = false; m.fitTurns(spec) != nil {
		t.Error("threads poll for an end without turns, and it is refused")
	}
}
