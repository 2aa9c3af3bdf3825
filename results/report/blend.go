// SPDX-License-Identifier: MIT

package report

import (
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

// decimal is a figure in a message. Whole numbers are left alone: they name
// CPUs, queues and flow positions.
var decimal = lazy.Regexp(`\d+\.\d+`)

// mask is a message without its figures: messages with equal masks say the same
// of different runs.
func mask(text string) string { return decimal().ReplaceAllString(text, "#") }

// blend is one message for many that differ only in their figures, each of
// which becomes a range: "foreign load 0.12..0.31 cores on CPU 1".
type blend struct {
	words  []string // around the figures
	lo, hi []string // as they were written
}

func newBlend(text string) *blend {
	figures := decimal().FindAllString(text, -1)
	return &blend{words: decimal().Split(text, -1), lo: figures, hi: append([]string(nil), figures...)}
}

// add widens the ranges by a message with the same mask.
func (b *blend) add(text string) {
	for i, f := range decimal().FindAllString(text, -1) {
		if figure(f) < figure(b.lo[i]) {
			b.lo[i] = f
		}
		if figure(f) > figure(b.hi[i]) {
			b.hi[i] = f
		}
	}
}

func figure(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64) // matched decimal
	return f
}

func (b *blend) String() string {
	var s strings.Builder
	for i, w := range b.words {
		s.WriteString(w)
		if i == len(b.lo) {
			break
		}
		s.WriteString(b.lo[i])
		if figure(b.hi[i]) > figure(b.lo[i]) {
			s.WriteString(".." + b.hi[i])
		}
	}
	return s.String()
}
