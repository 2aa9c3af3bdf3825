// SPDX-License-Identifier: MIT

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
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") ||
			strings.HasPrefix(line, "| what was tried |") {
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
			rows = append(rows, row{what: m[1], dir: strings.Trim(name[:dot], "`"), test: strings.Trim(name[dot+1:],
				"`"), by: strings.Split(m[3], ", ")})
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

// What docs/hardening.md says is tested is: every test is there, none is said to run
// where it is left out, and none is said to be longer in make test-long that is not.
func TestHeldTestsAreThere(t *testing.T) {
	rows := held(t)
	if len(rows) < 40 {
		t.Fatalf("%d rows: the form of the file is another one", len(rows))
	}
	longer := 0
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
		if later {
			longer++
			if !strings.Contains(source, "long.") {
				t.Errorf("%s is said to be run by %v, and does not look at what is asked for", name, r.by)
			}
		}
	}
	if longer < 8 {
		t.Errorf("%d rows of make test-long: the form of the file is another one", longer)
	}
}
