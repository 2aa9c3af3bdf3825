// SPDX-License-Identifier: MIT

package wire

import (
	"github.com/zcbench/zcbench/internal/elements"
)

// mostRead is how many elements the lists of an answer may have together. Each costs two bytes to
// send, and a hundred to keep. The points of series are bounded by the length of an answer.
const mostRead = 1 << 18

// checkItems refuses an answer, which is JSON, whose lists would fill the memory of
// who decodes it.
func checkItems(b []byte) error {
	_, err := elements.Count(b, elements.Bounds{Elements: mostRead, Points: MaxLine})
	return err
}
