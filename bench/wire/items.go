// SPDX-License-Identifier: MIT

package wire

import "fmt"

// mostRead is how many elements the lists of an answer may have together, the
// points of series aside. Each costs two bytes to send, and a hundred to keep.
const mostRead = 1 << 18

// checkItems refuses an answer, which is JSON, whose lists would fill the memory of
// who decodes it.
func checkItems(b []byte) error {
	const object, list, points = '{', '[', 'p'
	within := []byte{object} // of each that is open
	var word []byte          // the last string
	n := 0
	for i := 0; i < len(b); i++ {
		top := within[len(within)-1]
		switch b[i] {
		case '"':
			from := i + 1
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			word = b[from:min(i, len(b))]
		case object:
			within = append(within, object)
		case list:
			if name := string(word); top == object && (name == "t_ns" || name == "v") {
				within = append(within, points)
				continue
			}
			within = append(within, list)
			n++
		case '}', ']':
			if len(within) > 1 {
				within = within[:len(within)-1]
			}
		case ',':
			if top == list {
				n++
			}
		}
		if n > mostRead {
			return fmt.Errorf("lists of more than %d elements", mostRead)
		}
	}
	return nil
}
