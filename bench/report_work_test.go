// SPDX-License-Identifier: MIT

//go:build !race

package bench

import (
	"runtime"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// What a run more costs a report does not depend on the machine: its metrics and series
// are not parsed, which would make more than 1,000 objects of them. `make
// bench-report` holds the time. Not with the race detector: a pool forgets what it has at random
// then, and more objects are made.
func TestReportWork(t *testing.T) {
	work := func(reps int) float64 {
		dir := bigJournal(t, 4, reps, results.SchemaVersion)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := Report(t.Context(), dir)
		runtime.ReadMemStats(&after)
		if err != nil || s.Runs != 4*reps {
			t.Fatal(s.Runs, err)
		}
		return float64(after.Mallocs - before.Mallocs)
	}
	work(10)
	work(40) // what is made once a process
	objects := (work(40) - work(10)) / 120
	t.Logf("a run costs %.0f objects", objects)
	if objects > 240 {
		t.Errorf("a run costs %.0f objects, want at most 240", objects)
	}
}
