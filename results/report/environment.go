// SPDX-License-Identifier: MIT

package report

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
)

// writeEnvironment writes in what the hosts differed between cells.
func writeEnvironment(b *screen.Writer, s *Summary) {
	if len(s.Environment) == 0 {
		return
	}
	b.WriteString("\nthe hosts differed between cells\n")
	for i, l := range s.Environment {
		if i == maxNotes {
			fmt.Fprintf(b, "  ... and in %s: see the HTML report\n", plural(len(s.Environment)-i, "more fact"))
			break
		}
		wrap(b, "  - ", "    ", plaintext.Line(l))
	}
}
