// SPDX-License-Identifier: MIT

package remedy

import (
	"os"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// eBPF (kernel/bpf/syscall.c), XDP (net/core/dev.c) and AF_XDP (net/xdp).
const (
	BPF       Call = "bpf"
	BPFLoad   Call = "bpf: BPF_MAP_CREATE, BPF_PROG_LOAD"
	BPFAttach Call = "bpf: BPF_LINK_CREATE, BPF_RAW_TRACEPOINT_OPEN"
	Memlock   Call = "setrlimit: RLIMIT_MEMLOCK"
	BPFStats  Call = "bpf: BPF_ENABLE_STATS"
	XDPAttach Call = "bpf: BPF_LINK_CREATE of XDP"
	XDPLive   Call = "bpf: BPF_PROG_TEST_RUN of live frames"
	XDPSocket Call = "bpf: BPF_MAP_UPDATE_ELEM of AF_XDP sockets"

	XSKSocket Call = "socket: AF_XDP"
	XSKMemory Call = "setsockopt: XDP_UMEM_REG"
	XSKRing   Call = "setsockopt: XDP_RX_RING, XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING"
	XSKMap    Call = "mmap: a ring of AF_XDP"
	XSKAsk    Call = "getsockopt: XDP_MMAP_OFFSETS, XDP_OPTIONS, XDP_STATISTICS"
	XSKBind   Call = "bind: AF_XDP"
)

// Facts of what is attached, which the caller knows.
const (
	ZeroCopyAsked Fact = "zero copy was asked for"
)

// lockedDown: lockdown=confidentiality lets nobody read the kernel's memory by eBPF.
var lockedDown = &State{Name: "the kernel is locked down", From: "/sys/kernel/security/lockdown",
	Holds: func(On) (string, bool) {
		b, err := os.ReadFile("/sys/kernel/security/lockdown")
		return "", err == nil && strings.Contains(string(b), "[confidentiality]")
	}}

var noBTF = &State{Name: "the kernel does not describe its types", From: "stat /sys/kernel/btf/vmlinux",
	Holds: func(On) (string, bool) {
		_, err := os.Stat("/sys/kernel/btf/vmlinux")
		return "", os.IsNotExist(err)
	}}

// bpfRefused are EPERM and EACCES of a call.
func bpfRefused(call Call, errno unix.Errno, kernel string, caps ...privilege.Cap) []Row {
	return slices.Concat(
		of(call, Row{Errno: errno, If: lockedDown, Cause: "the kernel is locked down, and lets nobody trace it by eBPF",
			Do: "boot without lockdown=confidentiality", Look: "cat /sys/kernel/security/lockdown", Effect: Undoable, Undo: "boot with it again",
			Kernel: "security/lockdown/lockdown.c: lockdown_is_locked_down"}),
		need{call: call, errno: errno, over: privilege.Machine, caps: caps, kernel: kernel}.rows())
}

func bpfRows() []Row {
	const bootBack = "boot the kernel of before"
	types := Row{Errno: unix.ENOENT, If: noBTF, Cause: "the kernel does not describe its types", Do: "boot one with CONFIG_DEBUG_INFO_BTF=y",
		Look: "ls /sys/kernel/btf/vmlinux", Effect: Undoable, Undo: bootBack, Kernel: "kernel/bpf/btf.c: bpf_get_btf_vmlinux"}
	return slices.Concat(
		of(BPF,
			Row{Errno: unix.ENOSYS, If: filtered, Cause: "the seccomp filter of a container or service hides eBPF", Do: "allow bpf in its seccomp profile, or run on the host",
				Look: "grep Seccomp /proc/self/status", Kernel: "kernel/seccomp.c: __seccomp_filter"},
			Row{Errno: unix.ENOSYS, Cause: "the kernel was built without CONFIG_BPF_SYSCALL", Do: "boot one that has it", Look: "zcat /proc/config.gz", Effect: Undoable,
				Undo: bootBack, Kernel: "kernel/sys_ni.c: sys_ni_syscall"},
			Row{Errno: unix.EBUSY, Cause: "somebody else's program is there already", Do: "see whose it is, and stop what holds it", Look: "bpftool link", Effect: Undoable,
				Undo: "start it again", Kernel: "kernel/bpf/trampoline.c: __bpf_trampoline_link_prog"},
			Row{Errno: unix.ENOSPC, Cause: "a limit of the kernel's on eBPF is reached", Do: "end what has most programs and maps", Look: "bpftool prog, or bpftool map,",
				Effect: Undoable, Undo: "start it again", Kernel: "kernel/bpf/syscall.c: bpf_map_alloc_id"}),
		bpfRefused(BPFLoad, unix.EPERM, "kernel/bpf/syscall.c: bpf_prog_load", unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_NET_ADMIN),
		bpfRefused(BPFLoad, unix.EACCES, "kernel/bpf/verifier.c: bpf_check", unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_NET_ADMIN),
		of(BPFLoad, types,
			Row{Errno: unix.EINVAL, Cause: "this kernel is older than the program (VALUE)", Do: "use that kernel or a newer one", Look: "uname -r", Effect: Undoable,
				Undo: bootBack, Kernel: "kernel/bpf/verifier.c: bpf_check"},
			Row{Errno: unix.E2BIG, Cause: "this kernel is older than the form of the request, or the map is too large", Do: "use a newer kernel, or fewer tuples", Look: "uname -r",
				Effect: Undoable, Undo: bootBack, Kernel: "kernel/bpf/syscall.c: bpf_check_uarg_tail_zero"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "this kernel, or its processor, does not have it", Do: "use a newer kernel", Look: "uname -r", Effect: Undoable,
				Undo: bootBack, Kernel: "kernel/bpf/core.c: bpf_prog_select_runtime"},
			Row{Errno: unix.ENOENT, Cause: "this kernel lacks a function or type that the program is made for", Do: "use a newer kernel", Look: "uname -r", Effect: Undoable,
				Undo: bootBack, Kernel: "kernel/bpf/btf.c: btf_find_by_name_kind"}),
		bpfRefused(BPFAttach, unix.EPERM, "kernel/bpf/syscall.c: bpf_tracing_prog_attach", unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_NET_ADMIN),
		of(BPFAttach,
			Row{Errno: unix.EINVAL, Cause: "this kernel cannot attach a program there", Do: "use a newer kernel", Look: "uname -r", Effect: Undoable, Undo: bootBack,
				Kernel: "kernel/bpf/syscall.c: bpf_tracing_prog_attach"},
			Row{Errno: unix.E2BIG, Cause: "as many programs are attached there as may be", Do: "end other probes", Look: "bpftool link", Effect: Undoable, Undo: "start them again",
				Kernel: "kernel/bpf/trampoline.c: __bpf_trampoline_link_prog"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "this kernel cannot attach programs to its functions", Do: "boot one with CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, or 6.0 and later on arm64",
				Look: "uname -rm", Effect: Undoable, Undo: bootBack, Kernel: "kernel/bpf/trampoline.c: arch_prepare_bpf_trampoline"},
			Row{Errno: unix.ENOENT, Cause: "this kernel has no such place to attach to", Do: "use another kernel", Look: "uname -r", Effect: Undoable, Undo: bootBack,
				Kernel: "kernel/bpf/verifier.c: bpf_check_attach_target"}),
		need{call: Memlock, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_SYS_RESOURCE}, or: "use Linux 5.11 or later, which needs none",
			kernel: "kernel/sys.c: do_prlimit"}.rows(),
		need{call: BPFStats, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_SYS_ADMIN}, kernel: "kernel/bpf/syscall.c: bpf_enable_stats"}.rows(),
		of(BPFStats, Row{Errno: unix.EINVAL, Cause: "this kernel does not time programs for who asks (5.8)", Do: "use a newer kernel", Look: "uname -r", Effect: Undoable,
			Undo: bootBack, Kernel: "kernel/bpf/syscall.c: bpf_enable_stats"}),
		xdpRows(), xskRows())
}

