// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/results"
)

// slack flags a run with slack, and says what it is.
func slack(r *results.Record) {
	s := r.Slack()
	if s == "" || slices.Contains(r.Flags, results.FlagUnsaturated) || !(*r.SUT.PacketsPerS > 0) {
		return
	}
	used, _ := r.Received()
	why := map[results.Slack]string{results.SlackSender: "the sender was slower than the receiver",
		results.SlackIdle:   "what received had time left",
		results.SlackShared: "what received shared its CPU with others"}[s]
	if used != nil {
		why += fmt.Sprintf(" (%.2f cores used)", *used-r.SUT.Spun())
	}
	r.Mark(results.FlagUnsaturated, fmt.Sprintf("1/packets_per_s, %.1f ns, is not what a packet costs: %s: %s",
		1e9 / *r.SUT.PacketsPerS, s, why))
}
