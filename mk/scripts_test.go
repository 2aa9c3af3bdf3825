// SPDX-License-Identifier: MIT

package mk

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// impure is what tests do that depend on more than code and testdata.
var impure = regexp.MustCompile(`\b(exec\.(Command|LookPath)|net\.(Listen|Dial)|unix\.\w+|os\.Get[eu]uid|time\.Sleep|veth\.|guest\.)|"/(proc|sys)/`)

// What has passed in the lane pure is not run again, so it must depend on nothing that
// go test cannot see.
func TestPurePackagesArePure(t *testing.T) {
	for name, b := range testsOf(t, append(lanePackages(t, "pure"), lanePackages(t, "small")...)) {
		if found := impure.Find(b); found != nil {
			t.Errorf("%s says %s: the package belongs to the lane host", name, found)
		}
	}
}

// Nor is what has passed in simulated packages, but for the tests that start programs: go test does
// not see what those read.
func TestStartedEachTime(t *testing.T) {
	b, err := os.ReadFile("lane.sh")
	must(t, err)
	m := regexp.MustCompile(`(?m)^started='(.*)'$`).FindSubmatch(b)
	if m == nil {
		t.Fatal("lane.sh does not say which tests start programs")
	}
	started := map[string]bool{}
	for _, name := range strings.Split(string(m[1]), "|") {
		started[strings.Trim(name, "^$")] = false
	}
	for name, b := range testsOf(t, lanePackages(t, "simulated")) {
		if !starts.Match(b) {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(b, -1) {
			if _, known := started[string(m[1])]; !known {
				t.Errorf("%s of %s starts programs: it belongs into the list started of lane.sh", m[1], name)
			}
			started[string(m[1])] = true
		}
	}
	for name, found := range started {
		if !found {
			t.Errorf("lane.sh: no test %s starts a program", name)
		}
	}
}

// starts is what a test file says that starts programs.
var starts = regexp.MustCompile(`\b(exec\.(Command|LookPath)|os\.StartProcess|built\.|program\.)`)

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
	if len(in) < 5 {
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
