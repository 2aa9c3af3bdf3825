// SPDX-License-Identifier: MIT

package place

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// askEnv makes the test binary say what it is allowed: "mask N" by its affinity, or "cpuset
// FILE" when it has put itself into the control group that the file is of.
const askEnv = "ZCBENCH_TEST_ALLOWED"

func TestMain(m *testing.M) {
	if how, what, ok := strings.Cut(os.Getenv(askEnv), " "); ok {
		os.Exit(ask(how, what))
	}
	os.Exit(m.Run())
}

func ask(how, what string) int {
	var err error
	if how == "cpuset" {
		err = os.WriteFile(what, []byte("0"), 0)
	}
	a, aerr := allowedCPUs()
	if err != nil || aerr != nil {
		os.Stderr.WriteString(what + ": cannot be joined or asked for\n")
		return 1
	}
	b, _ := json.Marshal(a)
	os.Stdout.Write(b)
	return 0
}

// allowedIn starts this program and has it say what it is allowed.
func allowedIn(t *testing.T, how string, mask *unix.CPUSet) (a allowed) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), askEnv+"="+how)
	cmd.Stderr = os.Stderr
	var out []byte
	err := onCPUs(mask, func() (err error) { out, err = cmd.Output(); return err })
	if err == nil {
		err = json.Unmarshal(out, &a)
	}
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	return a
}

// onCPUs runs f on a thread with an affinity, which what f starts inherits.
func onCPUs(mask *unix.CPUSet, f func() error) error {
	if mask == nil {
		return f()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var before unix.CPUSet
		err := unix.SchedGetaffinity(0, &before)
		if err == nil {
			err = unix.SchedSetaffinity(0, mask)
		}
		if err == nil {
			err = errors.Join(f(), unix.SchedSetaffinity(0, &before))
		}
		done <- err
	}()
	return <-done
}

// The CPUs of an inherited affinity are what is chosen from; a thread may be bound to others.
func TestAllowedByMask(t *testing.T) {
	all, err := AllowedCPUs()
	if err != nil || len(all.Pin) < 2 {
		t.Skipf("one CPU: %+v, %v", all, err)
	}
	last := all.Pin[len(all.Pin)-1]
	var one unix.CPUSet
	one.Set(last)
	got := allowedIn(t, "mask one", &one)
	if !slices.Equal(got.Own, []int{last}) || !slices.Equal(got.Pin, all.Pin) {
		t.Errorf("got %+v of %+v", got, all)
	}
	if near, err := near("/sys", "", got.Own...); err != nil || !slices.Equal(near, []int{last}) {
		t.Errorf("chosen from %v, %v", near, err)
	}
}

// In a cpuset, no thread can be bound to a CPU that is not in it.
func TestIntegrationAllowedByCpuset(t *testing.T) {
	join := newCpuset(t, "0")
	got := allowedIn(t, "cpuset "+join, nil)
	if !slices.Equal(got.Pin, []int{0}) || !slices.Equal(got.Own, []int{0}) || got.CanPin(1) || !got.CanPin(0) {
		t.Errorf("got %+v", got)
	}
}

// newCpuset makes a control group of some CPUs, and returns the file by which a process joins.
func newCpuset(t *testing.T, cpus string) (join string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a control group")
	}
	for _, root := range []string{"/sys/fs/cgroup/cpuset", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if filepath.Base(root) != "cpuset" { // version 2
			b, err := os.ReadFile(filepath.Join(root, "cgroup.subtree_control"))
			if err != nil || !slices.Contains(strings.Fields(string(b)), "cpuset") {
				continue
			}
		}
		dir, err := os.MkdirTemp(root, "zcbench-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		_ = os.WriteFile(filepath.Join(dir, "cpuset.mems"), []byte("0"), 0) // needed in version 1
		if err := os.WriteFile(filepath.Join(dir, "cpuset.cpus"), []byte(cpus), 0); err != nil {
			continue
		}
		return filepath.Join(dir, "cgroup.procs")
	}
	t.Skip("no control groups with cpusets here")
	return ""
}
