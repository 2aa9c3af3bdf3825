// SPDX-License-Identifier: MIT

package helper

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
)

// Beside this program, what has its owner is as good as it: so sudo has it.
func TestBeside(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	dir := t.TempDir()
	self, helper := filepath.Join(dir, "zcbench"), filepath.Join(dir, GPU)
	for _, p := range []string{self, helper} {
		if err := os.WriteFile(p, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		os.Chown(p, 1000, 1000)
	}
	os.Chown(dir, 1000, 1000)
	if _, err := runnable(helper, self); err != nil {
		t.Error(err)
	}
	if _, err := runnable(helper, ""); err == nil {
		t.Error("found by PATH, what lies beside this program was taken")
	}
	os.Chown(helper, 4711, 4711)
	if _, err := runnable(helper, self); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("a stranger's: %v", err)
	}
	os.Chown(helper, 1000, 1000)
	os.Chmod(helper, 0o722)
	if _, err := runnable(helper, self); err == nil {
		t.Error("one that everybody writes was taken")
	}
}

// What was checked is what runs, and what another user could change is not opened.
func TestOpen(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := Open(GPU); err == nil || !strings.Contains(err.Error(), GPU) || fault.Fix(err) == "" {
		t.Errorf("there is none: %v", err)
	}
	path := filepath.Join(dir, GPU)
	script := func(word string) {
		os.Remove(path)
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+word+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("checked")
	f, err := Open(GPU)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	script("exchanged")
	cmd := exec.Command("/proc/self/fd/3")
	cmd.Env = []string{"PATH=/bin:/usr/bin"}
	cmd.ExtraFiles = []*os.File{f}
	if out, err := cmd.Output(); err != nil || string(out) != "checked\n" {
		t.Errorf("%q, %v", out, err)
	}
	for how, change := range map[string]func() error{
		"belongs to user 4711":  func() error { return os.Chown(path, 4711, -1) },
		"writable by everybody": func() error { return os.Chmod(path, 0o757) },
	} {
		script("x")
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if f, err := Open(GPU); err == nil || !strings.Contains(err.Error(), how) || fault.Fix(err) == "" {
			f.Close()
			t.Errorf("%s: %v", how, err)
		}
	}
}

// Who has a folder of PATH may link to a program of root's, also to one beside this program: it
// would be run by another name, and the link may lead elsewhere when it is looked at again. A link
// of root's is followed once.
func TestLinkInPath(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives folders to another user")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs, theirs := t.TempDir(), t.TempDir()
	tool := filepath.Join(programs, "env")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(theirs, GPU)
	t.Setenv("PATH", theirs)
	if err := os.Symlink(tool, link); err != nil {
		t.Fatal(err)
	}
	if p, err := Find(GPU); err != nil || p != tool {
		t.Errorf("root's link: %q, %v", p, err)
	}
	if err := os.Chown(theirs, 4711, -1); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{tool, self} {
		os.Remove(link)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if p, err := Find(GPU); err == nil || !strings.Contains(err.Error(), "belongs to user 4711") ||
			fault.Fix(err) == "" {
			t.Errorf("a stranger's link to %s: %q, %v", target, p, err)
		}
	}
}
