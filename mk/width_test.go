// SPDX-License-Identifier: MIT

package mk

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// widest is how many columns a line of prose has at most; a tab counts for four.
const widest = 100

// prose are the files with prose in them.
var prose = regexp.MustCompile(`\.(go|c|h|s|sh|mk|md|ya?ml)$|(^|/)(Makefile|Kbuild)$|^mk/no-services/`)

var (
	slashes = regexp.MustCompile(`^\s*//( |$)`)          // Go; not //go:, and no code, which begins with a tab
	stars   = regexp.MustCompile(`^\s*(//|/\*|\*)( |$)`) // C
	hashes  = regexp.MustCompile(`^\s*# {0,2}[^ ]`)      // the others; no code, which is set off
	text    = regexp.MustCompile(`^ {0,3}[^ |]`)         // Markdown; no table, no code
)

// wide are the numbers of the lines of prose that are too long.
func wide(f file) (numbers []int) {
	form := hashes
	switch filepath.Ext(f.path) {
	case ".go", ".s":
		form = slashes
	case ".c", ".h":
		form = stars
	case ".md":
		form = text
	}
	fenced := false
	for i, line := range strings.Split(f.text, "\n") {
		if strings.HasPrefix(line, "```") && form == text {
			fenced = !fenced
		}
		columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
		if columns > widest && !fenced && form.MatchString(line) && !strings.Contains(line, "://") {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// Prose is read beside code: it has lines of at most 100 columns, in comments and pages.
func TestWidth(t *testing.T) {
	for _, f := range tracked(t, prose) {
		if f.path == "THIRD_PARTY.md" { // words of others
			continue
		}
		for _, n := range wide(f) {
			t.Errorf("%s:%d: a line of prose of more than %d columns", f.path, n, widest)
		}
	}
}

// widestCode is how many columns a line of Go has at most. Tests may quote what others write.
const widestCode = 120

func TestCodeWidth(t *testing.T) {
	for _, f := range tracked(t, regexp.MustCompile(`\.go$`)) {
		if strings.HasSuffix(f.path, "_test.go") || strings.Contains(f.text, "\n// Code generated ") {
			continue
		}
		for i, line := range strings.Split(f.text, "\n") {
			if n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); n > widestCode {
				t.Errorf("%s:%d: a line of %d columns, more than %d", f.path, i+1, n, widestCode)
			}
		}
	}
}

func TestWide(t *testing.T) {
	long := strings.Repeat("word ", 20) + "."
	for _, x := range []struct {
		path, line string
		want       int
	}{
		{"a.go", "// " + long, 1},
		{"a.go", "\t// " + long[8:], 0},
		{"a.go", "x := 1 // " + long, 0},
		{"a.go", "//\t" + long, 0},
		{"a.go", "//go:generate " + long, 0},
		{"a.c", " * " + long, 1},
		{"a.c", "#define " + long, 0},
		{"a.sh", "# " + long, 1},
		{"a.yaml", "#   run " + long, 0},
		{"a.md", long, 1},
		{"a.md", "  - " + long, 1},
		{"a.md", "    $ " + long, 0},
		{"a.md", "| " + long, 0},
		{"a.md", "```\n" + long + "\n```", 0},
		{"a.md", "```\n```\n" + long, 1},
		{"a.md", "see https://example.org/ " + long, 0},
	} {
		if got := len(wide(file{x.path, x.line})); got != x.want {
			t.Errorf("%s %q: %d lines, want %d", x.path, x.line, got, x.want)
		}
	}
}
