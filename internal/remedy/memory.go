// SPDX-License-Identifier: MIT

package remedy

import "golang.org/x/sys/unix"

// Calls that give memory.
const (
	Mmap     Call = "mmap, ftruncate: memory"
	MmapHuge Call = "mmap: huge pages"
	Memfd    Call = "memfd_create"
)

const (
	fromMemlock = "getrlimit: RLIMIT_MEMLOCK, /proc/thread-self/status, /proc/thread-self/ns/user"
	fromGroup   = "/proc/self/cgroup, memory.max and memory.current of each level"
	compact     = "echo 1 > /proc/sys/vm/compact_memory"
)

// Facts of the machine's huge pages of 2 MiB, of which package hugepages has a look.
const (
	HugeNone      Fact = "the kernel has no huge pages of 2 MiB"
	HugeUnknown   Fact = "how many huge pages there are cannot be read"
	HugeElsewhere Fact = "enough huge pages are free"
	HugeHeld      Fact = "the machine has enough huge pages, and others have them"
)

// hugeRows are why there are too few huge pages. VALUE is the command that reserves them.
func hugeRows() []Row {
	const pool, acct = "/sys/kernel/mm/hugepages/hugepages-2048kB", "mm/hugetlb.c: hugetlb_acct_memory"
	const back = "sysctl -w vm.nr_hugepages= what it was"
	row := func(r Row) Row { r.Call, r.Errno = MmapHuge, unix.ENOMEM; return r }
	return []Row{
		row(Row{If: told(HugeNone, pool), Cause: "the kernel has none of 2 MiB", Look: "ls /sys/kernel/mm/hugepages",
			Do: "use transparent ones, or a kernel with CONFIG_HUGETLBFS", Kernel: "mm/hugetlb.c: hugetlb_init"}),
		row(Row{If: told(HugeUnknown, pool), Cause: "how many are free cannot be read", Look: "cat " + pool + "/free_hugepages",
			Do: "see that VALUE more are free, or use transparent ones", Kernel: acct}),
		row(Row{If: told(HugeElsewhere, pool), Cause: "enough are free, but not for this process", Look: "cat /proc/self/cgroup, and numastat -m,",
			Do:     "look at the limit of its cgroup (hugetlb.2MB.max, hugetlb.2MB.rsvd.max), and at its CPUs' and memory's nodes (cpuset.mems, numactl)",
			Kernel: acct}),
		row(Row{If: told(HugeHeld, pool), Cause: "others have them", Look: "grep -lE '_Hugetlb: +[1-9]' /proc/[0-9]*/smaps_rollup",
			Do: "end what has them, or reserve more: VALUE, or use transparent ones", Effect: Undoable, Undo: back, Kernel: acct}),
		row(Row{Cause: "too few are free", Look: "grep Huge /proc/meminfo", Do: "reserve them: VALUE, or use transparent ones",
			Effect: Undoable, Undo: back, Kernel: acct}),
	}
}

// takes is what a call does with the memory that it is asked for.
type takes struct {
	locked bool // it is charged to the limit on locked memory
	pinned bool // it is there already, and only held
	pieces bool // the kernel wants it in one piece, or in large ones
}

// short lists why a call finds no memory: the limit on locked memory, the control group, the
// machine. less is how to ask for less.
func short(call Call, t takes, less, kernel string) []Row {
	of := func(holds func(On) (string, bool)) func(On) (string, bool) {
		return func(on On) (string, bool) {
			if t.pinned {
				on.Bytes = 0
			}
			return holds(on)
		}
	}
	row := func(name, from string, holds func(On) (string, bool), do, look, kernel string) Row {
		return Row{Call: call, Errno: unix.ENOMEM, Cause: name, Do: do, Look: look, Kernel: kernel,
			If: &State{Name: name, From: from, Holds: holds}}
	}
	const charge = "io_uring/rsrc.c: __io_account_mem"
	outside := "raise the limit outside (ulimit -l unlimited, LimitMEMLOCK=infinity), or run on the host"
	raise := "raise it (ulimit -l unlimited, LimitMEMLOCK=infinity), or run with CAP_IPC_LOCK (root on the host has it)"
	var rows []Row
	if t.locked {
		rows = append(rows,
			row("the limit on locked memory is lower, and CAP_IPC_LOCK of a user namespace does not lift it", fromMemlock,
				memory.limited(true, true), outside, "ulimit -l", charge),
			row("the limit on locked memory is lower, and there is no CAP_IPC_LOCK", fromMemlock,
				memory.limited(false, true), raise, "ulimit -l", charge))
	}
	group := row("the control group's memory is used up", fromGroup, of(memory.crowded),
		less+", or give the container or service more memory (--memory, MemoryMax=)", "cat /sys/fs/cgroup/memory.max",
		"mm/memcontrol.c: try_charge_memcg")
	group.Effect, group.Undo = Undoable, "the limit that it had"
	pieces := row("the machine's memory is in small pieces", "/proc/buddyinfo", memory.fragmented,
		less+", or join the pieces: "+compact, "cat /proc/buddyinfo", "io_uring/memmap.c: io_mem_alloc_compound")
	pieces.Effect, pieces.Undo = Undoable, "nothing to undo: pages are moved, and stay in use"
	rows = append(rows, group,
		row("the machine's memory is used up", "/proc/meminfo: MemAvailable", of(memory.scarce),
			less+", or end what uses it", "free -m", kernel))
	if t.pieces {
		rows = append(rows, pieces)
	}
	if t.locked {
		rows = append(rows,
			row("the limit on locked memory may be used up, and CAP_IPC_LOCK of a user namespace does not lift it", fromMemlock,
				memory.limited(true, false), outside, "ulimit -l", charge),
			row("the limit on locked memory may be used up, and there is no CAP_IPC_LOCK", fromMemlock,
				memory.limited(false, false), raise, "ulimit -l", charge))
	}
	return append(rows, Row{Call: call, Errno: unix.ENOMEM, Kernel: kernel,
		Cause: "the kernel found no memory for it, perhaps none in one piece; the control group may limit it, too",
		Do:    less + ", or wait until memory is free",
		Look:  "cat /proc/buddyinfo, and memory.max of the control group,"})
}

