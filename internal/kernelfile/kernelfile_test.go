// SPDX-License-Identifier: MIT

package kernelfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/covered"
	"github.com/zcbench/zcbench/internal/fault"
)

func TestTheKernelsFilesAreRead(t *testing.T) {
	for _, path := range []string{"/proc/stat", "/proc/self/status", "/proc/sys/net/core/rmem_max",
		"/sys/devices/system/cpu/online", "/sys/class/net/lo/mtu"} {
		if b, err := ReadFile(path); err != nil || len(b) == 0 {
			t.Errorf("%s: %q, %v", path, b, err)
		}
		if err := Check(path); err != nil {
			t.Error(err)
		}
	}
}

func TestAFixtureIsReadAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "proc", "stat")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("cpu 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(path); err != nil || string(b) != "cpu 1" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestWhatStandsInItsPlaceIsRefused(t *testing.T) {
	paths := []string{"/proc/stat", "/sys/devices/system/cpu/online"}
	covered.Run(t, map[string]string{paths[0]: "cpu  0 0 0 0\n", paths[1]: "0\n"}, func() {
		for _, path := range paths {
			_, err := ReadFile(path)
			for _, err := range []error{err, Check(path)} {
				if !IsNotKernels(err) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v", path, err)
				}
				if fix := fault.Fix(err); !strings.Contains(fix, "measure on the host") {
					t.Errorf("%s: fix %q", path, fix)
				}
			}
		}
	})
}

func TestAMissingFileIsMissing(t *testing.T) {
	if _, err := ReadFile("/proc/no-such"); !os.IsNotExist(err) || IsNotKernels(err) {
		t.Error(err)
	}
	if err := Check("/proc/no-such"); err == nil || IsNotKernels(err) {
		t.Error(err)
	}
}

// A /proc of another PID namespace has other processes by the same numbers.
func TestAnotherPIDNamespace(t *testing.T) {
	root := t.TempDir()
	for self, want := range map[string]string{"1": "and 1 there", "": "find this process"} {
		os.Remove(root + "/self")
		if self != "" {
			if err := os.Symlink(self, root+"/self"); err != nil {
				t.Fatal(err)
			}
		}
		if err := CheckPIDs(root); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", self, err)
		}
	}
	if err := CheckPIDs("/proc"); err != nil {
		t.Error(err)
	}
}

func TestCovered(t *testing.T) {
	if got := Covered(); len(got) > 0 {
		t.Skipf("covered here: %q", got)
	}
	covered.Run(t, map[string]string{"/proc/uptime": "1 1\n", "/proc/stat": ""}, func() {
		if got := Covered(); len(got) != 2 || got[0] != "/proc/stat" || got[1] != "/proc/uptime" {
			t.Errorf("%q", got)
		}
	})
	// Docker hides one, and in a folder without sysfs nothing is where it should be.
	covered.Run(t, map[string]string{"/proc/interrupts": "", "/sys": ""}, func() {
		if got := Covered(); len(got) != 2 || got[0] != "/proc/interrupts" || got[1] != "/sys" {
			t.Errorf("%q", got)
		}
	})
}
