// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Calls on sockets whose payload is in memory that the kernel does not copy to or from.
const (
	SendZeroCopy Call = "send: MSG_ZEROCOPY"
	SendDevmem   Call = "send: SCM_DEVMEM_DMABUF"
	DontNeed     Call = "setsockopt: SO_DEVMEM_DONTNEED"
	MapReceive   Call = "getsockopt: TCP_ZEROCOPY_RECEIVE"
)

// OtherRoute: the flow's route leaves by another interface than DEV.
const OtherRoute Fact = "the route to ADDRESS leaves by another interface"

func devmemRows() []Row {
	const pinned, route = "net/core/skbuff.c: mm_account_pinned_pages", "net/core/devmem.c: net_devmem_get_binding"
	const again = "find out what changes routes (a network manager), and start over"
	limit := func(users bool, cause, do string) Row {
		return Row{Errno: unix.ENOBUFS, If: &state{Name: cause, From: fromMemlock, Holds: memory.limited(users, false)},
			Cause: cause, Do: do,
			Look: "ulimit -l", Kernel: pinned}
	}
	return slices.Concat(
		of(SendZeroCopy,
			limit(
				true, "the limit on locked memory may be used up, and CAP_IPC_LOCK of a user namespace does not "+
					"lift it",
				"raise the limit outside (ulimit -l unlimited, LimitMEMLOCK=infinity), or run on the host"),
			limit(false, "the limit on locked memory may be used up, and there is no CAP_IPC_LOCK",
				"raise it (ulimit -l unlimited, LimitMEMLOCK=infinity), or run with CAP_IPC_LOCK (root on the "+
					"host has it)"),
			Row{Errno: unix.ENOBUFS, Cause: "the socket may have no more memory for notifications",
				Do:   "sysctl -w net.core.optmem_max=4194304",
				Look: "sysctl net.core.optmem_max", Kernel: "net/core/skbuff.c: msg_zerocopy_realloc"}),
		of(SendDevmem,
			Row{Errno: unix.ENODEV, If: told(OtherRoute, "rtnetlink: RTM_GETROUTE"),
				Cause: "the route to ADDRESS leaves by another interface than DEV",
				Do:    "name the interface that the route leaves by, or change the route", Look: getWay,
				Effect: undoable,
				Undo:   "ip route replace what it was", Kernel: route},
			Row{Errno: unix.ENODEV, Cause: "the route to ADDRESS does not lead by DEV any more", Do: again,
				Look: getWay, Kernel: route}),
		of(DontNeed,
			Row{Errno: unix.ENOPROTOOPT, Cause: "this kernel does not receive into device memory",
				Do: "use Linux 6.12 or later with CONFIG_NET_DEVMEM, which 64-bit kernels with " +
					"CONFIG_DMA_SHARED_BUFFER and CONFIG_PAGE_POOL have",
				Look: "uname -r", Kernel: "net/core/sock.c: sk_setsockopt"},
			Row{Errno: unix.EINVAL, Cause: "more fragments were given back at once than the kernel takes",
				Kernel: "net/core/sock.c: sock_devmem_dontneed"},
			Row{Errno: unix.ENOMEM, Cause: "the kernel has no memory left", Look: "free -m", Do: lessNeed,
				Kernel: "net/core/sock.c: sock_devmem_dontneed"}),
		of(MapReceive,
			Row{Errno: unix.ENOPROTOOPT, Cause: "this kernel does not map payload of TCP",
				Do:   "use --rx tcp: it needs Linux 4.18 or later, built with CONFIG_MMU",
				Look: "uname -r", Kernel: "net/ipv4/tcp.c: do_tcp_getsockopt"},
			Row{Errno: unix.EINVAL, Cause: "the window is not mapped, or the kernel does not know the request",
				Do: "use --rx tcp", Look: "uname -r",
				Kernel: "net/ipv4/tcp.c: tcp_zerocopy_receive"},
			Row{Cause: "the kernel gives no payload", Do: "use --rx tcp", Look: "uname -r",
				Kernel: "net/ipv4/tcp.c: tcp_zerocopy_receive"}),
	)
}
