// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// TreeClock returns the CPU time, user and system, that process pid of this host
// and its living descendants have used, with that of the descendants that they
// have waited for; nanoseconds. A process's own time is exact; that of those
// waited for is counted in ticks of 10 ms (/proc/PID/stat). It needs
// CONFIG_PROC_CHILDREN to see descendants that live; without it, theirs counts
// once they end.
//
// It fails when pid is no process. A descendant that ends meanwhile is in it or
// not.
func TreeClock(pid int) (int64, error) {
	ns, err := processClock(pid)
	if err != nil {
		return 0, err
	}
	for _, child := range Children(pid) {
		if t, err := TreeClock(child); err == nil {
			ns += t
		}
	}
	return ns, nil
}

// Children lists the processes that process pid of this host has started, and that live. It needs
// CONFIG_PROC_CHILDREN.
func Children(pid int) (out []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		text, err := kernelfile.ReadFile(path)
		if err != nil {
			continue // the thread ended
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil && child > 1 { // 0 is of another PID namespace
				out = append(out, child)
			}
		}
	}
	return out
}

// processClock reads a process's own CPU time and adds that of the children that it waited for.
func processClock(pid int) (int64, error) {
	if pid <= 0 {
		return 0, fmt.Errorf("read cpu clock of process %d: no such process", pid)
	}
	// MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED), include/linux/posix-timers.h.
	const schedPerProcess = 2
	ns, err := clock(int32(^pid<<3 | schedPerProcess))
	if err != nil {
		return 0, fmt.Errorf("read cpu clock of process %d: %w", pid, err)
	}
	text, err := kernelfile.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ns, nil // it ended just now, and this was its last time
	}
	waited, err := waitedTicks(text)
	if err != nil {
		return 0, fmt.Errorf("read cpu clock of process %d: %w", pid, err)
	}
	return ns + waited*nsPerTick, nil
}

// nsPerTick is 1/USER_HZ, which is 100 wherever Linux shows ticks.
const nsPerTick = 10_000_000

// waitedTicks sums the fields cutime and cstime of /proc/PID/stat (fs/proc/array.c, do_task_stat),
// 16 and 17 from 1. The second, the name, may hold anything.
func waitedTicks(text []byte) (int64, error) {
	end := bytes.LastIndexByte(text, ')')
	f := strings.Fields(string(text[end+1:]))
	if end < 0 || len(f) < 15 {
		return 0, fmt.Errorf("%q is not a line of /proc/PID/stat", text)
	}
	var sum int64
	for _, word := range f[13:15] {
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil || v < 0 || v > 1<<40 {
			return 0, fmt.Errorf("%q in /proc/PID/stat is not a number of ticks", word)
		}
		sum += v
	}
	return sum, nil
}
