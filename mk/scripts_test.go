// SPDX-License-Identifier: MIT

package mk

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// concurrent is what starts goroutines, or says that there are some.
var concurrent = regexp.MustCompile(`(?m)^\s*go [\w.\[\]]+\(|\.Go\(|AfterFunc\(|\.(Run)?Parallel\(|\.Gather\(|` +
	`sync\.(RW)?Mutex|\batomic\.|\bReadFigures`)

// What has no race detector in make test, because it has no goroutines, has none.
func TestSequentialPackagesAre(t *testing.T) {
	for _, dir := range lanePackages(t, "sequential") {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		must(t, err)
		if len(files) == 0 {
			t.Errorf("%s has no files", dir)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			must(t, err)
			if found := concurrent.Find(b); found != nil {
				t.Errorf("%s says %s: the package is not sequential: take it from that list of lane.sh", name, found)
			}
		}
	}
	for said, want := range map[string]bool{"\tgo f(x)\n": true, "\tgo f[int](x)\n": true, "\tgo func() {\n": true,
		"\twg.Go(f)\n": true, "// go on\n": false, "\tx.Gone()\n": false} {
		if concurrent.MatchString(said) != want {
			t.Errorf("%q starts a goroutine: want %v", said, want)
		}
	}
}

// lanePackages are those of a list of lane.sh.
func lanePackages(t *testing.T, list string) []string {
	t.Helper()
	b, err := os.ReadFile("lane.sh")
	must(t, err)
	m := regexp.MustCompile(`(?m)^` + list + `=\(([^)]*)\)$`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("lane.sh has no list %q", list)
	}
	in := strings.Fields(string(m[1]))
	if len(in) < 3 {
		t.Errorf("%s: only %v", list, in)
	}
	return in
}

// testsOf are the test files of packages.
func testsOf(t *testing.T, dirs []string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
		must(t, err)
		if len(files) == 0 {
			t.Errorf("%s has no tests", dir)
		}
		for _, name := range files {
			all[name], err = os.ReadFile(name)
			must(t, err)
		}
	}
	return all
}

// No function of a script is defined twice: the later one would win, in silence.
func TestFunctionsOnce(t *testing.T) {
	names, err := filepath.Glob("*.sh")
	must(t, err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		must(t, err)
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^(\w+)\(\) ?\{`).FindAllStringSubmatch(string(b), -1) {
			if seen[m[1]] {
				t.Errorf("%s defines %s twice", name, m[1])
			}
			seen[m[1]] = true
		}
	}
}

// No page has a place that was to be filled in.
func TestDocsAreFilledIn(t *testing.T) {
	names, err := filepath.Glob("../docs/*.md")
	must(t, err)
	for _, name := range append(names, "../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md") {
		b, err := os.ReadFile(name)
		must(t, err)
		if found := regexp.MustCompile(`@[A-Z]{3,}@`).Find(b); found != nil {
			t.Errorf("%s has %s", name, found)
		}
	}
}