func xdpRows() []Row {
	const attach = "net/core/dev.c: dev_xdp_attach"
	taken := func(errno unix.Errno) Row {
		return Row{Errno: errno, Cause: "another XDP program is attached, and zcbench does not replace it",
			Do: "see whose it is, and stop what holds it, or use another interface", Look: "bpftool net show dev DEV", Effect: Undoable,
			Undo: "start it again", Kernel: attach}
	}
	return slices.Concat(
		need{call: XDPAttach, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN, unix.CAP_BPF}, kernel: "kernel/bpf/syscall.c: link_create"}.rows(),
		of(XDPAttach, taken(unix.EBUSY), taken(unix.EEXIST),
			Row{Errno: unix.EOPNOTSUPP, Cause: "its driver has no native XDP", Do: "--xdp-attach generic works on any interface", Look: "ethtool -i DEV", Kernel: attach},
			Row{Errno: unix.EINVAL, Cause: "its driver cannot do it with the present MTU, rings or features",
				Do: "set a smaller MTU (--mtu), turn header split and LRO off, or use --xdp-attach generic", Look: "ip link show DEV, ethtool -k DEV, or dmesg,",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_xdp.c: bnxt_xdp_set"},
			Row{Errno: unix.ERANGE, Cause: "the MTU of the interface (on veth, of its peer) is too large for its driver", Do: "set a smaller one (--mtu), or use --xdp-attach generic",
				Look: "ip link show DEV", Kernel: "drivers/net/veth.c: veth_xdp_set"},
			Row{Errno: unix.ENOSPC, Cause: "the peer of a veth must not have more TX queues than it has RX queues", Do: "give it fewer: ethtool -L", Look: "ethtool -l DEV",
				Effect: Undoable, Undo: "ethtool -L with what ethtool -l showed", Kernel: "drivers/net/veth.c: veth_xdp_set"},
			Row{Errno: unix.ENOMEM, Cause: "the driver had no memory for its rings", Do: "set smaller ones, or fewer channels", Look: "dmesg",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_xdp.c: bnxt_xdp_set"},
			Row{Errno: unix.ENODEV, Cause: "the interface has gone meanwhile", Do: "name one that is there", Look: "ip link", Kernel: "net/core/dev.c: bpf_xdp_link_attach"}),
		need{call: XDPLive, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_BPF, unix.CAP_NET_ADMIN}, kernel: "kernel/bpf/syscall.c: bpf_prog_test_run"}.rows(),
		of(XDPLive,
			Row{Errno: unix.EINVAL, Cause: "this kernel runs no programs on live frames (5.18), or the frames do not fit into a page", Do: "use a newer kernel, or smaller frames",
				Look: "uname -r", Effect: Undoable, Undo: "boot the kernel of before", Kernel: "net/bpf/test_run.c: bpf_prog_test_run_xdp"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "this kernel runs no programs of this kind for tests", Do: "use Linux 5.18 or later", Look: "uname -r", Effect: Undoable,
				Undo: "boot the kernel of before", Kernel: "kernel/bpf/syscall.c: bpf_prog_test_run"},
			Row{Errno: unix.ENOMEM, Cause: "the kernel had no memory for the frames", Do: "use a smaller --burst, or end what holds memory", Look: "free -m", Effect: Undoable,
				Undo: "start it again", Kernel: "net/bpf/test_run.c: xdp_test_run_setup"}),
		of(XDPSocket,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the socket is none of AF_XDP", Kernel: "net/xdp/xskmap.c: xsk_map_update_elem"},
			Row{Errno: unix.E2BIG, Cause: "the queue's number is above the map's", Do: "use a queue below 64", Kernel: "net/xdp/xskmap.c: xsk_map_update_elem"},
			Row{Errno: unix.EINVAL, Cause: "it wants an AF_XDP socket bound to that queue", Do: "bind it first; at most 64 queues can have one", Kernel: "net/xdp/xskmap.c: xsk_map_update_elem"}),
	)
}

