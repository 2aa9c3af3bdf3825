// SPDX-License-Identifier: MIT

package results

import (
	"math"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
)

func TestUntoldPercent(t *testing.T) {
	untold := []measure.Metric{{Name: measure.MetricUntold, Value: 30}}
	for _, x := range []struct {
		h    Host
		want float64
	}{
		{Host{}, math.NaN()}, {Host{TotalBytes: new(uint64(0)), Metrics: untold}, math.NaN()},
		{Host{TotalBytes: new(uint64(40))}, math.NaN()},
		{Host{TotalBytes: new(uint64(40)), Metrics: untold}, 75},
	} {
		if got := x.h.UntoldPercent(); got != x.want && !(math.IsNaN(got) && math.IsNaN(x.want)) {
			t.Errorf("%+v: %v, want %v", x.h, got, x.want)
		}
	}
}
