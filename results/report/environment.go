// SPDX-License-Identifier: MIT

package report

import (
	"bufio"
	"fmt"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// writeEnvironment writes in what the hosts differed between cells.
func writeEnvironment(b *bufio.Writer, s *Summary) {
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
