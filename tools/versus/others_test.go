// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// statLine is a line of /proc/PID/stat with the times given.
func statLine(pid int, name string, ppid int, utime, stime, cutime, cstime any) string {
	return fmt.Sprintf("%d (%s) S %d 1 1 0 -1 4194304 90 0 0 0 %v %v %v %v 20 0 1 0 33 1 1\n", pid, name, ppid, utime,
		stime, cutime, cstime)
}

func TestTasksTime(t *testing.T) {
	proc := t.TempDir()
	for pid, line := range map[int]string{
		14:  statLine(14, "ksoftirqd/0", 2, 0, 5000, 0, 0), // the flow's own softirqs
		90:  statLine(90, "ksoftirqd/0", 1, 1, 0, 0, 0),    // somebody's name for a process
		200: statLine(200, "a) S (b", 1, 100, 50, 7, 3),
		201: statLine(201, "cc1", 200, 30, 9, 0, 0),
	} {
		dir := filepath.Join(proc, fmt.Sprint(pid))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(proc, "300"), 0o755); err != nil { // has just ended
		t.Fatal(err)
	}
	if got, err := tasksTime(proc); err != nil || got != 2*time.Second {
		t.Errorf("got %v, %v, want 2s: 1 + 160 + 39 ticks of 10 ms", got, err)
	}
	if _, err := tasksTime(t.TempDir()); err == nil {
		t.Error("a folder without processes is read")
	}
}

func TestTaskTicksFailures(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "no name",
		"1 )(":                                  "no name",
		"1 (sh) S 1 2":                          "3 fields",
		statLine(1, "sh", 0, -1, 0, 0, 0):       `"-1" is not a number`,
		statLine(1, "sh", 0, "x", 0, 0, 0):      `"x" is not a number`,
		statLine(1, "sh", 0, 0, 0, 1<<41, 0):    "is not a number",
		statLine(1, "sh", 0, 0, "1e3", 0, 0):    `"1e3" is not a number`,
		statLine(1, "sh) S", 0, 0, 0, "0x1", 0): `"0x1" is not a number`,
	} {
		if _, err := taskTicks([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", in, err, want)
		}
	}
}
