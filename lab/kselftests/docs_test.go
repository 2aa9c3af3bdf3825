// SPDX-License-Identifier: MIT

package kselftests

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

var update = flag.Bool("update", false, "write the table of docs/softnic.md")

// The table of docs/softnic.md is what is on record.
func TestDocs(t *testing.T) {
	const path, begin, end = "../../docs/softnic.md",
		"<!-- selftests: by go test ./lab/kselftests -run Docs -update -->\n",
		"<!-- end of selftests -->"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table, err := doc()
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table between %q and %q", path, begin, end)
	}
	want := head + begin + table + end + tail
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date: go test ./lab/kselftests -run Docs -update", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Hundreds of cases fit a line of the table, and it can be told which they are.
func TestCaseNames(t *testing.T) {
	t.Parallel()
	both := []string{"7.2", "7.3"}
	for _, tc := range []struct {
		on   map[string][]string
		of   int
		want string
	}{
		{map[string][]string{"a": both, "b_c": both}, 3, "`a`, `b_c`"},
		{map[string][]string{"a": both, "b": both}, 2, "all 2"},
		{map[string][]string{"a": both}, 1, "`a`"},
		{map[string][]string{"a": both, "b": {"7.3"}}, 2, "`a`, `b` (7.3)"},
		{map[string][]string{"t.hw_v4_x": both, "t.hw_v4_y": both, "t.hw_v6_x": both}, 9, "3 `t.hw_*`"},
		{map[string][]string{"t.hw_v4_x": both, "u.v4": both, "u.v6": both}, 9, "`t.hw_v4_x`, 2 `u.*`"},
		{map[string][]string{"a_1": both, "a_2": both, "a_3": both, "a_4": both, "a_5": both, "a_6": both}, 9,
			"6 `a_*`"},
		{map[string][]string{"a": both, "b": both, "c": both, "d": both, "e": both, "f": both}, 9, "6 such as `a`"},
		{map[string][]string{"t.a": both, "t.b": {"7.2"}, "t.c": {"7.2"}}, 9, "`t.a`, 2 `t.*` (7.2)"},
	} {
		if got := caseNames(tc.on, both, tc.of); got != tc.want {
			t.Errorf("%v of %d: %s, want %s", tc.on, tc.of, got, tc.want)
		}
	}
}
