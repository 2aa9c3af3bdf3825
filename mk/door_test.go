// SPDX-License-Identifier: MIT

package mk

import (
	"regexp"
	"strings"
	"testing"
)

// besideResults are the folders whose code reads and writes results folders. They do so by
// results.Folder alone, which follows no link below one.
var besideResults = regexp.MustCompile(`^(results/(.*/)?|bench/|profile/|cmd/zcbench/|tools/probed/)[^/]*\.go$`)

// ways are the calls that follow links, or make, move and remove by a path.
var ways = regexp.MustCompile(`\b(os\.(Open|OpenFile|OpenRoot|OpenInRoot|ReadFile|ReadDir|DirFS|Create|` +
	`CreateTemp|WriteFile|CopyFS|Rename|Mkdir|MkdirAll|MkdirTemp|` +
	`Remove|RemoveAll|Symlink|Link|Truncate|Chmod|Chown)|filepath\.(Walk|WalkDir)|ioutil\.\w+|unix\.(Open|` +
	`Openat2?|Rename|Renameat2?|Link|Linkat|Mkdir|Mkdirat|Unlink|Unlinkat|Symlink|Symlinkat))\(`)

// noResults are the files with such calls, with what they open.
var noResults = map[string]string{
	"results/folder.go":                "the door",
	"results/draft.go":                 "the door's files, while they are written",
	"results/compare/set.go":           "a file of figures that the user named, or a command's pipe",
	"results/fleet/find.go":            "a folder that the user named: what it finds there is opened by the door",
	"bench/path_agent.go":              "the kernel's",
	"bench/header.go":                  "this program",
	"cmd/zcbench/doctor_record.go":     "a tape that the user named",
	"cmd/zcbench/firsthour_bundle.go":  "a folder that it has made, and its archive",
	"cmd/zcbench/firsthour_restore.go": "the kernel's",
	"cmd/zcbench/here.go":              "a device",
	"cmd/zcbench/ksft_plan.go":         "the kernel's",
	"cmd/zcbench/lab_selftests.go":     "a file that the user named",
	"cmd/zcbench/netns_dev.go":         "the kernel's",
	"cmd/zcbench/power.go":             "a file that the user named",
	"cmd/zcbench/profile.go":           "the kernel's",
	"cmd/zcbench/rerun.go":             "the results folder itself, in the working folder",
	"cmd/zcbench/share.go":             "a file that the user named, or that goes into the working folder",
	"tools/probed/budget.go":           "a file that the user named",
}

// Nothing reaches into a results folder but by its door.
func TestDoorToResults(t *testing.T) {
	used, doors := map[string]bool{}, 0
	for _, f := range tracked(t, besideResults) {
		if dir := f.path[:strings.LastIndexByte(f.path, '/')]; strings.HasSuffix(f.path, "_test.go") || helper(dir) {
			continue
		}
		doors += strings.Count(f.text, "results.OpenFolder")
		for i, line := range strings.Split(f.text, "\n") {
			call := ways.FindString(line)
			switch {
			case call == "" || strings.HasPrefix(strings.TrimSpace(line), "//"):
			case noResults[f.path] == "":
				t.Errorf("%s:%d: %s...): go through results.Folder, or say in mk/door_test.go that it is not of "+
					"a results folder", f.path, i+1, call)
			default:
				used[f.path] = true
			}
		}
	}
	for path := range noResults {
		if !used[path] {
			t.Errorf("%s opens nothing otherwise any more: take it off the list", path)
		}
	}
	if doors < 8 {
		t.Errorf("only %d doors are opened: these are no longer the folders", doors)
	}
}

// Files are made of a journal where it was written, by the folder that is open since: by its path
// it may be another one. What the lab's guest has written is in a folder that lab.Exec has made.
func TestDerivedWhereTheJournalIs(t *testing.T) {
	found := 0
	for _, f := range tracked(t, regexp.MustCompile(`^cmd/zcbench/[^/]*\.go$`)) {
		found += strings.Count(f.text, "bench.DeriveIn(")
		if strings.Contains(f.text, "bench.Derive(") && f.path != "cmd/zcbench/lab_demo.go" {
			t.Errorf("%s: bench.Derive opens the folder by its path: use bench.DeriveIn", f.path)
		}
	}
	if found == 0 {
		t.Error("nothing derives any more: this is no test")
	}
}
