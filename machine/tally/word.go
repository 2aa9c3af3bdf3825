// SPDX-License-Identifier: MIT

package tally

import "strings"

// mostWord is how long a word of a metric's name may be. A driver's names have 32 bytes.
const mostWord = 64

// word makes a name from elsewhere part of a metric's name: lower-case letters and digits, and an
// underscore for whatever stands between them.
func word(name string) string {
	var b strings.Builder
	gap := false
	for _, c := range []byte(name) {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		default:
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		if b.WriteByte(c); b.Len() >= mostWord {
			break
		}
	}
	if b.Len() == 0 {
		return "unnamed"
	}
	return b.String()
}

// unitOf derives the unit of a driver's counter, as far as its name says.
func unitOf(word string) string {
	for _, part := range strings.Split(word, "_") {
		switch part {
		case "bytes", "octets":
			return "bytes"
		case "packets", "pkts", "frames":
			return "packets"
		case "ns", "nsec":
			return "ns"
		}
	}
	return "1"
}
