// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
)

// confounded names what a plan changes beside the factors that it names: an option that is left
// out takes its value from another one, and changes with it. What a comparison then shows is
// of both.
func confounded(s *matrix.Spec) (notes []string) {
	differ := func(of func(plan.Cell) (string, bool)) bool {
		first, seen := "", false
		return slices.ContainsFunc(s.Cells, func(c plan.Cell) bool {
			v, open := of(c)
			if !open {
				return false
			}
			if !seen {
				first, seen = v, true
			}
			return v != first
		})
	}
	if differ(func(c plan.Cell) (string, bool) {
		m, err := modes.Find(stream.RX, c.RX)
		return fmt.Sprint(c.MessageBytes), err == nil && m.Has(stream.Buffered) && c.RXBuffer == 0
	}) {
		notes = append(notes, "message also changes the receiver's buffer, which is as long as a message: to "+
			"keep it, set rx_buffer, such as hot or cold")
	}
	if differ(func(c plan.Cell) (string, bool) { return c.CPULayout, c.TGCPULayout == "" }) {
		notes = append(notes, "cpu_layout also changes the sender's CPUs: to keep them, set tg_cpu_layout")
	}
	return notes
}
