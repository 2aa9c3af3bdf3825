// SPDX-License-Identifier: MIT

package results

import "math"

// MetricUntold is payload of the whole flow of which the kernel does not tell whether it was copied
// (package uringzc).
const MetricUntold = "uring_zc_untold_bytes"

// UntoldPercent computes the share of such payload; NaN if nobody looked.
func (h *Host) UntoldPercent() float64 {
	if h.TotalBytes == nil || *h.TotalBytes == 0 {
		return math.NaN()
	}
	return 100 * h.value(MetricUntold) / float64(*h.TotalBytes)
}