func memoryRows() []Row {
	const fewer = "choose smaller buffers (--message-size, --read-size, --area-size)"
	rows := []Row{
		{Call: Mmap, Errno: unix.ENOMEM, Kernel: "mm/mmap.c: may_expand_vm",
			Cause: "a limit on mapped memory", Look: "ulimit -v",
			If: &State{Name: "a limit on mapped memory", From: "getrlimit: RLIMIT_AS", Holds: addressSpace},
			Do: "raise it (ulimit -v unlimited), or " + fewer},
	}
	rows = append(rows, short(Mmap, takes{}, fewer, "mm/mmap.c: do_mmap")...)
	rows = append(rows,
		Row{Call: Mmap, Errno: unix.EAGAIN, Kernel: "mm/mmap.c: mlock_future_ok",
			Cause: "more locked memory than the limit allows",
			Look:  "ulimit -l", Do: "raise it (ulimit -l unlimited), or " + fewer},
		Row{Call: Mmap, Errno: unix.EPERM, Kernel: "security/security.c: security_mmap_file",
			Cause: "a security module or a seccomp filter forbids it",
			Look:  "journalctl -k", Do: "allow it there, or run on another host"},
		Row{Call: Mmap, Errno: unix.EFBIG, Kernel: "fs/attr.c: inode_newsize_ok",
			Cause: "the memory is longer than a file may be here",
			Look:  "ulimit -f", Do: "raise it (ulimit -f unlimited), or " + fewer},
		Row{Call: Mmap, Kernel: "mm/mmap.c: do_mmap", Cause: "the kernel does not give that memory",
			Look: "free -m, or dmesg,", Do: fewer},

		Row{Call: MmapHuge, Errno: unix.EINVAL, Kernel: "mm/mmap.c: ksys_mmap_pgoff",
			Cause: "this kernel has no huge pages of 2 MiB",
			Look:  "ls /sys/kernel/mm/hugepages",
			Do:    "use transparent ones, or a kernel with CONFIG_HUGETLBFS"},
		Row{Call: MmapHuge, Errno: unix.ENOSYS, Kernel: "include/linux/hugetlb.h: hugetlb_file_setup",
			Cause: "this kernel has no huge pages",
			Look:  "ls /sys/kernel/mm/hugepages",
			Do:    "use transparent ones, or a kernel with CONFIG_HUGETLBFS"},
		Row{Call: Memfd, Errno: unix.ENOSYS, Kernel: "mm/memfd.c: memfd_create",
			Cause: "this kernel has no memfd_create, or a seccomp filter hides it",
			Look:  "grep Seccomp /proc/self/status",
			Do:    "allow it in the container's seccomp profile, or use a kernel with CONFIG_MEMFD_CREATE"},
		Row{Call: Memfd, Errno: unix.EACCES, Kernel: "mm/memfd.c: check_sysctl_memfd_noexec",
			Cause: "sysctl vm.memfd_noexec is 2",
			Look:  "sysctl vm.memfd_noexec", Do: "sysctl -w vm.memfd_noexec=1", Effect: Undoable,
			Undo: "sysctl -w vm.memfd_noexec=2"},
		Row{Call: Memfd, Errno: unix.EPERM, Kernel: "kernel/seccomp.c: __seccomp_filter",
			Cause: "a seccomp filter or a security module forbids it",
			Look:  "grep Seccomp /proc/self/status, and journalctl -k,",
			Do:    "allow it there, or run on the host"},
		Row{Call: Memfd, Errno: unix.EMFILE, Kernel: "fs/file.c: alloc_fd",
			Cause: "this process has as many files open as it may",
			Look:  "ulimit -n", Do: "raise it (ulimit -n)"},
		Row{Call: Memfd, Errno: unix.ENFILE, Kernel: "fs/file_table.c: alloc_empty_file",
			Cause: "the machine has as many files open as it may",
			Look:  "sysctl fs.file-max fs.file-nr", Do: "end what holds files open, or raise fs.file-max",
			Effect: Undoable,
			Undo:   "sysctl -w fs.file-max= what it was"},
		Row{Call: MmapHuge, Kernel: "mm/mmap.c: ksys_mmap_pgoff", Cause: "the kernel gives no huge pages",
			Do:   "use transparent ones",
			Look: "journalctl -k"},
	)
	rows = append(rows, hugeRows()...)
	return append(rows, short(Memfd, takes{}, fewer, "mm/memfd.c: memfd_create")...)
}
