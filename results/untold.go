// SPDX-License-Identifier: MIT

package results

import (
	"math"

	"github.com/zcbench/zcbench/machine/measure"
)

// UntoldPercent computes the share of such payload; NaN if nobody looked.
func (h *Host) UntoldPercent() float64 {
	if h.TotalBytes == nil || *h.TotalBytes == 0 {
		return math.NaN()
	}
	return 100 * h.Value(measure.MetricUntold) / float64(*h.TotalBytes)
}
