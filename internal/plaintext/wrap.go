// SPDX-License-Identifier: MIT

package plaintext

import (
	"strings"
	"unicode/utf8"
)

// Width is how many columns lines of words keep to, unless a word is too long.
const Width = 80

// Wrap breaks text between words into lines of at most [Width] columns, each ended by a line feed.
// The first begins with first, the others with rest.
func Wrap(first, rest, text string) string { return WrapTo(Width, first, rest, text) }

// WrapTo is [Wrap] for lines of at most width columns.
func WrapTo(width int, first, rest, text string) string {
	var b strings.Builder
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return b.String() + line + "\n"
}
