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
	if err := runnable(helper, self); err != nil {
		t.Error(err)
	}
	os.Chown(helper, 4711, 4711)
	if err := runnable(helper, self); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("a stranger's: %v", err)
	}
	os.Chown(helper, 1000, 1000)
	os.Chmod(helper, 0o722)
	if err := runnable(helper, self); err == nil {
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
