// SPDX-License-Identifier: MIT

package report

import "github.com/zcbench/zcbench/results"

// worded adds its meaning to a flag that comes without a warning, and leaves any other text as it
// is.
func worded(text string) string {
	if m := results.MarkOf(text); m != nil && m.Alone {
		return text + ": " + m.Means
	}
	return text
}
