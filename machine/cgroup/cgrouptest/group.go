// SPDX-License-Identifier: MIT

// Package cgrouptest makes control groups for tests: of version 2 or of version 1, as this
// machine has them.
package cgrouptest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// Group is a control group that is removed when the test ends.
type Group struct {
	Dir  string
	Name string // as a process in it sees it, and messages name it
	V1   bool
	t    testing.TB
}

// New makes a group below that of this process, with a controller: cpu, memory. The test is
// skipped where the kernel does not have the controller, or nobody may make groups.
func New(t testing.TB, controller string) *Group {
	t.Helper()
	g := &Group{t: t}
	root, err := g.find(controller)
	if err != nil {
		t.Skip(err)
	}
	name := fmt.Sprintf("zcbench-test-%d-%s", os.Getpid(), strconv.FormatInt(int64(len(made)), 36))
	made = append(made, name)
	g.Name, g.Dir = "/"+name, filepath.Join(root, name)
	if err := os.Mkdir(g.Dir, 0o755); err != nil {
		t.Skipf("no control group can be made here: %v", err)
	}
	t.Cleanup(func() {
		await.Until(t, "the control group is empty", func() bool {
			err := os.Remove(g.Dir)
			return err == nil || errors.Is(err, os.ErrNotExist)
		})
	})
	return g
}

var made []string

// find finds the root of the hierarchy that has the controller.
func (g *Group) find(controller string) (string, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	v2 := ""
	for line := range strings.Lines(string(b)) {
		before, after, _ := strings.Cut(strings.TrimSpace(line), " - ")
		f, s := strings.Fields(before), strings.Fields(after)
		switch {
		case len(f) < 5 || len(s) < 3:
		case s[0] == "cgroup" && slices.Contains(strings.Split(s[2], ","), controller):
			g.V1 = true
			return f[4], nil
		case s[0] == "cgroup2":
			v2 = f[4]
		}
	}
	if v2 == "" {
		return "", errors.New("no control groups are mounted here")
	}
	have, err := os.ReadFile(filepath.Join(v2, "cgroup.controllers"))
	if err != nil {
		return "", err
	}
	if !slices.Contains(strings.Fields(string(have)), controller) {
		return "", fmt.Errorf("control groups here have no controller %s, only %q", controller,
			strings.TrimSpace(string(have)))
	}
	if err := os.WriteFile(filepath.Join(v2, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
		return "", fmt.Errorf("control groups here cannot be given the controller %s: %w", controller, err)
	}
	return v2, nil
}

// Set writes one of the group's files.
func (g *Group) Set(file, value string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.Dir, file), []byte(value), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// LimitCPU gives the group's tasks quota of each period, in microseconds.
func (g *Group) LimitCPU(quota, period int) {
	g.t.Helper()
	if g.V1 {
		g.Set("cpu.cfs_period_us", strconv.Itoa(period))
		g.Set("cpu.cfs_quota_us", strconv.Itoa(quota))
		return
	}
	g.Set("cpu.max", fmt.Sprintf("%d %d", quota, period))
}

// Command makes a command that runs in the group, with all that it starts.
func (g *Group) Command(name string, args ...string) *exec.Cmd {
	into := `echo $$ > "$0/cgroup.procs" && exec "$@"`
	return exec.Command("sh", slices.Concat([]string{"-c", into, g.Dir, name}, args)...)
}