func xskRows() []Row {
	const others = "end that program"
	return slices.Concat(
		need{call: XSKSocket, over: privilege.Net, caps: []privilege.Cap{unix.CAP_NET_RAW}, kernel: "net/xdp/xsk.c: xsk_create"}.rows(),
		of(XSKSocket,
			Row{Errno: unix.EAFNOSUPPORT, If: filtered, Cause: "the container or service does not allow sockets of AF_XDP, or the kernel has none",
				Do:     "allow AF_XDP there (RestrictAddressFamilies= of systemd, the seccomp profile of a container), or run on the host",
				Look:   "grep Seccomp /proc/self/status",
				Kernel: "kernel/seccomp.c: __seccomp_filter"},
			Row{Errno: unix.EAFNOSUPPORT, Cause: "the kernel was built without CONFIG_XDP_SOCKETS", Do: "boot one that has it, or use another mode", Look: "zcat /proc/config.gz",
				Effect: Undoable, Undo: "boot the kernel of before", Kernel: "net/socket.c: __sock_create"},
			Row{Errno: unix.ESOCKTNOSUPPORT, Cause: "the kernel knows no such socket of AF_XDP", Kernel: "net/xdp/xsk.c: xsk_create"},
			Row{Errno: unix.EPROTONOSUPPORT, Cause: "the kernel knows no such protocol of AF_XDP", Kernel: "net/xdp/xsk.c: xsk_create"},
			Row{Errno: unix.ENOBUFS, Cause: "the kernel has no memory for a socket", Do: "end what holds memory", Look: "free -m", Effect: Undoable, Undo: "start it again",
				Kernel: "net/core/sock.c: sk_alloc"}),
		of(XSKMemory,
			Row{Errno: unix.ENOBUFS, Cause: "more memory would be locked than the process may", Do: "raise the limit of locked memory (ulimit -l), or give it CAP_IPC_LOCK",
				Look: "ulimit -l", Effect: Undoable, Undo: "it goes with the shell", Kernel: "net/xdp/xdp_umem.c: xdp_umem_account_pages"},
			Row{Errno: unix.EINVAL, Cause: "the kernel does not take frames of this size", Do: "use a smaller message, or a smaller MTU (--mtu)", Look: "getconf PAGESIZE",
				Kernel: "net/xdp/xdp_umem.c: xdp_umem_reg"},
			Row{Errno: unix.EBUSY, Cause: "the socket has its memory already", Kernel: "net/xdp/xsk.c: xsk_setsockopt"}),
		of(XSKRing,
			Row{Errno: unix.EINVAL, Cause: "the kernel does not take a ring of this length", Kernel: "net/xdp/xsk.c: xsk_init_queue"},
			Row{Errno: unix.EBUSY, Cause: "the socket is bound already", Kernel: "net/xdp/xsk.c: xsk_setsockopt"},
			Row{Errno: unix.ENOPROTOOPT, Cause: "this kernel's AF_XDP is older than the option", Do: "use Linux 5.4 or later", Look: "uname -r", Effect: Undoable,
				Undo: "boot the kernel of before", Kernel: "net/xdp/xsk.c: xsk_setsockopt"}),
		of(XSKMap, Row{Errno: unix.EINVAL, Cause: "the ring is not where the kernel said that it is", Kernel: "net/xdp/xsk.c: xsk_mmap"}),
		of(XSKAsk,
			Row{Errno: unix.EOPNOTSUPP, Cause: "this kernel's AF_XDP is older than the option", Do: "use Linux 5.4 or later", Look: "uname -r", Effect: Undoable,
				Undo: "boot the kernel of before", Kernel: "net/xdp/xsk.c: xsk_getsockopt"},
			Row{Errno: unix.EINVAL, Cause: "this kernel tells less of it", Do: "use Linux 5.9 or later", Look: "uname -r", Effect: Undoable, Undo: "boot the kernel of before",
				Kernel: "net/xdp/xsk.c: xsk_getsockopt"}),
		of(XSKBind,
			Row{Errno: unix.EBUSY, Cause: "another AF_XDP socket, or a memory provider, has the queue", Do: others, Look: "ss --xdp -ap", Effect: Undoable, Undo: "start it again",
				Kernel: "net/xdp/xsk_buff_pool.c: xp_assign_dev"},
			Row{Errno: unix.EINVAL, If: told(NoSuchQueue, fromQueues), Cause: "the interface has no such RX queue", Do: "choose another with --queue", Look: "ethtool -l DEV",
				Kernel: "net/core/dev.c: xsk_reg_pool_at_qid"},
			Row{Errno: unix.EINVAL, If: told(ZeroCopyAsked, "the mode"), Cause: "the driver cannot do it with this MTU, these rings or these features; virtio_net does it " +
				"only behind an IOMMU (QEMU: iommu_platform=on)", Do: "set a smaller MTU (--mtu) or other rings, or take copy mode (udp-xsk)",
				Look: "ethtool -l DEV, ethtool -g DEV, or dmesg,", Kernel: "net/xdp/xsk_buff_pool.c: xp_assign_dev"},
			Row{Errno: unix.EINVAL, Cause: "the interface has no such RX queue, or the driver cannot do it with this MTU, these rings or these features",
				Do: "choose another with --queue, or set a smaller MTU (--mtu)", Look: "ethtool -l DEV, or dmesg,", Kernel: "net/xdp/xsk.c: xsk_bind"},
			Row{Errno: unix.EOPNOTSUPP, If: told(ZeroCopyAsked, "the mode"), Cause: "its driver has no zero copy for AF_XDP", Do: "take copy mode (udp-xsk, xdp_redirect xsk)",
				Look: "ethtool -i DEV", Kernel: "net/xdp/xsk_buff_pool.c: xp_assign_dev"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "its driver has no queues for AF_XDP", Do: "use another interface", Look: "ethtool -i DEV", Kernel: "net/xdp/xsk.c: xsk_bind"},
			Row{Errno: unix.ENETDOWN, Cause: "the interface is down", Do: "bring it up: ip link set DEV up", Look: "ip link show DEV", Effect: Undoable,
				Undo: "ip link set DEV down", Kernel: "net/xdp/xsk.c: xsk_bind"},
			Row{Errno: unix.ENODEV, Cause: "the interface has gone meanwhile", Do: "name one that is there", Look: "ip link", Kernel: "net/xdp/xsk.c: xsk_bind"},
			Row{Errno: unix.ENOMEM, Cause: "the driver found no memory", Do: "set smaller rings, or fewer channels", Look: "dmesg", Kernel: "net/xdp/xsk_buff_pool.c: xp_dma_map"},
			Row{Errno: unix.ENOBUFS, Cause: "more memory would be locked than the process may", Do: "raise the limit of locked memory (ulimit -l)", Look: "ulimit -l",
				Effect: Undoable, Undo: "it goes with the shell", Kernel: "net/xdp/xdp_umem.c: xdp_umem_account_pages"}),
	)
}
