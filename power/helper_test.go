// SPDX-License-Identifier: MIT

package power

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/helper"
)

// A helper that another user could change is not run.
func TestNVMLHelperOfStrangers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	path := filepath.Join(dir, helper.NVML)
	if p, err := helper.Find(helper.NVML); p != "" || err != nil {
		t.Errorf("there is none: %q, %v", p, err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n/bin/touch "+ran+"\necho GPU\n"), 0o755); err != nil {
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
	os.Chown(path, 4711, -1)
	refused("a stranger's", "belongs to user 4711")
	os.Chown(path, 0, 0)
	os.Chmod(path, 0o757)
	refused("one that everybody writes", "writable by everybody")
	os.Chmod(path, 0o755)
	os.Chmod(dir, 0o777)
	refused("in a folder that everybody writes", "writable by everybody")
	os.Chmod(dir, 0o755)
	prog, program, err := nvmlHelper(Spec{Name: "nvml"})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	os.Remove(path)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n/bin/echo one\n/bin/echo two\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if names, err := listGPUs(prog, program); err != nil || len(names) != 1 || names[0] != "GPU" {
		t.Errorf("root's own, before another was put there: %v, %v", names, err)
	}
}
