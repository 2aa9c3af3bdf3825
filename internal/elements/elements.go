// SPDX-License-Identifier: MIT

// Package elements bounds what a text in JSON becomes in memory: the elements of its lists, each of
// which may cost two bytes to send and hundreds to keep. Whoever decodes what somebody else wrote
// counts them first.
package elements

import (
	"bytes"
	"fmt"
)

// Bounds are of the lists of a text, all together.
type Bounds struct {
	Elements int // but points; a list is one itself
	Points   int // of time series: numbers in lists by the names t_ns and v
}

// tooManyError is a text that nobody may decode.
type tooManyError struct {
	Points bool
	Most   int
}

func (e *tooManyError) Error() string {
	if e.Points {
		return fmt.Sprintf("series of more than %d points", e.Most)
	}
	return fmt.Sprintf("lists of more than %d elements", e.Most)
}

// Count counts what is in the lists of a text, and stops with a *[tooManyError] as soon as there is
// more than there may be. Text that is no JSON has some number, which no decoder gets to see.
func Count(b []byte, most Bounds) (has Bounds, err error) {
	const object, list, points = '{', '[', 'p'
	within := []byte{object} // of each that is open
	var word []byte          // the last string
	n, p := 0, 0
	for i := 0; i < len(b); i++ {
		top := within[len(within)-1]
		switch b[i] {
		case '"':
			from := i + 1
			i = end(b, from)
			word = b[from:min(i, len(b))]
		case object:
			within = append(within, object)
		case list:
			if name := string(word); top == object && (name == "t_ns" || name == "v") {
				within = append(within, points)
				p++
				continue
			}
			within = append(within, list)
			n++
		case '}', ']':
			if len(within) > 1 {
				within = within[:len(within)-1]
			}
		case ',':
			switch top {
			case list:
				n++
			case points:
				p++
			}
		}
		if n > most.Elements {
			return Bounds{n, p}, &tooManyError{Most: most.Elements}
		}
		if p > most.Points {
			return Bounds{n, p}, &tooManyError{Points: true, Most: most.Points}
		}
	}
	return Bounds{n, p}, nil
}

// end finds where a string ends that begins at from: the place of its quote, or behind the text.
func end(b []byte, from int) int {
	for at := from; ; {
		k := bytes.IndexByte(b[at:], '"')
		if k < 0 {
			return len(b)
		}
		quote, slashes := at+k, 0
		for i := quote - 1; i >= at && b[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			return quote
		}
		at = quote + 1
	}
}
