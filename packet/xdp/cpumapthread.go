// SPDX-License-Identifier: MIT

package xdp

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// thread finds the kernel thread behind a rung that redirects to a CPU, by its number in this PID
// namespace. It takes the frames out of the queue and runs the program there: work that is none of
// NAPI's (kernel/bpf/cpumap.c: __cpu_map_entry_alloc, Linux 6.18).
func (r *Rung) thread() (pid int, err error) {
	info, err := r.c.Maps[framesMapCpus].Info()
	if err != nil {
		return 0, fmt.Errorf("find the thread behind a cpumap: %w", err)
	}
	id, ok := info.ID()
	if !ok {
		return 0, fmt.Errorf("find the thread behind a cpumap: %w", unix.EOPNOTSUPP)
	}
	return threadNamed("/proc", fmt.Sprintf("cpumap/%d/map:%d", r.CPU, id))
}

// threadNamed finds a kernel thread in proc. Its name is there in full (Linux 5.17; the programs
// here need a later one): what begins alike may be another map's.
func threadNamed(proc, name string) (int, error) {
	all, err := os.ReadDir(proc)
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join(proc, e.Name())
		comm, _ := kernelfile.ReadFile(filepath.Join(dir, "comm")) // it may have ended
		if strings.TrimSuffix(string(comm), "\n") != name {
			continue
		}
		if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil && exe != "" {
			continue // a program that calls itself so
		}
		return pid, nil
	}
	return 0, fmt.Errorf("find the kernel thread %s: none is in this PID namespace", name)
}

// Threads lists the kernel threads that work for this path, beside NAPI's.
func (r *receiver) Threads() []int {
	if r.rung == nil || r.action != toCPU {
		return nil
	}
	pid, err := r.rung.thread()
	if err != nil {
		return nil // then its time is not told apart from that of its CPU
	}
	return []int{pid}
}
