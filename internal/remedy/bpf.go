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
	bpf       Call = "bpf"
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
	NativeXDP     Fact = "the driver of DEV has native XDP"
)

// enotsupp is the kernel's own ENOTSUPP (include/linux/errno.h), which eBPF lets out to programs.
// It is not EOPNOTSUPP, which C libraries call ENOTSUP, too.
const enotsupp = unix.Errno(524)

// lockedDown: lockdown=confidentiality lets nobody read the kernel's memory by eBPF.
var lockedDown = &state{Name: "the kernel is locked down", From: "/sys/kernel/security/lockdown",
	Holds: func(On) (string, bool) {
		b, err := os.ReadFile("/sys/kernel/security/lockdown")
		return "", err == nil && strings.Contains(string(b), "[confidentiality]")
	}}

var noBTF = &state{Name: "the kernel does not describe its types", From: "stat /sys/kernel/btf/vmlinux",
	Holds: func(On) (string, bool) {
		_, err := os.Stat("/sys/kernel/btf/vmlinux")
		return "", os.IsNotExist(err)
	}}

func bpfRows() []Row {
	const bootBack = "boot the kernel of before"
	types := Row{Errno: unix.ENOENT, If: noBTF, Cause: "the kernel does not describe its types",
		Do:   "boot a kernel with CONFIG_DEBUG_INFO_BTF=y",
		Look: "ls /sys/kernel/btf/vmlinux", Effect: undoable, Undo: bootBack,
		Kernel: "kernel/bpf/sysfs_btf.c: btf_vmlinux_init"}
	return slices.Concat(
		of(bpf,
			Row{Errno: unix.ENOSYS, If: filtered, Cause: "the seccomp filter of a container or service hides eBPF",
				Do:   "allow bpf in its seccomp profile, or run on the host",
				Look: "grep Seccomp /proc/self/status", Kernel: "kernel/seccomp.c: __seccomp_filter"},
			Row{Errno: unix.ENOSYS, Cause: "the kernel was built without CONFIG_BPF_SYSCALL",
				Do: "boot a kernel with CONFIG_BPF_SYSCALL", Look: "zcat /proc/config.gz",
				Effect: undoable, Undo: bootBack, Kernel: "kernel/sys_ni.c: sys_ni_syscall"},
			Row{Errno: unix.EBUSY, Cause: "another program's eBPF is there already",
				Do: "see whose eBPF it is, and end that program", Look: "bpftool link", Effect: undoable,
				Undo: "start the program again", Kernel: "kernel/bpf/trampoline.c: __bpf_trampoline_link_prog"},
			Row{Errno: unix.ENOSPC, Cause: "a limit of the kernel's on eBPF is reached",
				Do:   "end the program that has most eBPF programs and maps",
				Look: "bpftool prog, or bpftool map,", Effect: undoable, Undo: "start the program again",
				Kernel: "kernel/bpf/syscall.c: bpf_map_alloc_id"}),
		need{call: BPFLoad, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_BPF, unix.CAP_PERFMON,
			unix.CAP_NET_ADMIN},
			kernel: "kernel/bpf/syscall.c: bpf_prog_load"}.rows(),
		lacking(need{call: BPFLoad, errno: unix.EACCES, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_BPF,
			unix.CAP_PERFMON},
			kernel: "kernel/bpf/verifier.c: bpf_check"}),
		of(BPFLoad,
			Row{Errno: unix.EACCES, Cause: "this kernel's verifier takes the program for unsafe",
				Kernel: "kernel/bpf/verifier.c: bpf_check"},
			types,
			Row{Errno: unix.EINVAL, If: lockedDown,
				Cause: "the kernel is locked down, and lets nobody read its memory by eBPF",
				Do:    "boot without lockdown=confidentiality", Look: "cat /sys/kernel/security/lockdown",
				Effect: undoable,
				Undo:   "boot with lockdown=confidentiality again",
				Kernel: "kernel/bpf/helpers.c: bpf_base_func_proto"},
			Row{Errno: unix.EINVAL, Cause: "this kernel is older than the program (VALUE)", Do: "use VALUE or later",
				Look: "uname -r", Effect: undoable,
				Undo: bootBack, Kernel: "kernel/bpf/verifier.c: bpf_check"},
			Row{Errno: unix.E2BIG, Cause: "this kernel is older than the form of the request, or the map is too large",
				Do:   "use a newer kernel, or fewer flows",
				Look: "uname -r", Effect: undoable, Undo: bootBack,
				Kernel: "kernel/bpf/syscall.c: bpf_check_uarg_tail_zero"},
			Row{Errno: enotsupp, Cause: "this kernel has no compiler for eBPF on this processor, or it is switched off",
				Do:   "sysctl -w net.core.bpf_jit_enable=1, or boot a kernel with CONFIG_BPF_JIT",
				Look: "sysctl net.core.bpf_jit_enable", Effect: undoable,
				Undo:   "sysctl -w net.core.bpf_jit_enable= with what it was",
				Kernel: "kernel/bpf/core.c: __bpf_prog_select_runtime"},
			Row{Errno: unix.EOPNOTSUPP,
				Cause: "this kernel, or its processor, lacks something that the program is made for",
				Do:    "use a newer kernel", Look: "uname -rm",
				Effect: undoable, Undo: bootBack, Kernel: "kernel/bpf/verifier.c: bpf_check_attach_target"},
			Row{Errno: unix.ENOENT, Cause: "this kernel lacks a function or type that the program is made for",
				Do: "use a newer kernel", Look: "uname -r", Effect: undoable,
				Undo: bootBack, Kernel: "kernel/bpf/btf.c: btf_find_by_name_kind"}),
		of(BPFAttach,
			Row{Errno: unix.EINVAL, Cause: "this kernel cannot attach a program there", Do: "use a newer kernel",
				Look: "uname -r", Effect: undoable, Undo: bootBack,
				Kernel: "kernel/bpf/syscall.c: bpf_tracing_prog_attach"},
			Row{Errno: unix.E2BIG, Cause: "as many programs are attached there as may be",
				Do: "end other programs that trace the kernel", Look: "bpftool link",
				Effect: undoable, Undo: "start them again", Kernel: "kernel/bpf/trampoline.c: bpf_trampoline_add_prog"},
			Row{Errno: enotsupp, Cause: "this kernel cannot attach programs to its functions",
				Do: "boot a kernel with CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS and CONFIG_BPF_JIT; on arm64, " +
					"6.0 or later",
				Look: "uname -rm", Effect: undoable, Undo: bootBack,
				Kernel: "kernel/bpf/trampoline.c: arch_prepare_bpf_trampoline"},
			Row{Errno: unix.ENOENT, Cause: "this kernel has no such place to attach to", Do: "use a newer kernel",
				Look: "uname -r", Effect: undoable, Undo: bootBack,
				Kernel: "kernel/bpf/syscall.c: bpf_raw_tp_link_attach"}),
		need{call: Memlock, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_SYS_RESOURCE},
			or:     "use Linux 5.11 or later, which needs none",
			kernel: "kernel/sys.c: do_prlimit"}.rows(),
		need{call: BPFStats, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_SYS_ADMIN},
			kernel: "kernel/bpf/syscall.c: bpf_enable_stats"}.rows(),
		of(BPFStats, Row{Errno: unix.EINVAL, Cause: "this kernel does not time programs for who asks (5.8)",
			Do: "use Linux 5.8 or later", Look: "uname -r",
			Effect: undoable, Undo: bootBack, Kernel: "kernel/bpf/syscall.c: bpf_enable_stats"}),
		xdpRows(), xskRows())
}

