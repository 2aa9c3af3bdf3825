// SPDX-License-Identifier: MIT

package remedy

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/privilege"
	"golang.org/x/sys/unix"
)

// Sampling (kernel/events/core.c).
const (
	PerfOpen   Call = "perf_event_open"
	PerfCount  Call = "perf_event_open: to count"
	PerfMap    Call = "mmap: a ring of samples"
	PerfOutput Call = "ioctl PERF_EVENT_IOC_SET_OUTPUT"
)

// slowSampling: a kernel that samples less often than it was asked to refuses the rate.
var slowSampling = &state{Name: "kernel.perf_event_max_sample_rate is below the frequency",
	From: "/proc/sys/kernel/perf_event_max_sample_rate",
	Holds: func(on On) (string, bool) {
		b, err := os.ReadFile("/proc/sys/kernel/perf_event_max_sample_rate")
		most, merr := strconv.Atoi(strings.TrimSpace(string(b)))
		asked, aerr := strconv.Atoi(on.Value)
		if err != nil || merr != nil || aerr != nil || most >= asked {
			return "", false
		}
		return fmt.Sprintf("kernel.perf_event_max_sample_rate is %d (the kernel lowers it by itself), below %d", most,
			asked), true
	}}

func perfRows() []Row {
	const open = "kernel/events/core.c: perf_event_open"
	return slices.Concat(
		// A kernel that is locked down refuses none of what is asked for: only samples with the
		// kernel's registers (LOCKDOWN_PERF).
		need{call: PerfOpen, errno: unix.EACCES, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_PERFMON},
			or:     "sysctl -w kernel.perf_event_paranoid=0",
			undo:   "sysctl -w kernel.perf_event_paranoid= with what it was",
			kernel: "include/linux/perf_event.h: perf_allow_cpu, perf_allow_kernel"}.rows(),
		of(PerfOpen,
			Row{Errno: unix.EPERM, Cause: "a security module or a container's seccomp filter refuses it",
				Do:     "run outside the container, or allow perf_event_open and CAP_PERFMON there",
				Look:   "grep Seccomp /proc/self/status, or journalctl -k,",
				Kernel: "security/security.c: security_perf_event_open"},
			Row{Errno: unix.ENOSYS, If: filtered, Cause: "a container's seccomp filter hides it",
				Do:   "run outside the container, or allow perf_event_open there",
				Look: "grep Seccomp /proc/self/status", Kernel: "kernel/seccomp.c: __seccomp_filter"},
			Row{Errno: unix.ENOSYS, Cause: "the kernel was built without CONFIG_PERF_EVENTS",
				Do: "boot a kernel with CONFIG_PERF_EVENTS", Look: "ls /proc/sys/kernel/perf_event_paranoid",
				Effect: undoable, Undo: "boot the kernel of before", Kernel: "kernel/sys_ni.c: sys_ni_syscall"},
			Row{Errno: unix.EMFILE, Cause: "the process has as many files open as it may: each thread needs one " +
				"for each CPU",
				Do: "raise the limit of open files for this shell: ulimit -n 65536", Look: "ulimit -n",
				Effect: undoable, Undo: "it goes with the shell",
				Kernel: "fs/file.c: alloc_fd"},
			Row{Errno: unix.ESRCH, Cause: "the process has ended",
				Do: "start the process again, or name another process", Look: "ps -p PID",
				Kernel: "kernel/events/core.c: find_lively_task_by_vpid"},
			Row{Errno: unix.ENODEV, Cause: "the CPU is offline, or its counters cannot do this",
				Do:   "name a CPU that is online",
				Look: "cat /sys/devices/system/cpu/online", Kernel: open},
			Row{Errno: unix.EINVAL, If: slowSampling, Cause: "kernel.perf_event_max_sample_rate is below the frequency",
				Do:     "use a lower --frequency, or raise the limit: sysctl -w kernel.perf_event_max_sample_rate=N",
				Look:   "sysctl kernel.perf_event_max_sample_rate",
				Effect: undoable, Undo: "sysctl -w kernel.perf_event_max_sample_rate= with what it was", Kernel: open},
			Row{Errno: unix.EINVAL, Cause: "this kernel does not know what was asked for", Do: "use a newer kernel",
				Look: "uname -r", Effect: undoable,
				Undo: "boot the kernel of before", Kernel: "kernel/events/core.c: perf_copy_attr"},
			Row{Errno: unix.E2BIG, Cause: "this kernel is older than the form of the request", Do: "use a newer kernel",
				Look: "uname -r", Effect: undoable,
				Undo: "boot the kernel of before", Kernel: "kernel/events/core.c: perf_copy_attr"},
			Row{Errno: unix.ENOENT, Cause: "this processor, or the virtual machine, has no such counter",
				Do:   "sample by the clock",
				Look: "ls /sys/bus/event_source/devices", Kernel: "kernel/events/core.c: perf_init_event"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "this processor, or the virtual machine, cannot sample by this counter",
				Do:   "sample by the clock",
				Look: "ls /sys/bus/event_source/devices", Kernel: open},
			Row{Errno: unix.EBUSY, Cause: "another program has the counters to itself",
				Do: "end that program, or sample by the clock", Look: "fuser /dev/cpu/*/msr, or ps -C perf,",
				Effect: undoable, Undo: "start the program again",
				Kernel: "kernel/events/core.c: exclusive_event_installable"}),
		of(PerfCount,
			Row{Errno: unix.ENOENT, Cause: "this processor, or the virtual machine, has no such counter",
				Do:   "count on the host, or on another one",
				Look: "ls /sys/bus/event_source/devices", Kernel: "kernel/events/core.c: perf_init_event"},
			Row{Errno: unix.ENODEV, Cause: "the CPU is offline, or the virtual machine has no such counter",
				Do:   "count on the host, or on another one",
				Look: "cat /sys/devices/system/cpu/online", Kernel: open},
			Row{Errno: unix.EOPNOTSUPP, Cause: "this processor, or the virtual machine, has no such counter",
				Do:   "count on the host, or on another one",
				Look: "ls /sys/bus/event_source/devices", Kernel: open},
			Row{Errno: unix.EBUSY, Cause: "another program has the counters to itself",
				Do: "end that program, and run again", Look: "ps -C perf",
				Effect: undoable, Undo: "start the program again",
				Kernel: "kernel/events/core.c: exclusive_event_installable"}),
		need{call: PerfMap, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_IPC_LOCK},
			undo:   "sysctl -w kernel.perf_event_mlock_kb= with what it was",
			or:     "sysctl -w kernel.perf_event_mlock_kb=2048, or raise ulimit -l",
			kernel: "kernel/events/core.c: perf_mmap_calc_limits"}.rows(),
		of(PerfMap,
			Row{Errno: unix.EINVAL, Cause: "the ring has a size that the kernel does not take",
				Kernel: "kernel/events/core.c: perf_mmap_rb"},
			Row{Errno: unix.ENOMEM, Cause: "the kernel found no memory for the ring",
				Do: "sample fewer CPUs, or end programs that hold much memory", Look: "free -m",
				Effect: undoable, Undo: "start them again", Kernel: "kernel/events/ring_buffer.c: rb_alloc"}),
		of(PerfOutput, Row{Errno: unix.EINVAL,
			Cause:  "the kernel cannot write this thread's samples into the CPU's ring",
			Do:     "sample fewer threads, or whole CPUs",
			Kernel: "kernel/events/core.c: perf_event_set_output"}),
	)
}
