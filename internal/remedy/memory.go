// SPDX-License-Identifier: MIT

package remedy

import (
	"golang.org/x/sys/unix"
)

// Calls that give memory.
const (
	Mmap     Call = "mmap, ftruncate: memory"
	Memfd    Call = "memfd_create"
	MmapHuge Call = "mmap: huge pages"
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

// hugeRows explains why there are too few huge pages. VALUE is the command that reserves them.
func hugeRows() []Row {
	const pool, acct = "/sys/kernel/mm/hugepages/hugepages-2048kB", "mm/hugetlb.c: hugetlb_acct_memory"
	const back = "sysctl -w vm.nr_hugepages= what it was"
	row := func(r Row) Row { r.Call, r.Errno = MmapHuge, unix.ENOMEM; return r }
	return []Row{
		row(Row{If: told(HugeNone, pool), Cause: "the kernel has none of 2 MiB", Look: "ls /sys/kernel/mm/hugepages",
			Do:     "use transparent huge pages (--area thp), or a kernel with CONFIG_HUGETLBFS",
			Kernel: "mm/hugetlb.c: hugetlb_init"}),
		row(Row{If: told(HugeUnknown, pool), Cause: "how many are free cannot be read", Look: "cat " + pool +
			"/free_hugepages",
			Do: "see that VALUE more are free, or use transparent huge pages (--area thp)", Kernel: acct}),
		row(Row{If: told(HugeElsewhere, pool), Cause: "enough are free, but not for this process",
			Look: "cat /proc/self/cgroup, and numastat -m,",
			Do: "look at the limit of its cgroup (hugetlb.2MB.max, hugetlb.2MB.rsvd.max), and at its CPUs' " +
				"and memory's nodes (cpuset.mems, numactl)",
			Kernel: acct}),
		row(Row{If: told(HugeHeld, pool), Cause: "others have them",
			Look:   "grep -lE '_Hugetlb: +[1-9]' /proc/[0-9]*/smaps_rollup",
			Do:     "end what has them, or reserve more: VALUE, or use transparent huge pages (--area thp)",
			Effect: undoable, Undo: back, Kernel: acct}),
		row(Row{Cause: "too few are free", Look: "grep Huge /proc/meminfo",
			Do:     "reserve them: VALUE, or use transparent huge pages (--area thp)",
			Effect: undoable, Undo: back, Kernel: acct}),
	}
}

// takes is what a call does with the memory that it is asked for.
type takes struct {
	locked bool // it is charged to the limit on locked memory
	ring   bool // it is a ring's: not all kernels charge it
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
			If: &state{Name: name, From: from, Holds: holds}}
	}
	const charge = "io_uring/rsrc.c: __io_account_mem"
	var rows []Row
	if t.locked {
		rows = append(rows, locked(call, unix.ENOMEM, t.ring, true, charge)...)
	}
	group := row("the control group's memory is used up", fromGroup,
		of(func(on On) (string, bool) { return memory.crowded(on) }),
		less+", or give the container or service more memory (docker --memory, systemd MemoryMax=)",
		"cat /sys/fs/cgroup/memory.max",
		"mm/memcontrol.c: try_charge_memcg")
	group.Effect, group.Undo = undoable, "the limit that it had"
	pieces := row("the machine's memory is in small pieces", "/proc/buddyinfo",
		func(on On) (string, bool) { return memory.fragmented(on) },
		less+", or join the pieces: "+compact, "cat /proc/buddyinfo", "io_uring/memmap.c: io_mem_alloc_compound")
	pieces.Effect, pieces.Undo = undoable, "nothing to undo: pages are moved, and stay in use"
	rows = append(rows, group,
		row("the machine's memory is used up", "/proc/meminfo: MemAvailable",
			of(func(on On) (string, bool) { return memory.scarce(on) }),
			less+", or end what uses memory", "free -m", kernel))
	if t.pieces {
		rows = append(rows, pieces)
	}
	if t.locked {
		rows = append(rows, locked(call, unix.ENOMEM, t.ring, false, charge)...)
	}
	return append(rows, Row{Call: call, Errno: unix.ENOMEM, Kernel: kernel,
		Cause: "the kernel found no memory for it, perhaps none in one piece; the control group may limit it, too",
		Do:    less + ", or wait until other programs have given memory back",
		Look:  "cat /proc/buddyinfo, and memory.max of the control group,"})
}

