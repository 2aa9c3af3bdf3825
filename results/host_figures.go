// SPDX-License-Identifier: MIT

package results

import (
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
)

// HostFigures are a host's metrics by their names, with those that were read and did not move.
type HostFigures struct {
	rows map[string]*measure.Metric
	idle []string // folded
}

// Figures indexes the host's figures by name. A journal that was read without metrics has none.
func (h *Host) Figures() *HostFigures {
	f := &HostFigures{rows: make(map[string]*measure.Metric, len(h.Metrics)), idle: h.Idle}
	for i := range h.Metrics {
		f.rows[h.Metrics[i].Named()] = &h.Metrics[i]
	}
	return f
}

// Get looks up a figure; nil: it was not measured. One that was read and did not move is 0.
func (f *HostFigures) Get(name string) *measure.Metric {
	if m := f.rows[name]; m != nil {
		return m
	}
	if f.still(func(folded string) bool { return folded == name || inFolded(folded, name) }) {
		return &measure.Metric{Name: name}
	}
	return nil
}

// Sum adds up the figures whose names have a number between before and after, such as those of all
// CPUs; nil: there are none.
func (f *HostFigures) Sum(before, after string) *float64 {
	sum, found := 0.0, false
	for name, m := range f.rows {
		if numbered(name, before, after) {
			sum, found = sum+m.Value, true
		}
	}
	if found || f.still(func(folded string) bool {
		return numbered(folded, before, after) || strings.HasPrefix(folded, before+"[") &&
			strings.HasSuffix(folded, "]"+after)
	}) {
		return &sum
	}
	return nil
}

// Words collects what stands between before and after in the names of figures, each once.
func (f *HostFigures) Words(before, after string) (words []string) {
	for name := range f.rows {
		if w, ok := strings.CutPrefix(name, before); ok {
			if w, ok = strings.CutSuffix(w, after); ok && w != "" {
				words = append(words, w)
			}
		}
	}
	return words
}

func (f *HostFigures) still(is func(folded string) bool) bool {
	for _, name := range f.idle {
		if is(name) {
			return true
		}
	}
	return false
}

// numbered reports whether a name is a number between before and after.
func numbered(name, before, after string) bool {
	n, ok := strings.CutPrefix(name, before)
	if !ok {
		return false
	}
	n, ok = strings.CutSuffix(n, after)
	return ok && n != "" && strings.IndexFunc(n, func(c rune) bool { return !isDigit(c) }) < 0
}

// inFolded reports whether a folded name stands for name, among others.
func inFolded(folded, name string) bool {
	k, n, ok := cutNumber(name)
	if !ok {
		return false
	}
	in, ok := strings.CutPrefix(folded, k.before+"[")
	if !ok {
		return false
	}
	in, ok = strings.CutSuffix(in, "]"+k.after)
	return ok && inRanges(in, n)
}
