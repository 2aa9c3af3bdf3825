// SPDX-License-Identifier: MIT

package survey

import (
	"path"
	"strings"
	"testing"
)

// A path is of a pattern as package path says, also where it begins like it.
func TestFits(t *testing.T) {
	fit := 0
	for _, p := range append(leftOut, "", "*", "a[bc]/x", "a?c", `a\*`) {
		as := strings.NewReplacer("*", "eth0", "[46]", "4", "[bc]", "c", "?", "b", `\`, "").Replace(p)
		for _, at := range []string{p, as, as + "/x", as + "x", strings.TrimSuffix(as, "h0"), strings.ToUpper(as), "x" + as, ""} {
			want, err := path.Match(p, at)
			if err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			if got := fits(p, at); got != want {
				t.Errorf("%q is of %q: %v, want %v", at, p, got, want)
			}
			if want {
				fit++
			}
		}
	}
	if fit < len(leftOut) {
		t.Errorf("%d of %d patterns have a path", fit, len(leftOut))
	}
}
