// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
)

// What is let go is gone soon: nothing waits for a limit of somebody's, of which a hello's, 3 s, is
// the shortest.
func TestEndsLetGoSoon(t *testing.T) {
	kind.Timed(t)
	var begun time.Time
	for name, f := range map[string]func(*testing.T){
		"closed while it runs": TestCloseWhileRunning, "closed before": TestCloseWithoutRun,
		"meters": TestMetersAreTheRuns,
		"called off": func(t *testing.T) {
			open(t, rxSpec("tcp", mib)) // holds the eBPF programs: 18 ends need not load them again
			begun = time.Now()
			TestCalledOffIsPromptAndLeavesNothing(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			begun = time.Now()
			f(t)
			if took := time.Since(begun); took > 2500*time.Millisecond {
				t.Errorf("took %v", took)
			}
		})
	}
}
