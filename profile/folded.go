// SPDX-License-Identifier: MIT

package profile

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Folded writes a line for each stack that was not idle: its functions from the outermost in,
// with semicolons between, and how many samples it was. Programs that draw flame graphs read it.
func (p *Profile) Folded(w io.Writer) error {
	counts := map[string]uint64{}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		if s.Where == Idle {
			continue
		}
		parts := []string{foldable(s.root())}
		for _, f := range slices.Backward(s.Frames) {
			name := foldable(f.String())
			if f.Kernel {
				name += "_[k]" // what flamegraph.pl gives kernel functions a colour of their own by
			}
			parts = append(parts, name)
		}
		counts[strings.Join(parts, ";")] += s.Count
	}
	lines := make([]string, 0, len(counts))
	for l := range counts {
		lines = append(lines, l)
	}
	slices.Sort(lines)
	b := bufio.NewWriter(w)
	for _, l := range lines {
		fmt.Fprintf(b, "%s %d\n", l, counts[l])
	}
	return b.Flush()
}

// foldable replaces what the form has a meaning for in a name.
func foldable(name string) string {
	return strings.NewReplacer(";", ":", " ", "_", "\n", "_").Replace(name)
}
