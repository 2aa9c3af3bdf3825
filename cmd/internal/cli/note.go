// SPDX-License-Identifier: MIT

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// NoteTo writes what is worth knowing and no error: "note: ", or "warning: " where the words begin
// so themselves. On a terminal lines fit it; elsewhere each note is one, for who searches them.
func NoteTo(w io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) {
		text, first := fmt.Sprintf(format, args...), "note: "
		if strings.HasPrefix(text, "warning: ") {
			first = ""
		}
		if Terminal(w) == nil {
			fmt.Fprintf(w, "%s%s\n", first, strings.TrimSuffix(text, "\n"))
			return
		}
		io.WriteString(w, plaintext.Wrap(first, "  ", text))
	}
}
