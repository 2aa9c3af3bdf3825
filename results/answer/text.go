// SPDX-License-Identifier: MIT

package answer

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// Text writes an answer for a terminal: a heading per section, a sentence an item. Of none it
// writes nothing.
func Text(w io.Writer, a *Answer) error {
	b := bufio.NewWriter(w)
	for _, s := range Sections {
		sentences := a.In(s.Section)
		if len(sentences) == 0 {
			continue
		}
		fmt.Fprintln(b, s.Heading)
		for i := range sentences {
			b.WriteString(plaintext.Wrap("  - ", "    ", plaintext.Line(sentences[i].Text+cites(&sentences[i]))))
		}
	}
	return b.Flush()
}

// Stops lists the numbers of the reasons that support a sentence, as a summary cites them.
func (s *Sentence) Stops() (numbers []int) {
	seen := map[int]bool{}
	for _, v := range s.StandsOn {
		if v.Stop > 0 && !seen[v.Stop] {
			seen[v.Stop] = true
			numbers = append(numbers, v.Stop)
		}
	}
	return numbers
}

func cites(s *Sentence) string {
	numbers := s.Stops()
	if numbers == nil {
		return ""
	}
	more := ""
	if len(numbers) > most {
		numbers, more = numbers[:most], " ..."
	}
	return " " + strings.TrimSuffix(fmt.Sprint(numbers), "]") + more + "]"
}
