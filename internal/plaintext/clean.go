// SPDX-License-Identifier: MIT

package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// obeyed are the characters that are no text: controls (C0, DEL and C1, which are
// escape sequences of one character), format characters (the order of writing, what has
// no width, tags), separators that are line breaks to some, and those that mean
// something to one terminal only.
var obeyed = []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co}

// Safe reports whether a terminal shows the character c, instead of obeying it. Line
// feed and tab count as shown.
func Safe(c rune) bool {
	switch {
	case c == '\n' || c == '\t':
		return true
	case c < utf8.RuneSelf:
		return c >= ' ' && c != 0x7f
	}
	return !unicode.In(c, obeyed...)
}

// IsASCII reports whether s is printable ASCII, as nearly all texts are.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Clean returns s with every character that is not [Safe] as \u001b, and every byte that
// is no UTF-8 as \x9b: to a terminal of one byte a character, that is an escape sequence.
func Clean(s string) string {
	at := 0
	for at < len(s) {
		c, n := utf8.DecodeRuneInString(s[at:])
		if !shown(c, n) {
			break
		}
		at += n
	}
	if at == len(s) {
		return s
	}
	return string(appendClean(append(make([]byte, 0, len(s)+16), s[:at]...), s[at:]))
}

// Line does what [Clean] does for a text that must stay on a line: line feed and tab become spaces.
func Line(s string) string { return Clean(breaks.Replace(s)) }

var breaks = strings.NewReplacer("\n", " ", "\t", " ")

// shown reports whether the character c of n bytes stays as it is.
func shown(c rune, n int) bool { return Safe(c) && !(c == utf8.RuneError && n == 1) }

func appendClean[T string | []byte](to []byte, s T) []byte {
	for at := 0; at < len(s); {
		c, n := decode(s[at:])
		switch {
		case shown(c, n):
			to = append(to, s[at:at+n]...)
		case c == utf8.RuneError:
			to = fmt.Appendf(to, `\x%02x`, s[at])
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			to = fmt.Appendf(to, `\u%04x\u%04x`, high, low)
		default:
			to = fmt.Appendf(to, `\u%04x`, c)
		}
		at += n
	}
	return to
}

func decode[T string | []byte](s T) (rune, int) {
	if len(s) > utf8.UTFMax {
		s = s[:utf8.UTFMax]
	}
	return utf8.DecodeRuneInString(string(s))
}
