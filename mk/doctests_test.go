// SPDX-License-Identifier: MIT

package mk

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named matches the name of a test in a page or script: what stands after -run, or in a script, is
// a pattern, that is its beginning, as with three dots behind it; with a $ it is whole.
var named = regexp.MustCompile("(-run +['\"^]*)?\\b((?:Test|Fuzz)[A-Z][A-Za-z0-9_]*)(\\.\\.\\.)?(\\$)?")

// testNames are the names of all tests and fuzz targets, each on a line of its own.
func testNames(t *testing.T) string {
	t.Helper()
	all := new(strings.Builder)
	all.WriteByte('\n')
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	must(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "out"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(b, -1) {
			all.WriteString(string(m[1]) + "\n")
		}
		return err
	}))
	return all.String()
}

// Tests that a page or a script of a long run names are there.
func TestNamedTestsAreThere(t *testing.T) {
	all := testNames(t)
	pages, err := filepath.Glob("../docs/*.md")
	must(t, err)
	n := 0
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md", "imitated.sh", "real.sh",
		"lab.mk") {
		b, err := os.ReadFile(page)
		must(t, err)
		for _, m := range named.FindAllStringSubmatch(string(b), -1) {
			n++
			end := "\n"
			if m[4] == "" && (m[1] != "" || m[3] != "" || strings.HasSuffix(page, ".sh")) {
				end = ""
			}
			if !strings.Contains(all, "\n"+m[2]+end) {
				t.Errorf("%s names %s, which is not there", page, m[2])
			}
		}
	}
	if n < 200 {
		t.Errorf("%d names: the form of the pages is another one", n)
	}
}

// The check above finds names that are not there.
func TestNamedTests(t *testing.T) {
	for text, want := range map[string][4]string{
		"see `machine/nic.TestCalled`, and":   {"", "TestCalled", "", ""},
		"`TestLabImitated...` run":            {"", "TestLabImitated", "...", ""},
		"go test -run TestLabQEMU ./machine":  {"-run ", "TestLabQEMU", "", ""},
		"go test -run '^TestGolden' -update":  {"-run '^", "TestGolden", "", ""},
		"tests+='|^TestLabKilled$|^TestLab":   {"", "TestLabKilled", "", "$"},
		"a Testament, TESTS and RunTests are": {},
	} {
		var got [4]string
		if m := named.FindStringSubmatch(text); m != nil {
			got = [4]string(m[1:])
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
