// Package mk has tests of what the Makefile runs.
package mk

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// held are the rows of docs/hardening.md: tests, and who runs them.
func held(t *testing.T) (rows []row) {
	t.Helper()
	b, err := os.ReadFile("../docs/hardening.md")
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile("^\\| ([^|]+) \\| ((?:`[^`|]+`(?:, )?)+) \\| ([^|]+) \\|$")
	for i, line := range strings.Split(string(b), "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| what was tried |") {
			continue
		}
		m := form.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("line %d is no row of what was tried, its tests and who runs them: %s", i+1, line)
			continue
		}
		for _, name := range strings.Split(m[2], ", ") {
			dot := strings.LastIndexByte(name, '.')
			if dot < 0 {
				t.Errorf("line %d: %s is not PACKAGE.TEST", i+1, name)
				continue
			}
			rows = append(rows, row{what: m[1], dir: strings.Trim(name[:dot], "`"), test: strings.Trim(name[dot+1:], "`"), by: strings.Split(m[3], ", ")})
		}
	}
	return rows
}

type row struct {
	what, dir, test string
	by              []string
}

// source is the function of a test, "" where there is none.
func (r row) source(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", r.dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, body, ok := strings.Cut(string(b), "\nfunc "+r.test+"("); ok {
			body, _, _ = strings.Cut(body, "\n}\n")
			return "func " + r.test + "(" + body
		}
	}
	return ""
}

// longTests are those that mk/test-long.sh runs, as PACKAGE.TEST.
func longTests(t *testing.T) (all []string) {
	t.Helper()
	b, err := os.ReadFile("test-long.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t'\./(\S+) (\S+)'$`).FindAllStringSubmatch(string(b), -1) {
		for _, test := range strings.Split(m[2], "|") {
			all = append(all, m[1]+"."+test)
		}
	}
	for _, m := range regexp.MustCompile(`-run '\^(\w+)\$' \./(\S+) `).FindAllStringSubmatch(string(b), -1) {
		all = append(all, m[2]+"."+m[1])
	}
	return all
}

// What docs/hardening.md says is tested is: every test is there, no test is said to
// run where it is skipped, and make test-long runs the tests it is said to run.
func TestHeldTestsAreThere(t *testing.T) {
	rows, long := held(t), longTests(t)
	if len(rows) < 40 || len(long) < 8 {
		t.Fatalf("%d rows, %d long tests: the form of the files is another one", len(rows), len(long))
	}
	said := map[string]bool{}
	for _, r := range rows {
		name := r.dir + "." + r.test
		source := r.source(t)
		if source == "" {
			t.Errorf("%s (%s) is not there", name, r.what)
			continue
		}
		short, later := slices.Contains(r.by, "make test"), slices.Contains(r.by, "make test-long")
		if !short && !later {
			t.Errorf("%s: run by %v", name, r.by)
		}
		if only := regexp.MustCompile(`(?m)^\tlong\.Test\(t\)`).MatchString(source); only == short {
			t.Errorf("%s is said to be run by %v, and is left out of make test: %v", name, r.by, only)
		}
		if later && !slices.Contains(long, name) {
			t.Errorf("%s is not in mk/test-long.sh", name)
		}
		said[name] = said[name] || later
	}
	for _, name := range long {
		if !said[name] {
			t.Errorf("mk/test-long.sh runs %s, which docs/hardening.md does not say", name)
		}
	}
}
