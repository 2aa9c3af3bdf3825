// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/program"
)

// process is a program in one of the two namespaces.
type process struct {
	*program.Program
	err bytes.Buffer
}

// startIn starts a command line inside a namespace; cpu -1 does not pin it. mute
// throws away what it prints, else the error output is kept.
func startIn(ctx context.Context, ns *veth.Netns, cpu int, line []string, mute bool) (p *process, err error) {
	p = &process{}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	if !mute {
		cmd.Stderr = &p.err
	}
	cmd.WaitDelay = time.Second
	p.Program, err = program.Start(ns, cmd, func() error {
		if cpu < 0 {
			return nil
		}
		return pin(cpu)
	})
	return p, err
}

// family lists the process and its descendants.
func (p *process) family() []int {
	family := []int{p.Cmd.Process.Pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for again := true; again; {
		again = false
		for _, s := range stats {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(s)))
			if !slices.Contains(family, pid) && slices.Contains(family, parent(s)) {
				family, again = append(family, pid), true
			}
		}
	}
	return family
}

// cpuNs sums the time that the scheduler gave all threads of processes
// (/proc/PID/task/TID/schedstat), ns.
func cpuNs(pids ...int) (sum uint64) {
	for _, pid := range pids {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, t := range tasks {
			b, _ := kernelfile.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, t.Name()))
			first, _, _ := strings.Cut(string(b), " ")
			n, _ := strconv.ParseUint(first, 10, 64)
			sum += n
		}
	}
	return sum
}

// allCPUNs sums the time for which the machine's CPUs ran anything but their idle tasks
// (/proc/schedstat, rq_cpu_time), ns.
func allCPUNs() (sum uint64) {
	b, _ := kernelfile.ReadFile("/proc/schedstat")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 7 && strings.HasPrefix(f[0], "cpu") {
			n, _ := strconv.ParseUint(f[7], 10, 64)
			sum += n
		}
	}
	return sum
}

// parent reads the fourth field of /proc/PID/stat.
func parent(stat string) int {
	b, _ := kernelfile.ReadFile(stat)
	s := string(b)
	// The second is the program's name, which may have brackets and blanks in it.
	if f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:]); len(f) > 1 {
		n, _ := strconv.Atoi(f[1])
		return n
	}
	return 0
}
