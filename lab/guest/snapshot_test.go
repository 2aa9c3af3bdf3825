// SPDX-License-Identifier: MIT

package guest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What came is removed, with all below it; what was there stays, and is missed or found
// changed.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	kept, gone := put("a/kept", "1"), put("a/gone", "2")
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := takeSnapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.restore(dir); err != nil {
		t.Errorf("nothing has changed: %v", err)
	}

	put("b/c/d", "new")
	put("a/new", "new")
	if err := os.Symlink(outside, filepath.Join(dir, "a/link")); err != nil {
		t.Fatal(err)
	}
	if err := s.restore(dir); err != nil {
		t.Errorf("with new files: %v", err)
	}
	var left []string
	filepath.WalkDir(dir, func(p string, _ os.DirEntry, _ error) error { left = append(left, p); return nil })
	if want := 4; len(left) != want {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("behind a link: %v", err)
	}

	put("a/kept", "changed")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	err = s.restore(dir)
	if err == nil || !strings.Contains(err.Error(), kept+" has changed") ||
		!strings.Contains(err.Error(), "1 files of the machine are gone") {
		t.Errorf("a changed and a missing file: %v", err)
	}
}

// Nothing is removed but from a file system in memory.
func TestInMemory(t *testing.T) {
	if err := inMemory("/proc"); err == nil || !strings.Contains(err.Error(), "not a guest of the lab") {
		t.Errorf("/proc: %v", err)
	}
	if err := inMemory("/dev/shm"); err != nil {
		t.Errorf("/dev/shm: %v", err)
	}
}
