// SPDX-License-Identifier: MIT

package perf

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"golang.org/x/sys/unix"
)

// refusal says why the kernel refused an event, and what to do. kernel/events/core.c: without
// CAP_PERFMON, perf_event_paranoid above 1 keeps the kernel from being sampled, above 0 whole
// CPUs (EACCES); a security module or seccomp says EPERM. A kernel that is locked down refuses
// none of what is asked for here: only samples with the kernel's registers (LOCKDOWN_PERF).
func refusal(err error, at string, hz int, sysctl func(string) string) error {
	f := &fault.Error{Op: "perf_event_open for " + at, Err: err}
	switch {
	case errors.Is(err, unix.EACCES):
		f.Op += " (kernel.perf_event_paranoid is " + sysctl("perf_event_paranoid") + ")"
		f.How = "run as root or with CAP_PERFMON, or sysctl -w kernel.perf_event_paranoid=0"
	case errors.Is(err, unix.EPERM):
		f.How = "a security module or a container's seccomp filter refuses it: run outside the container, or allow perf_event_open and CAP_PERFMON there"
	case errors.Is(err, unix.ENOSYS):
		f.How = "the kernel was built without CONFIG_PERF_EVENTS: boot another"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		f.How = "raise the limit of open files (ulimit -n): each thread needs one for each CPU"
	case errors.Is(err, unix.ESRCH):
		f.How = "the process has ended"
	case errors.Is(err, unix.ENODEV):
		f.How = "the CPU is offline: name one that is online"
	case errors.Is(err, unix.EINVAL):
		f.How = fmt.Sprintf("if kernel.perf_event_max_sample_rate (%s; the kernel lowers it by itself) is below %d, use a lower --frequency or raise it", sysctl("perf_event_max_sample_rate"), hz)
	}
	return f
}

// mapRefusal says why the kernel refused the memory of a ring (perf_mmap).
func mapRefusal(err error, cpu int, sysctl func(string) string) error {
	f := &fault.Error{Op: fmt.Sprintf("map the ring of samples of CPU %d", cpu), Err: err}
	if errors.Is(err, unix.EPERM) {
		f.How = "run as root or with CAP_IPC_LOCK, or sysctl -w kernel.perf_event_mlock_kb=2048 (it is " + sysctl("perf_event_mlock_kb") + "), or raise ulimit -l"
	}
	return f
}

// kernelSysctl is a setting of the running kernel, "unknown" if it cannot be read.
func kernelSysctl(name string) string {
	b, err := kernelfile.ReadFile("/proc/sys/kernel/" + name)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
