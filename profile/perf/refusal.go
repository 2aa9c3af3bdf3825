// SPDX-License-Identifier: MIT

package perf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// refusal explains why the kernel refused an event, and what to do.
func refusal(err error, at string, hz int, sysctl func(string) string) error {
	op := "perf_event_open for " + at
	if errors.Is(err, unix.EACCES) {
		op += " (kernel.perf_event_paranoid is " + sysctl("perf_event_paranoid") + ")"
	}
	return remedy.Error(remedy.PerfOpen, op, err, remedy.On{Value: strconv.Itoa(hz)})
}

// mapRefusal explains why the kernel refused the memory of a ring (perf_mmap).
func mapRefusal(err error, cpu int, sysctl func(string) string) error {
	op := fmt.Sprintf("map the ring of samples of CPU %d", cpu)
	if errors.Is(err, unix.EPERM) {
		op += " (kernel.perf_event_mlock_kb is " + sysctl("perf_event_mlock_kb") + ")"
	}
	return remedy.Error(remedy.PerfMap, op, err, remedy.On{Bytes: ringBytes})
}

// kernelSysctl reads a setting of the running kernel, "unknown" if it cannot be read.
func kernelSysctl(name string) string {
	b, err := kernelfile.ReadFile("/proc/sys/kernel/" + name)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
