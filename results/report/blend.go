// SPDX-License-Identifier: MIT

package report

import (
	"strconv"
	"strings"
)

// nextDecimal finds the first figure in a message from a place on, such as 0.26; from is the
// message's length where there is none. Whole numbers are left alone, but for shares: they name
// CPUs, queues and flow positions. Reports look at every warning of every run: what a regular
// expression takes would be a tenth of their time.
func nextDecimal(text string, at int) (from, to int) {
	for i := at; i < len(text); i++ {
		if !isDigit(text, i) {
			continue
		}
		from = i
		for isDigit(text, i) {
			i++
		}
		if strings.HasPrefix(text[i:], " %") {
			return from, i
		}
		if i >= len(text) || text[i] != '.' || !isDigit(text, i+1) {
			continue // i is at no digit
		}
		for i++; isDigit(text, i); {
			i++
		}
		return from, i
	}
	return len(text), len(text)
}

func isDigit(s string, i int) bool { return i < len(s) && '0' <= s[i] && s[i] <= '9' }

// mask strips the figures from a message: messages with equal masks say the same of different runs.
func mask(text string) string {
	from, to := nextDecimal(text, 0)
	if from == len(text) {
		return text
	}
	out := make([]byte, 0, len(text))
	for at := 0; ; {
		out = append(out, text[at:from]...)
		if from == len(text) {
			return string(out)
		}
		out, at = append(out, '#'), to
		from, to = nextDecimal(text, at)
	}
}

// blend is one message for many that differ only in their figures, each of
// which becomes a range: "foreign load 0.12..0.31 cores on CPU 1".
type blend struct {
	words  []string // around the figures
	lo, hi []figure
}

// figure is a number as it was written.
type figure struct {
	text  string
	value float64
}

func figureOf(s string) figure {
	v, _ := strconv.ParseFloat(s, 64) // it is a decimal
	return figure{s, v}
}

func newBlend(text string) *blend {
	b := &blend{}
	for at := 0; ; {
		from, to := nextDecimal(text, at)
		b.words = append(b.words, text[at:from])
		if from == len(text) {
			b.hi = append([]figure(nil), b.lo...)
			return b
		}
		b.lo, at = append(b.lo, figureOf(text[from:to])), to
	}
}

// add widens the ranges by a message with the same mask.
func (b *blend) add(text string) {
	at := 0
	for i := range b.lo {
		from, to := nextDecimal(text, at)
		f := figureOf(text[from:to])
		if at = to; f.value < b.lo[i].value {
			b.lo[i] = f
		}
		if f.value > b.hi[i].value {
			b.hi[i] = f
		}
	}
}

func (b *blend) String() string {
	var s strings.Builder
	for i, w := range b.words {
		s.WriteString(w)
		if i == len(b.lo) {
			break
		}
		s.WriteString(b.lo[i].text)
		if b.hi[i].value > b.lo[i].value {
			s.WriteString(".." + b.hi[i].text)
		}
	}
	return s.String()
}
