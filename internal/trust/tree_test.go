// SPDX-License-Identifier: MIT

package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTree(t *testing.T) {
	needRoot(t)
	for _, tc := range []struct {
		name string
		make func(dir string)
		want string // empty: no error
	}{
		{"one's own", func(dir string) { write(t, 0o640, mkdir(t, 0o755, dir, "a"), "f") }, ""},
		{"a tmp", func(dir string) { write(t, 0o600, mkdir(t, 0o777|os.ModeSticky, dir, "tmp"), "f") }, ""},
		{"a link to elsewhere", func(dir string) { os.Symlink("/etc/passwd", filepath.Join(dir, "l")) }, ""},
		{"an open file", func(dir string) { write(t, 0o666, mkdir(t, 0o755, dir, "a"), "f") },
			"a/f is writable by everybody"},
		{"an open folder", func(dir string) { mkdir(t, 0o777, dir, "a") }, "a is writable by everybody"},
		{"a group's file", func(dir string) { chown(t, write(t, 0o664, dir, "f"), 0, stranger) },
			"f is writable by group 4711"},
		{"a stranger's file", func(dir string) { chown(t, write(t, 0o600, dir, "f"), stranger, 0) },
			"f belongs to user 4711"},
		{"a stranger's link", func(dir string) {
			os.Symlink("x", filepath.Join(dir, "l"))
			chown(t, filepath.Join(dir, "l"), stranger, 0)
		}, "l belongs to user 4711"},
		{"in a tmp", func(dir string) {
			chown(t, write(t, 0o600, mkdir(t, 0o777|os.ModeSticky, dir, "tmp"), "f"), stranger, 0)
		}, "tmp/f belongs to user 4711"},
		{"skipped", func(dir string) { write(t, 0o666, mkdir(t, 0o755, dir, "skip"), "f") }, ""},
		{"skipped, and open", func(dir string) { mkdir(t, 0o777, dir, "skip") }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := mkdir(t, 0o755, t.TempDir(), "tree")
			tc.make(dir)
			err := Tree(dir, func(rel string) bool { return rel == "skip" })
			if tc.want != "" {
				wantErr(t, err, strings.TrimSpace(tc.want))
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTreeBehindALink(t *testing.T) {
	base := t.TempDir()
	write(t, 0o666, mkdir(t, 0o755, base, "tree"), "f")
	link := filepath.Join(base, "link")
	if err := os.Symlink("tree", link); err != nil {
		t.Fatal(err)
	}
	wantErr(t, Tree(link, nil), "tree/f is writable by everybody")
}

// Nothing is made where what is made could be replaced.
func TestMkdirAllMakesNothingBelowStrangers(t *testing.T) {
	needRoot(t)
	for name, make := range map[string]func(dir string){
		"a stranger's": func(dir string) { chown(t, dir, stranger, stranger) },
		"open to all":  func(dir string) { os.Chmod(dir, 0o777) },
	} {
		home := mkdir(t, 0o755, t.TempDir(), "home")
		make(home)
		if err := MkdirAll(filepath.Join(home, "a", "b"), 0o700); !Untrusted(err) {
			t.Errorf("%s: error is %v", name, err)
		}
		if left, _ := os.ReadDir(home); len(left) > 0 {
			t.Errorf("%s: made %v", name, left)
		}
	}
}
