// SPDX-License-Identifier: MIT

package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// hex64 is a folder's name as a program has it.
func hex64(digit string) string { return strings.Repeat(digit, 64) }

// old is a folder that nobody has touched for longer than a month, with files.
func old(t *testing.T, dir string, files ...string) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	for _, f := range files {
		must(t, os.WriteFile(filepath.Join(dir, f), []byte("precious"), 0o700))
	}
	ago := time.Now().AddDate(0, 0, -40)
	must(t, os.Chtimes(dir, ago, ago))
	return dir
}

func TestRemoveUnused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ownDir)
	must(t, os.Mkdir(dir, 0o700))
	at := func(name string) string { return filepath.Join(dir, name) }
	gone := []string{old(t, at(hex64("0"))), old(t, at(hex64("1")), "zcbench"), old(t, at(hex64("2")), "zcbench",
		"zcnvml", ".part.123", ".part.aBcDeF")}
	stay := []string{
		old(t, at("backup"), "zcbench"), old(t, at("data"), "zcbench"), old(t, at("amazon")), old(t, at("containerd")),
		old(t, at("deadbeef"), "zcbench"),
		old(t, at(hex64("a")[1:]), "zcbench"), old(t, at(hex64("a")+"a"), "zcbench"), old(t, at(hex64("A")), "zcbench"),
		old(t, at(hex64("g")), "zcbench"),
		old(t, at(hex64("3")), "zcbench", "notes"), old(t, at(hex64("4")), "ZCBENCH"),
	}
	recent := at(hex64("5"))
	must(t, os.Mkdir(recent, 0o700))
	must(t, os.WriteFile(filepath.Join(recent, "zcbench"), nil, 0o700))
	sub := old(t, filepath.Join(at(hex64("6")), "zcbench"), "file") // a folder of the program's name
	old(t, at(hex64("6")))
	outside := old(t, filepath.Join(filepath.Dir(dir), hex64("7")), "zcbench")
	must(t, os.Symlink(outside, at(hex64("7"))))
	link := old(t, at(hex64("8")))
	must(t, os.Symlink(filepath.Join(outside, "zcbench"), filepath.Join(link, "zcbench")))
	old(t, link)
	must(t, os.WriteFile(at(hex64("9")), []byte("a file"), 0o600))
	stay = append(stay, recent, sub, outside, filepath.Join(outside, "zcbench"), at(hex64("7")), link,
		filepath.Join(link, "zcbench"), at(hex64("9")))
	if os.Geteuid() == 0 {
		theirs := old(t, at(hex64("b")), "zcbench")
		must(t, os.Chown(theirs, stranger, stranger))
		file := old(t, at(hex64("c")), "zcbench")
		must(t, os.Chown(filepath.Join(file, "zcbench"), stranger, stranger))
		stay = append(stay, theirs, file)
	}
	removed, err := RemoveUnused(dir, time.Now())
	if err != nil {
		t.Error(err)
	}
	if want := []string{hex64("0"), hex64("1"), hex64("2")}; !slices.Equal(removed, want) {
		t.Errorf("removed %v", removed)
	}
	for _, p := range gone {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s is still there", p)
		}
	}
	for _, p := range stay {
		if _, err := os.Lstat(p); err != nil {
			t.Error(err)
		}
	}
}

// Only a folder of ours, which nobody else can change, is looked into.
func TestRemoveUnusedRefuses(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"opt", "agent", "zcbench/agents", "not-zcbench-agent"} {
		dir := filepath.Join(base, name)
		program := old(t, filepath.Join(dir, hex64("0")), "zcbench")
		if _, err := RemoveUnused(dir, time.Now()); err == nil {
			t.Errorf("%s was taken for ours", name)
		}
		if _, err := os.Stat(program); err != nil {
			t.Error(err)
		}
	}
	usual := filepath.Join(base, "zcbench/agent")
	old(t, filepath.Join(usual, hex64("0")), "zcbench")
	must(t, os.Chmod(usual, 0o777))
	if _, err := RemoveUnused(usual, time.Now()); err == nil ||
		!strings.Contains(err.Error(), "writable by everybody") {
		t.Errorf("a folder that everybody writes: %v", err)
	}
	must(t, os.Chmod(usual, 0o700))
	if removed, err := RemoveUnused(usual, time.Now()); err != nil || len(removed) != 1 {
		t.Errorf("the usual folder: %v, %v", removed, err)
	}
}
