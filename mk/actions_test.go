// SPDX-License-Identifier: MIT

package mk

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Actions of workflows are named by their commits, with the version beside it: whoever owns an
// action may put its tags elsewhere.
func TestActionsByCommit(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.y*ml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	uses, pinned := regexp.MustCompile(`(?m)^.*\buses:.*$`),
		regexp.MustCompile(`uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range uses.FindAllString(string(b), -1) {
			if !pinned.MatchString(line) {
				t.Errorf("%s: %s", f, line)
			}
		}
	}
}
