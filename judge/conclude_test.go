// SPDX-License-Identifier: MIT

package judge

import (
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A run of several flows that were measured tells among its metrics how even they were, another
// does not.
func TestConcludeSpread(t *testing.T) {
	for _, x := range []struct {
		gbps []float64
		want int
	}{{[]float64{30, 10, 20, 40}, 4}, {[]float64{7}, 0}, {nil, 0}, {[]float64{0, 0}, 0}} {
		r := results.Record{Cell: plan.Cell{Flows: len(x.gbps)}}
		for _, v := range x.gbps {
			r.SUT.Flows = append(r.SUT.Flows, results.Flow{ThroughputGbps: new(v)})
		}
		if Conclude(&r); len(r.SUT.Metrics) != x.want {
			t.Errorf("%v: %+v", x.gbps, r.SUT.Metrics)
		}
	}
}
