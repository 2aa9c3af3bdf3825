// SPDX-License-Identifier: MIT

package cli

import (
	"bytes"
	"strings"
	"testing"
)

// A note differs from an error; where no terminal shows it, it is one line.
func TestNoteTo(t *testing.T) {
	const long = "1 comparison by rx, 6 runs of each cell: the smallest possible corrected p is 0.0093; a " +
		"difference of 2.6 % is found with a chance of 80 % if runs vary by 1 % (CV), one of 5.2 % if by 2 %"
	for first, text := range map[string]string{"note: 1 comparison": long, "warning: 1 comparison": "warning: " + long,
		"note: short\n": "short"} {
		var b bytes.Buffer
		NoteTo(&b)("%s", text)
		if !strings.HasPrefix(b.String(), first) || !strings.HasSuffix(b.String(), "\n") {
			t.Errorf("%q: %q", text, b.String())
		}
		if n := strings.Count(b.String(), "\n"); n != 1 {
			t.Errorf("%q has %d lines", b.String(), n)
		}
	}
}
