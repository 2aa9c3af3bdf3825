// SPDX-License-Identifier: MIT

package mk

import (
	"bytes"
	"io/fs"
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
	for name, b := range testsOf(t, append(lanePackages(t, "pure"), lanePackages(t, "sequential")...)) {
		if found := impure.Find(b); found != nil {
			t.Errorf("%s says %s: the package belongs to the lane host", name, found)
		}
	}
}

// concurrent is what starts goroutines, or says that there are some.
var concurrent = regexp.MustCompile(`(?m)^\s*go [\w.\[\]]+\(|\.Go\(|AfterFunc\(|\.(Run)?Parallel\(|\.Gather\(|sync\.(RW)?Mutex|\batomic\.|\bReadFigures`)

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
				t.Errorf("%s says %s: the package belongs in the list pure of lane.sh", name, found)
			}
		}
	}
	for said, want := range map[string]bool{"\tgo f(x)\n": true, "\tgo f[int](x)\n": true, "\tgo func() {\n": true, "\twg.Go(f)\n": true, "// go on\n": false, "\tx.Gone()\n": false} {
		if concurrent.MatchString(said) != want {
			t.Errorf("%q starts a goroutine: want %v", said, want)
		}
	}
}

// What has passed in simulated packages is not run again either, but for the tests that start
// programs: go test does not see what those read.
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

// timed is what tests do that take their time from the machine's clock.
var timed = regexp.MustCompile(`\btime\.(Sleep|After|AfterFunc|NewTimer|NewTicker|Tick|Since)\b`)

// Packages whose tests depend on time are those that test-busy.sh runs beside busy loops. What runs
// in the lab, or asks how long something takes on purpose, does not.
func TestBusyPackagesAreAll(t *testing.T) {
	b, err := os.ReadFile("test-busy.sh")
	must(t, err)
	m := regexp.MustCompile(`(?s)\ntimely=\(([^)]*)\)`).FindSubmatch(b)
	if m == nil {
		t.Fatal("test-busy.sh has no list")
	}
	listed := map[string]bool{"./lab": true, "./lab/softnictest": true, // boot machines
		"./profile/symbol": true, // its tests are those of lane quiet
		"./mk/packages":    true} // builds packages
	for _, dir := range strings.Fields(string(m[1])) {
		listed[dir] = true
		if files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go")); err != nil || len(files) == 0 {
			t.Errorf("%s has no tests", dir)
		}
	}
	must(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir := "./" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		if timed.Match(b) && !bytes.Contains(b, []byte("testing/synctest")) && !listed[dir] {
			t.Errorf("%s depends on time, and test-busy.sh does not run %s", path, dir)
		}
		return nil
	}))
}