// locked makes the rows that the limit on locked memory is lower than what a call is asked for, or
// (where surely is false) that it may be used up.
func locked(call Call, errno unix.Errno, ring, surely bool, kernel string) []Row {
	how := "may be used up"
	if surely {
		how = "is lower"
	}
	row := func(users bool, why, do string) Row {
		name := "the limit on locked memory " + how + ", and " + why
		return Row{Call: call, Errno: errno, Cause: name, Do: do, Look: "ulimit -l", Kernel: kernel,
			If: &state{Name: name, From: fromMemlock, Holds: func(on On) (string, bool) {
				if ring && !memory.charged() {
					return "", false
				}
				return memory.limited(users, surely)(on)
			}}}
	}
	return []Row{
		row(true, "CAP_IPC_LOCK of a user namespace does not lift it",
			"raise the limit outside of the user namespace (ulimit -l unlimited, LimitMEMLOCK=infinity), or run "+
				"on the host"),
		row(false, "there is no CAP_IPC_LOCK",
			"raise the limit on locked memory (ulimit -l unlimited, LimitMEMLOCK=infinity), or run with "+
				"CAP_IPC_LOCK (root on the host has it)"),
	}
}

// pinned makes the rows of [locked] for payload that is sent without a copy by a socket for which
// of holds.
func pinned(call Call, errno unix.Errno, of func(fd int) bool, kernel string) []Row {
	rows := locked(call, errno, false, false, kernel)
	for i := range rows {
		is := *rows[i].If
		holds := is.Holds
		is.Holds = func(on On) (string, bool) {
			if on.FD <= 0 || !of(on.FD) {
				return "", false
			}
			return holds(on)
		}
		rows[i].If = &is
	}
	return rows
}

// mappedLimit and overcommit are why address space is not given.
var (
	mappedLimit = &state{Name: "a limit on mapped memory", From: "getrlimit: RLIMIT_AS", Holds: addressSpace}
	overcommit  = &state{Name: "vm.overcommit_memory is 2",
		From:  "/proc/sys/vm/overcommit_memory, /proc/meminfo: Committed_AS",
		Holds: func(on On) (string, bool) { return memory.overcommits(on) }}
)

func memoryRows() []Row {
	const fewer = "choose smaller buffers (--message-size, --read-size, --area-size)"
	rows := []Row{
		{Call: Mmap, Errno: unix.ENOMEM, Kernel: "mm/mmap.c: may_expand_vm",
			Cause: "a limit on mapped memory", Look: "ulimit -v",
			If: mappedLimit, Do: "raise the limit (ulimit -v unlimited), or " + fewer},
		{Call: Mmap, Errno: unix.ENOMEM, Kernel: "mm/util.c: __vm_enough_memory", If: overcommit,
			Cause: "the kernel promises no more memory than it has", Look: "grep Commit /proc/meminfo",
			Do: fewer + ", or: sysctl -w vm.overcommit_memory=0"},
	}
	const transparent = "use transparent huge pages (--area thp)"
	rows = append(rows, short(Mmap, takes{}, fewer, "mm/mmap.c: do_mmap")...)
	rows = append(rows,
		Row{Call: Mmap, Errno: unix.EPERM, Kernel: "security/security.c: security_mmap_file",
			Cause: "a security module or a seccomp filter forbids to map memory",
			Look:  "journalctl -k; grep Seccomp /proc/self/status", Do: "allow it there, or run on another host"},
		Row{Call: Mmap, Errno: unix.EFBIG, Kernel: "fs/attr.c: inode_newsize_ok",
			Cause: "the memory is longer than a file may be here",
			Look:  "ulimit -f", Do: "raise it (ulimit -f unlimited), or " + fewer},
		Row{Call: Mmap, Kernel: "mm/mmap.c: do_mmap", Cause: "the kernel does not give that memory",
			Look: "free -m, or dmesg,", Do: fewer},

		Row{Call: MmapHuge, Errno: unix.EINVAL, Kernel: "mm/mmap.c: ksys_mmap_pgoff",
			Cause: "this kernel has no huge pages of 2 MiB",
			Look:  "ls /sys/kernel/mm/hugepages",
			Do:    transparent + ", or a kernel with CONFIG_HUGETLBFS"},
		Row{Call: MmapHuge, Kernel: "mm/mmap.c: ksys_mmap_pgoff", Cause: "the kernel gives no huge pages",
			Do:   transparent,
			Look: "journalctl -k"},
		Row{Call: Memfd, Errno: unix.ENOSYS, Kernel: "mm/memfd.c: memfd_create",
			Cause: "this kernel has no memfd_create, or a seccomp filter hides it",
			Look:  "grep Seccomp /proc/self/status",
			Do:    "allow it in the container's seccomp profile, or use a kernel with CONFIG_MEMFD_CREATE"},
		Row{Call: Memfd, Errno: unix.EACCES, Kernel: "mm/memfd.c: check_sysctl_memfd_noexec",
			Cause: "sysctl vm.memfd_noexec is 2",
			Look:  "sysctl vm.memfd_noexec", Do: "sysctl -w vm.memfd_noexec=1", Effect: undoable,
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
			Effect: undoable,
			Undo:   "sysctl -w fs.file-max= what it was"},
	)
	rows = append(rows, hugeRows()...)
	return append(rows, short(Memfd, takes{}, fewer, "mm/memfd.c: memfd_create")...)
}
