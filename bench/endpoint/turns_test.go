// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// All cores of a run in turns are of its duration, so that a CPU that is full in its turns looks
// so; load of others is of the time in which it was looked for.
func TestScale(t *testing.T) {
	h := results.Host{DurationS: new(.8), CPUBusyCores: new(.8), IOWaitCores: new(.4), CPUPollerCores: new(.2),
		Flows: []results.Flow{{ThreadCores: new(.8)}},
		Metrics: []measure.Metric{{Name: "cpu1_busy_cores", Unit: "cores", Value: .8},
			{Name: "foreign_cpu1_low_cores", Unit: "cores", Value: .1}, {Name: "flow_calls", Unit: "1", Value: 7}}}
	new(turnReader).scale(&h, 1)
	for i, x := range []struct{ got, want float64 }{{*h.CPUBusyCores, 1}, {*h.IOWaitCores, .5},
		{*h.CPUPollerCores, .25},
		{*h.Flows[0].ThreadCores, 1}, {h.Metrics[0].Value, 1}, {h.Metrics[1].Value, .1}, {h.Metrics[2].Value, 7}} {
		if d := x.got - x.want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%d: %v, want %v", i, x.got, x.want)
		}
	}
}
