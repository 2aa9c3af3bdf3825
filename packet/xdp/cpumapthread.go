// SPDX-License-Identifier: MIT

package xdp

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// thread is the kernel thread behind a rung that redirects to a CPU, by its number in this PID
// namespace. It takes the frames out of the queue and runs the program there: work that is none
// of NAPI's (kernel/bpf/cpumap.c: __cpu_map_entry_alloc, Linux 6.18).
func (r *Rung) thread() (pid int, err error) {
	info, err := r.c.Maps[framesMapCpus].Info()
	if err != nil {
		return 0, fmt.Errorf("find the thread behind a cpumap: %w", err)
	}
	id, ok := info.ID()
	if !ok {
		return 0, fmt.Errorf("find the thread behind a cpumap: %w", unix.EOPNOTSUPP)
	}
	return threadNamed(fmt.Sprintf("cpumap/%d/map:%d", r.CPU, id))
}

// commBytes is how much of a kernel thread's name kernels before 5.17 keep (TASK_COMM_LEN).
const commBytes = 15

// threadNamed finds a kernel thread.
func threadNamed(name string) (int, error) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		comm, _ := os.ReadFile("/proc/" + e.Name() + "/comm") // it may have ended
		switch c := strings.TrimSuffix(string(comm), "\n"); {
		case c == name, len(name) > commBytes && c == name[:commBytes]:
		default:
			continue
		}
		if exe, err := os.Readlink("/proc/" + e.Name() + "/exe"); err == nil && exe != "" {
			continue // a program that calls itself so
		}
		return pid, nil
	}
	return 0, fmt.Errorf("find the kernel thread %s: none is in this PID namespace", name)
}

// Threads are the kernel threads that work for this path, beside NAPI's.
func (r *receiver) Threads() []int {
	if r.rung == nil || r.action != ToCPU {
		return nil
	}
	pid, err := r.rung.thread()
	if err != nil {
		return nil // then its time is not told apart from that of its CPU
	}
	return []int{pid}
}
