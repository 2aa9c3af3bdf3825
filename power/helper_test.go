// SPDX-License-Identifier: MIT

package power

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
)

// A helper that another user could change is not run.
func TestNVMLHelperOfStrangers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	helper := filepath.Join(dir, NVMLHelper)
	if p, err := FindNVMLHelper(); p != "" || err != nil {
		t.Errorf("there is none: %q, %v", p, err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\n/bin/touch "+ran+"\necho GPU\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	refused := func(how, word string) {
		t.Helper()
		_, err := openNVML(Spec{Name: "nvml"})
		if err == nil || !strings.Contains(err.Error(), word) || fault.Fix(err) == "" {
			t.Errorf("%s: %v", how, err)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: it ran", how)
		}
	}
	os.Chown(helper, 4711, -1)
	refused("a stranger's", "belongs to user 4711")
	os.Chown(helper, 0, 0)
	os.Chmod(helper, 0o757)
	refused("one that everybody writes", "writable by everybody")
	os.Chmod(helper, 0o755)
	os.Chmod(dir, 0o777)
	refused("in a folder that everybody writes", "writable by everybody")
	os.Chmod(dir, 0o755)
	if names, err := listGPUs(Spec{Name: "nvml"}); err != nil || len(names) != 1 {
		t.Errorf("root's own: %v, %v", names, err)
	}
}

// Beside this program, what has its owner is as good as it: so sudo has it.
func TestNVMLHelperBeside(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	dir := t.TempDir()
	self, helper := filepath.Join(dir, "zcbench"), filepath.Join(dir, NVMLHelper)
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
