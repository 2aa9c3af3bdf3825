// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// userHZ is the clock of /proc/PID/stat, 100 wherever Linux shows ticks.
const userHZ = 100

// tasksTime sums the CPU time of all processes below proc, with that of the children that they
// waited for: what a process used does not get lost when it ends. It leaves out the kernel's
// threads ksoftirqd, whose work is what veth and its flows made.
func tasksTime(proc string) (time.Duration, error) {
	paths, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "stat"))
	if err == nil && len(paths) == 0 {
		err = errors.New("no processes: mount /proc")
	}
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of all processes: %w", err)
	}
	var ticks int64
	for _, path := range paths {
		text, err := kernelfile.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		t, err := taskTicks(text)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", path, err)
		}
		ticks += t
	}
	return time.Duration(ticks) * time.Second / userHZ, nil
}

// taskTicks sums utime, stime, cutime and cstime of a line of /proc/PID/stat, fields 14 to 17
// (fs/proc/array.c: do_task_stat); for ksoftirqd it returns 0. The second field, the name, may hold
// anything.
func taskTicks(text []byte) (int64, error) {
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return 0, errors.New("it has no name")
	}
	f := strings.Fields(string(text[to+1:]))
	if len(f) < 15 {
		return 0, fmt.Errorf("%d fields after the name, want 15 or more", len(f))
	}
	const kthreadd = "2"
	if f[1] == kthreadd && bytes.HasPrefix(text[from+1:to], []byte("ksoftirqd/")) {
		return 0, nil
	}
	var sum int64
	for _, word := range f[11:15] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 || n > 1<<40 {
			return 0, fmt.Errorf("%q is not a number of ticks", word)
		}
		sum += n
	}
	return sum, nil
}
