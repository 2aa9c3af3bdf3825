// SPDX-License-Identifier: MIT

package mk

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// The drivers that the soft NIC imitates are the same in the module, in the flag, in the
// tests of a long run, and in docs/lab.md.
func TestImitatedEverywhere(t *testing.T) {
	names := func(path, list, name string) (all []string) {
		t.Helper()
		b, err := os.ReadFile(path)
		must(t, err)
		m := regexp.MustCompile(list).FindSubmatch(b)
		if m == nil {
			t.Fatalf("%s has no %s", path, list)
		}
		for _, n := range regexp.MustCompile(name).FindAllSubmatch(m[1], -1) {
			all = append(all, string(n[1]))
		}
		slices.Sort(all)
		return all
	}
	want := names("../lab/softnic/imitate.c", `(?s)models\[\] = \{(.*?)\};`, `"([\w-]+)"`)
	if len(want) < 3 {
		t.Fatalf("only %v", want)
	}
	for path, got := range map[string][]string{
		"lab/options.go": names("../lab/options.go", `Imitated = \[\]string\{(.*)\}`, `"([\w-]+)"`),
		"mk/lane.sh":     names("lane.sh", `(?m)^\t\*\) echo (mlx.*fbnic.*) ;;$`, `([\w-]+)`),
		"docs/lab.md":    names("../docs/lab.md", "(?s)\n\\| imitated \\|[^\n]*\n[^\n]*\n(.*?)\n\n", "(?m)^\\| `([\\w-]+)`"),
	} {
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, the module %v", path, got, want)
		}
	}
}
