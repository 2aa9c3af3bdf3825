// SPDX-License-Identifier: MIT

package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// RunsAfterPilot computes how many runs the interval of the median needs to end within the share of
// it on both sides (0.01 = 1 %), by the spread of a pilot; 0 if that says nothing. The number is
// even. It allows for a pilot that underrates the spread as Stein did (1945), by the t distribution
// of the pilot; a median has pi/2 of a mean's variance.
func RunsAfterPilot(pilot []float64, share float64) int {
	n := len(pilot)
	if n < 2 || share <= 0 {
		return 0
	}
	var logs []float64
	for _, v := range pilot {
		if !(v > 0) {
			return 0
		}
		logs = append(logs, math.Log(v))
	}
	t := quantileT(stats.TDist{V: float64(n - 1)}, 1-(1-confidence)/2)
	half := t * deviation(logs) * math.Sqrt(math.Pi/2) / share
	need := int(math.Ceil(min(half*half, 1e6)))
	return need + need%2
}
