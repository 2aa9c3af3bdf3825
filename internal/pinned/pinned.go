// SPDX-License-Identifier: MIT

// Package pinned lets tests see to which CPUs the threads of a process are bound.
package pinned

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Threads lists the CPUs of those threads of a process that may run on only one CPU, in order: a
// CPU as often as it has such threads. One that ends meanwhile has none.
func Threads(pid int) (cpus []int) {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, name := range all {
		status, _ := os.ReadFile(name)
		_, after, _ := bytes.Cut(status, []byte("\nCpus_allowed_list:"))
		list, _, _ := bytes.Cut(after, []byte("\n"))
		if cpu, err := strconv.Atoi(string(bytes.TrimSpace(list))); err == nil { // and not 0-3, or 0,2
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return cpus
}

// Children lists the processes that a process has started, and that are still there.
func Children(pid int) (pids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for word := range bytes.FieldsSeq(list) {
			if child, err := strconv.Atoi(string(word)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}