func xdpRows() []Row {
	const (
		attach  = "net/core/dev.c: dev_xdp_attach"
		generic = "use --xdp-attach generic, which works on any interface, or make settings that the driver " +
			"allows XDP with: " +
			"a smaller MTU (--mtu), header split, LRO and rx-gro-hw off, rx-buf-len 2048 (gve), combined " +
			"channels, fewer of them"
	)
	return slices.Concat(
		of(XDPAttach,
			Row{Errno: unix.EBUSY, Cause: "another XDP program is attached, and zcbench does not replace it",
				Do: "see whose XDP program it is, and end what attached it, or use another interface", Look: xdpLook,
				Effect: undoable,
				Undo:   "start the program again", Kernel: attach},
			Row{Errno: unix.EEXIST, Cause: "another XDP program is attached to an interface above DEV (a bond, a team)",
				Do:   "end the program that attached it, or use that interface above",
				Look: "bpftool net, or ip -d link show,", Effect: undoable,
				Undo: "start the program again", Kernel: attach},
			Row{Errno: unix.EOPNOTSUPP, If: told(NativeXDP, "netdev netlink: dev-get"),
				Cause: "the driver has native XDP, but not with its present settings",
				Do:    generic + linkFalls, Look: "ip -d link show DEV, ethtool -g, -k, -l DEV, or dmesg,",
				Effect: undoable,
				Undo:   "ip link, ethtool -G, -K, -L with what they showed before",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_xdp.c: bnxt_xdp_set"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no native XDP",
				Do:   "use --xdp-attach generic, which works on any interface",
				Look: "ethtool -i DEV", Kernel: attach},
			Row{Errno: unix.EINVAL, If: noDev, Cause: "there is no such interface in this network namespace",
				Do:   "name an interface that is there, or its namespace (--netns)",
				Look: "ip link", Kernel: "net/core/dev.c: bpf_xdp_link_attach"},
			Row{Errno: unix.EINVAL, Cause: "the driver cannot do XDP with the present MTU, rings or features",
				Do: generic + linkFalls, Look: "ip -d link show DEV, ethtool -g, -k, -l DEV, or dmesg,",
				Effect: undoable,
				Undo:   "ip link, ethtool -G, -K, -L with what they showed before",
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_main.c: mlx5e_xdp_allowed"},
			Row{Errno: unix.ERANGE, Cause: "the MTU of the interface (on veth, of its peer) is too large for " +
				"its driver",
				Do: "set a smaller MTU (--mtu)" + linkFalls + "; or use --xdp-attach generic", Look: "ip link show DEV",
				Effect: undoable,
				Undo:   "ip link set DEV mtu with what it was", Kernel: "drivers/net/veth.c: veth_xdp_set"},
			Row{Errno: unix.ENOSPC, Cause: "no TX queue is left for XDP (idpf), or the peer of a veth has more " +
				"TX queues than DEV has RX queues",
				Do: "use fewer channels: ethtool -L DEV combined N; of veth's peer: ethtool -L PEER tx 1" +
					linkFalls,
				Look:   "ethtool -l DEV",
				Effect: undoable, Undo: backL, Kernel: "drivers/net/veth.c: veth_xdp_set"},
			Row{Errno: unix.ENOMEM, Cause: "the NIC has too few TX rings for XDP beside the present ones, or the " +
				"driver no memory",
				Do:   "use fewer channels (--channels), or smaller rings (--rx-ring)" + linkFalls,
				Look: "ethtool -l DEV, or dmesg,", Effect: undoable,
				Undo:   "ethtool -L, -G with what ethtool -l, -g showed before",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_xdp.c: bnxt_xdp_set"}),
		of(XDPLive,
			Row{Errno: unix.EINVAL, Cause: "this kernel runs no programs on live frames (5.18), or the frames do " +
				"not fit into a page",
				Do: "use Linux 5.18 or later, or smaller frames", Look: "uname -r", Effect: undoable,
				Undo:   "boot the kernel of before",
				Kernel: "net/bpf/test_run.c: bpf_prog_test_run_xdp"},
			Row{Errno: unix.ENOMEM, Cause: "the kernel had no memory for the frames",
				Do:   "use a smaller --burst, or end programs that hold much memory",
				Look: "free -m", Effect: undoable, Undo: "start them again",
				Kernel: "net/bpf/test_run.c: xdp_test_run_setup"}),
		of(XDPSocket,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the socket is none of AF_XDP",
				Kernel: "net/xdp/xskmap.c: xsk_map_update_elem"},
			Row{Errno: unix.E2BIG, Cause: "the queue's number is above the map's", Do: "use a queue below 64 (--queue)",
				Kernel: "net/xdp/xskmap.c: xsk_map_update_elem"},
			Row{Errno: unix.ENOBUFS, Cause: "the AF_XDP socket has no RX ring",
				Kernel: "net/xdp/xskmap.c: xsk_map_update_elem"}),
	)
}

func xskRows() []Row {
	const (
		moreLocked = "raise the limit of locked memory for this shell: ulimit -l unlimited"
		older      = "this kernel's AF_XDP is older than the option"
	)
	return slices.Concat(
		need{call: XSKSocket, over: privilege.Net, caps: []privilege.Cap{unix.CAP_NET_RAW},
			kernel: "net/xdp/xsk.c: xsk_create"}.rows(),
		of(XSKSocket,
			Row{Errno: unix.EAFNOSUPPORT, If: filtered,
				Cause: "the container or service does not allow sockets of AF_XDP, or the kernel has none",
				Do: "allow AF_XDP there (RestrictAddressFamilies= of systemd, the seccomp profile of a " +
					"container), or run on the host",
				Look:   "grep Seccomp /proc/self/status",
				Kernel: "kernel/seccomp.c: __seccomp_filter"},
			Row{Errno: unix.EAFNOSUPPORT, Cause: "the kernel was built without CONFIG_XDP_SOCKETS",
				Do:   "boot a kernel with CONFIG_XDP_SOCKETS, or use a mode without AF_XDP",
				Look: "zcat /proc/config.gz", Effect: undoable, Undo: "boot the kernel of before",
				Kernel: "net/socket.c: __sock_create"},
			Row{Errno: unix.ESOCKTNOSUPPORT, Cause: "the kernel knows no such socket of AF_XDP",
				Kernel: "net/xdp/xsk.c: xsk_create"},
			Row{Errno: unix.EPROTONOSUPPORT, Cause: "the kernel knows no such protocol of AF_XDP",
				Kernel: "net/xdp/xsk.c: xsk_create"},
			Row{Errno: unix.ENOBUFS, Cause: "the kernel has no memory for a socket",
				Do: "end programs that hold much memory", Look: "free -m", Effect: undoable,
				Undo: "start them again", Kernel: "net/xdp/xsk.c: xsk_create"}),
		of(XSKMemory,
			Row{Errno: unix.ENOBUFS, Cause: "more memory would be locked than the process may",
				Do:   moreLocked + ", or run with CAP_IPC_LOCK",
				Look: "ulimit -l", Effect: undoable, Undo: "it goes with the shell",
				Kernel: "net/xdp/xdp_umem.c: xdp_umem_account_pages"},
			Row{Errno: unix.EINVAL, Cause: "the kernel does not take frames of this size",
				Do:   "use a smaller message, or a smaller MTU (--mtu)" + linkFalls,
				Look: "getconf PAGESIZE", Effect: undoable, Undo: "ip link set DEV mtu with what it was",
				Kernel: "net/xdp/xdp_umem.c: xdp_umem_reg"},
			Row{Errno: unix.EBUSY, Cause: "the socket has its memory already",
				Kernel: "net/xdp/xsk.c: xsk_setsockopt"}),
		of(XSKRing,
			Row{Errno: unix.EINVAL, Cause: "the kernel does not take a ring of this length",
				Kernel: "net/xdp/xsk.c: xsk_init_queue"},
			Row{Errno: unix.EBUSY, Cause: "the socket is bound already", Kernel: "net/xdp/xsk.c: xsk_setsockopt"},
			Row{Errno: unix.ENOPROTOOPT, Cause: older, Do: "use Linux 5.4 or later", Look: "uname -r", Effect: undoable,
				Undo: "boot the kernel of before", Kernel: "net/xdp/xsk.c: xsk_setsockopt"}),
		of(XSKMap, Row{Errno: unix.EINVAL, Cause: "the ring is not where the kernel said that it is",
			Kernel: "net/xdp/xsk.c: xsk_mmap"}),
		of(XSKAsk,
			Row{Errno: unix.EOPNOTSUPP, Cause: older, Do: "use Linux 5.9 or later", Look: "uname -r", Effect: undoable,
				Undo: "boot the kernel of before", Kernel: "net/xdp/xsk.c: xsk_getsockopt"},
			Row{Errno: unix.EINVAL, Cause: "the kernel wants more room for its answer than zcbench gives",
				Kernel: "net/xdp/xsk.c: xsk_getsockopt"}),
		xskBindRows())
}

func xskBindRows() []Row {
	return of(XSKBind,
		Row{Errno: unix.EBUSY, Cause: "another AF_XDP socket has the queue, it is leased to a virtual interface, " +
			"or, for zero copy, a queue of DEV has a memory provider",
			Do:     "end the program that has the queue, or choose another queue with --queue",
			Look:   "ss --xdp -ap, or ynl --family netdev --dump queue-get,",
			Effect: undoable, Undo: "start the program again", Kernel: "net/xdp/xsk_buff_pool.c: xp_assign_dev"},
		Row{Errno: unix.EINVAL, If: told(NoSuchQueue, fromQueues), Cause: "the interface has no such RX queue",
			Do:   "choose another queue with --queue",
			Look: "ethtool -l DEV", Kernel: "net/xdp/xsk.c: xsk_reg_pool_at_qid"},
		Row{Errno: unix.EINVAL, If: told(ZeroCopyAsked, "the mode"),
			Cause: "the driver cannot do zero copy with this MTU, these rings or these features; virtio_net does it " +
				"only behind an IOMMU (QEMU: iommu_platform=on)",
			Do:   "take copy mode (udp-xsk), or set a smaller MTU (--mtu) or other rings" + linkFalls,
			Look: "ethtool -l DEV, ethtool -g DEV, or dmesg,", Effect: undoable,
			Undo:   "ip link set DEV mtu, ethtool -G with what they showed before",
			Kernel: "net/xdp/xsk_buff_pool.c: xp_assign_dev"},
		Row{Errno: unix.EINVAL, Cause: "the interface has no such queue", Do: "choose another queue with --queue",
			Look:   "ethtool -l DEV",
			Kernel: "net/xdp/xsk.c: xsk_reg_pool_at_qid"},
		Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no zero copy for AF_XDP, or not with its present " +
			"settings (gve: header split, rx-gro-hw, MTU)",
			Do: "take copy mode (udp-xsk, xdp_redirect xsk)", Look: "ethtool -i DEV, or dmesg,",
			Kernel: "net/xdp/xsk_buff_pool.c: xp_assign_dev"},
		Row{Errno: unix.ENOENT, Cause: "virtio_net has no AF_XDP with large packets and without mergeable buffers",
			Do:     "take copy mode (udp-xsk, xdp_redirect xsk), or give the virtual NIC mrg_rxbuf=on",
			Look:   "ethtool -k DEV",
			Effect: undoable, Undo: "give the virtual NIC mrg_rxbuf=off again",
			Kernel: "drivers/net/virtio_net.c: virtnet_xsk_pool_enable"},
		Row{Errno: unix.ENODEV, Cause: "there is no such interface in this network namespace any more",
			Do: "name an interface that is there", Look: "ip link",
			Kernel: "net/xdp/xsk.c: xsk_bind"},
		Row{Errno: unix.ENOMEM, Cause: "the driver found no memory",
			Do: "use smaller rings (--rx-ring), or fewer channels (--channels)" + linkFalls, Look: "dmesg",
			Effect: undoable, Undo: "ethtool -G, -L with what ethtool -g, -l showed before",
			Kernel: "net/xdp/xsk_buff_pool.c: xp_dma_map"},
	)
}
