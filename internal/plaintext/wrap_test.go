// SPDX-License-Identifier: MIT

package plaintext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWrap(t *testing.T) {
	for _, x := range []struct{ first, rest, text, want string }{
		{"- ", "  ", "", "- \n"},
		{"- ", "  ", "one  two\nthree", "- one two three\n"},
		{"- ", "  ", strings.Repeat("é", 40) + " " + strings.Repeat("é", 37) + " x",
			"- " + strings.Repeat("é", 40) + " " + strings.Repeat("é", 37) + "\n  x\n"},
		{"", "", "a " + strings.Repeat("y", 100) + " b", "a\n" + strings.Repeat("y", 100) + "\nb\n"},
	} {
		got := Wrap(x.first, x.rest, x.text)
		if got != x.want {
			t.Errorf("%q: %q, want %q", x.text, got, x.want)
		}
	}
	for line := range strings.Lines(Wrap("", "    ", strings.Repeat("word ", 200))) {
		if n := utf8.RuneCountInString(line) - 1; n > Width || n < Width-4-5 && !strings.HasSuffix(line, "word\n") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}
