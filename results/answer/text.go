// SPDX-License-Identifier: MIT

package answer

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// Width is how many columns the text of an answer keeps to.
const Width = 80

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
			wrap(b, plaintext.Line(sentences[i].Text+cites(&sentences[i])))
		}
	}
	return b.Flush()
}

// Stops are the numbers of the reasons that a sentence stands on, as a summary cites them.
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

// wrap writes an item in lines of at most Width columns where its words allow it.
func wrap(b *bufio.Writer, text string) {
	line, empty := "  - ", true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > Width {
			b.WriteString(line + "\n")
			line, empty = "    ", true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	b.WriteString(line + "\n")
}
