// SPDX-License-Identifier: MIT

package bpf

import (
	"testing"
	"time"
)

// A turn in which others had the machine does not make a program dear.
func TestTallyOfTurns(t *testing.T) {
	var x tally
	if x.perRun() != 0 {
		t.Error("what did not run has a price")
	}
	for _, ns := range []time.Duration{100, 110, 9000, 90} {
		x.add(1000, 1000*ns, .5)
	}
	x.add(0, 0, .5)
	if got := x.perRun(); got != 105 || x.runs != 4000 || x.seconds != 2.5 {
		t.Errorf("%v ns, %d runs, %v s", got, x.runs, x.seconds)
	}
}
