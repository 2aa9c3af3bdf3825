// SPDX-License-Identifier: MIT

package cmdline

import (
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

var plainWord = lazy.Regexp(`^[A-Za-z0-9_./:=@%+-]+$`)

// Word quotes a text as one word of a shell. Commands that a user is told to give name files whose
// names somebody else may have chosen.
func Word(text string) string {
	if plainWord().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
