// SPDX-License-Identifier: MIT

package kselftests

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/lab.md")

// The table of docs/lab.md is what is on record.
func TestDocs(t *testing.T) {
	const path, begin, end = "../../docs/lab.md", "<!-- selftests: by go test ./lab/kselftests -run Docs -update -->\n", "<!-- end of selftests -->"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table, err := Doc()
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
