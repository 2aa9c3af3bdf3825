// SPDX-License-Identifier: MIT

package remedy

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// of sets the call of rows.
func of(call Call, rows ...Row) []Row {
	for i := range rows {
		rows[i].Call = call
	}
	return rows
}

// anyRows lists what every call may answer, wherever in the kernel that comes from.
func anyRows() []Row {
	return of(Any,
		Row{Errno: unix.EPERM, If: filtered,
			Cause: "the seccomp filter of a container or service may forbid the call",
			Do:    "allow the call in its seccomp profile, or run on the host", Look: "grep Seccomp /proc/self/status",
			Kernel: "kernel/seccomp.c: __seccomp_filter"},
		Row{Errno: unix.EPERM, If: unprivileged,
			Cause: "the kernel wants a capability for it", Do: "start zcbench as the machine's root",
			Look: "grep Cap /proc/self/status", Kernel: "kernel/capability.c: ns_capable"},
		Row{Errno: unix.EPERM, Cause: "a security module, or a kernel that is locked down, may forbid the call",
			Do:     "allow the call in the security module's policy, or run on another host",
			Look:   "journalctl -k, or cat /sys/kernel/security/lockdown",
			Kernel: "security/security.c: call_int_hook"},
		Row{Errno: unix.EACCES, Cause: "a security module (SELinux, AppArmor) may forbid the call",
			Do: "allow the call in the module's policy, or run on another host", Look: "journalctl -k",
			Kernel: "security/selinux/avc.c: avc_has_perm"},
		Row{Errno: unix.ENOSYS, If: filtered,
			Cause: "the seccomp filter of a container or service hides the call",
			Do:    "allow the call in its seccomp profile, or run on the host", Look: "grep Seccomp /proc/self/status",
			Kernel: "kernel/seccomp.c: __seccomp_filter"},
		Row{Errno: unix.ENOSYS, Cause: "this kernel was built without the call, or is older than it",
			Do: "boot a newer kernel, or one that was built with this system call", Look: "uname -r", Effect: undoable,
			Undo: "boot the kernel of before", Kernel: "kernel/sys_ni.c: sys_ni_syscall"},
		Row{Errno: unix.ENOMEM, If: cgroupFull,
			Cause: "the cgroup's memory limit is reached", Do: "raise memory.max of the cgroup, or run outside of it",
			Effect: undoable, Undo: "write what memory.max was", Kernel: "mm/memcontrol.c: try_charge_memcg"},
		Row{Errno: unix.ENOMEM, Cause: "the kernel found no memory for it",
			Do: "end programs that hold much memory, and run zcbench again", Look: "free -m, or dmesg",
			Effect: undoable,
			Undo:   "start them again", Kernel: "mm/page_alloc.c: __alloc_pages_slowpath"},
		Row{Errno: unix.EMFILE, Cause: "the process has as many files open as it may",
			Do: "raise the limit for this shell: ulimit -n 65536", Look: "ulimit -n", Effect: undoable,
			Undo: "it goes with the shell", Kernel: "fs/file.c: alloc_fd"},
		Row{Errno: unix.ENFILE, Cause: "all processes together have as many files open as the machine may",
			Do:   "raise the limit: sysctl -w fs.file-max=N, or end programs that hold many files",
			Look: "cat /proc/sys/fs/file-nr", Effect: undoable,
			Undo: "sysctl -w fs.file-max= with what it was", Kernel: "fs/file_table.c: alloc_empty_file"},
		Row{Errno: unix.EINTR, Cause: "a signal interrupted the call", Do: "run zcbench again",
			Kernel: "include/linux/sched/signal.h: signal_pending"},
		Row{Errno: unix.EAGAIN, Cause: "the kernel cannot do it at this moment", Do: "run zcbench again",
			Kernel: "net/core/sock.c: sock_alloc_send_pskb"},
		Row{Errno: unix.EFAULT, Cause: "zcbench gave the kernel an address that it cannot use",
			Kernel: "lib/usercopy.c: _copy_from_user"},
		Row{Errno: unix.EBADF, Cause: "zcbench gave the kernel a file that is not open", Kernel: "fs/file.c: fget"},
		Row{Errno: unix.EIO, Cause: "the device, or its driver, failed",
			Do: "read what the driver says of it in the kernel's log", Look: "dmesg",
			Kernel: "drivers/net/ethernet/mellanox/mlx5/core/cmd.c: cmd_status_to_err"},
	)
}

// unprivileged is who is no root, or root of a user namespace only.
var unprivileged = &state{Name: "the caller is not the machine's root",
	From: "/proc/thread-self/status, /proc/thread-self/ns",
	Holds: func(On) (string, bool) {
		s := privilege.Look()
		return "", s.Known && s.Lacks(privilege.Machine, unix.CAP_SYS_ADMIN) != privilege.Granted
	}}

// cgroupFull: memory.max of the process's cgroup, or of one above it, is all but used up.
var cgroupFull = &state{Name: "a cgroup of the process has used up memory.max",
	From: "/proc/self/cgroup, memory.max, memory.current",
	Holds: func(On) (string, bool) {
		path, limit := fullCgroup("/proc/self/cgroup", "/sys/fs/cgroup")
		if path == "" {
			return "", false
		}
		return fmt.Sprintf("the cgroup %s has used up its memory limit of %d MiB", path, limit>>20), true
	}}
