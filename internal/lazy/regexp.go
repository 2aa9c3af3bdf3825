// SPDX-License-Identifier: MIT

// Package lazy makes at their first use things that most processes never use: agents
// and commands in the lab start by the hundred, emulated, and each paid for all.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp puts regexp.MustCompile off until the first call.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
