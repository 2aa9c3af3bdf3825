// SPDX-License-Identifier: MIT

package results

import (
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// Of several runs most decide.
func TestSlackOf(t *testing.T) {
	run := func(busy float64) *Record {
		return &Record{Cell: plan.Cell{RX: "udp", TX: "udp"}, SUT: Host{PacketsPerS: new(1e6), CPUBusyCores: &busy}}
	}
	for want, runs := range map[Slack][]*Record{"": {run(1), run(1), run(.5)}, SlackIdle: {run(1), run(.4), run(.5)}} {
		if got := SlackOf(runs); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := SlackOf(nil); got != "" {
		t.Errorf("of no runs: %q", got)
	}
}
