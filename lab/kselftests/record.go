// SPDX-License-Identifier: MIT

package kselftests

import (
	"fmt"
	"strings"
)

// Record writes the tests' results in the form of what is on record, for somebody to look at. The
// reasons are those on record, or else what the test said.
func Record(release string, all []Judged) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What the kernel's test cases say about the soft NIC on Linux %s (see expect.go).\n",
		series(release))
	test := ""
	for _, j := range all {
		if j.Test != test {
			test = j.Test
			fmt.Fprintln(&b, test)
		}
		outcome := j.Outcome
		if j.Flips {
			outcome = flips
		}
		fmt.Fprintf(&b, "  %s %s", outcome, plain(j.Name))
		if outcome != pass {
			reason := plain(j.Reason)
			if j.Known && j.Wrong == "" {
				reason = j.Because
			}
			if reason == "" {
				reason = "no output"
			}
			fmt.Fprintf(&b, " | %s", reason)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}
