// SPDX-License-Identifier: MIT

package mk

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Tests that pages name are there: who doubts a figure looks its test up. A name may be the
// beginning of several.
func TestNamedTestsAreThere(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	var all []string
	for _, f := range tracked(t, regexp.MustCompile(`_test\.go$`)) {
		for _, m := range declared.FindAllStringSubmatch(f.text, -1) {
			all = append(all, m[1])
		}
	}
	named, n := regexp.MustCompile(`\bTest[A-Z]\w*`), 0
	for _, f := range tracked(t, regexp.MustCompile(`\.md$`)) {
		for _, name := range named.FindAllString(f.text, -1) {
			n++
			if !slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, name) }) {
				t.Errorf("%s names %s, and no test is called so", f.path, name)
			}
		}
	}
	if n < 20 {
		t.Errorf("pages name %d tests: this test looks at nothing", n)
	}
}
