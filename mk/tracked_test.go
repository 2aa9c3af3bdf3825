// SPDX-License-Identifier: MIT

package mk

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// generated is what the tools of Go know the work of a generator by.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// file is one that git tracks, by its path below the root of the repository.
type file struct{ path, text string }

// tracked are the files whose paths match, without testdata and what was generated.
func tracked(t *testing.T, paths *regexp.Regexp) (files []file) {
	t.Helper()
	out, err := exec.Command("git", "-C", "..", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("no checkout, or no git: %v", err)
	}
	for path := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if !paths.MatchString(path) || strings.Contains("/"+path, "/testdata/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join("..", path))
		if os.IsNotExist(err) { // removed, and not yet for git
			continue
		}
		must(t, err)
		if text := string(b); !generated.MatchString(text) {
			files = append(files, file{path, text})
		}
	}
	if len(files) == 0 {
		t.Fatalf("no file is called %v", paths)
	}
	return files
}
