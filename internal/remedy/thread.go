// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// What is set of threads: of the own ones, and of those by which the kernel polls NICs.
const (
	Pin         Call = "sched_setaffinity: a thread of its own"
	PinKernel   Call = "sched_setaffinity: a thread that polls DEV"
	PinnedWhere Call = "sched_getaffinity: a thread that polls DEV"
	Slack       Call = "prctl: PR_SET_TIMERSLACK"
)

// threadRows makes the rows of threads. VALUE is the CPU.
func threadRows() []Row {
	const set, allowed = "kernel/sched/syscalls.c: sched_setaffinity",
		"kernel/sched/core.c: __set_cpus_allowed_ptr_locked"
	const shows = "grep Cpus_allowed_list /proc/self/status"
	return slices.Concat(
		of(Pin,
			Row{Errno: unix.EINVAL, Cause: "CPU VALUE is offline, or not among those that this process may use",
				Look: shows,
				Do:   "choose a CPU that this process may use (taskset -p shows them)", Kernel: allowed},
			Row{Errno: unix.ESRCH, Cause: "the thread has ended", Do: "run it again", Kernel: set},
			Row{Cause: "the kernel does not bind the thread", Look: shows, Do: "choose another CPU, or name none",
				Kernel: set}),
		need{call: PinKernel, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_SYS_NICE},
			kernel: "kernel/sched/syscalls.c: check_same_owner"}.rows(),
		of(PinKernel,
			Row{Errno: unix.EINVAL, Cause: "CPU VALUE is offline, or the kernel keeps the thread where it is",
				Look: "cat /sys/devices/system/cpu/online",
				Do:   "choose a CPU that is online, and in the machine's cpuset", Kernel: set},
			Row{Errno: unix.ESRCH, Cause: "the thread is not in this PID namespace", Look: "readlink /proc/self/ns/pid",
				Do: "run the agent in the host's (docker --pid=host)", Kernel: set},
			Row{Cause: "the kernel does not bind the thread", Look: "cat /sys/devices/system/cpu/online",
				Do: "leave the CPU layout out", Kernel: set}),
		of(PinnedWhere, Row{Errno: unix.ESRCH, Cause: "something has switched threaded NAPI off since",
			Look:   "cat /sys/class/net/DEV/threaded",
			Do:     "find out what does (a network manager, tuned), and run it again",
			Kernel: "kernel/sched/syscalls.c: sched_getaffinity"}),
		of(Slack, Row{Cause: "the kernel, or a seccomp filter, does not let a thread sleep exactly",
			Look: "grep Seccomp /proc/self/status",
			Do:   "leave out --gather", Kernel: "kernel/sys.c: SYSCALL_DEFINE5"}),
	)
}
