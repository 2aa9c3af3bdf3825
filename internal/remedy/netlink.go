// SPDX-License-Identifier: MIT

package remedy

import (
	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// Netlink: what all requests may be answered, and what opens the way to them.
const (
	Netlink       Call = "netlink"
	NetlinkSocket Call = "netlink: socket"
	NetlinkFamily Call = "netlink: CTRL_CMD_GETFAMILY"
	NetnsCookie   Call = "getsockopt: SO_NETNS_COOKIE"
)

func netlinkRows() []Row {
	return append(append(of(Netlink,
		Row{Errno: unix.ENODEV, If: noDev, Cause: "no such interface in this network namespace",
			Do: "name an interface that is there, or its namespace (--netns)", Look: "ip link",
			Kernel: "net/core/dev.c: __dev_get_by_index"},
		Row{Errno: unix.ENODEV, Cause: "the interface has gone meanwhile, or its driver is resetting it",
			Do: "run zcbench again when DEV is back", Look: "ip link show DEV, or dmesg,",
			Kernel: "net/ethtool/netlink.c: ethnl_ops_begin"},
		Row{Errno: unix.EOPNOTSUPP, Cause: "this kernel does not have the request, or the driver does not",
			Do: "use a newer kernel, or leave out what asks for it", Look: "uname -r, or ethtool -i DEV,",
			Kernel: "net/netlink/genetlink.c: genl_family_rcv_msg"},
		Row{Errno: unix.EINVAL, Cause: "the kernel does not accept the request: it is older than what was asked " +
			"for, or a value is out of range",
			Do: "compare the value with what the driver reports, or use a newer kernel", Look: "uname -r",
			Kernel: "lib/nlattr.c: __nla_validate_parse"},
		Row{Errno: unix.ERANGE, Cause: "a value is out of the range that the kernel, or the driver, has for it",
			Do:     "set a value within the range that the kernel or the driver has",
			Kernel: "lib/nlattr.c: nla_validate_range_unsigned"},
		Row{Errno: unix.EBUSY, Cause: "the kernel is still answering another request",
			Do: "run zcbench again", Kernel: "net/netlink/af_netlink.c: __netlink_dump_start"},
		Row{Errno: unix.ENOBUFS,
			Cause:  "the kernel had no memory for its answer, or it did not fit into the socket's buffer",
			Do:     "run zcbench again",
			Kernel: "net/netlink/af_netlink.c: netlink_overrun"},
		Row{Errno: unix.EMSGSIZE, Cause: "the kernel's answer does not fit into one message",
			Kernel: "lib/nlattr.c: nla_put"},
		Row{Errno: unix.ECONNREFUSED, Cause: "nobody answers netlink of this kind: the kernel was built without it",
			Do: "boot a kernel with CONFIG_NET", Effect: undoable, Undo: "boot the kernel of before",
			Kernel: "net/netlink/af_netlink.c: netlink_getsockbyportid"},
		Row{Errno: unix.ETIMEDOUT, Cause: "the NIC's firmware did not answer in time",
			Do: "read what the driver says of it in the kernel's log", Look: "dmesg",
			Kernel: "drivers/net/ethernet/mellanox/mlx5/core/cmd.c: wait_func"},
	), of(NetlinkSocket,
		Row{Errno: unix.EAFNOSUPPORT, If: filtered, Cause: "the container or service does not allow netlink sockets",
			Do:     "allow AF_NETLINK there (RestrictAddressFamilies= of systemd, the seccomp profile of a container)",
			Kernel: "kernel/seccomp.c: __seccomp_filter"},
		Row{Errno: unix.EAFNOSUPPORT, Cause: "the kernel has no netlink", Do: "boot a kernel with CONFIG_NET",
			Effect: undoable,
			Undo:   "boot the kernel of before", Kernel: "net/socket.c: __sock_create"},
		Row{Errno: unix.EPROTONOSUPPORT, Cause: "the kernel has no netlink of this kind",
			Do:     "boot a kernel with CONFIG_NET",
			Effect: undoable, Undo: "boot the kernel of before", Kernel: "net/netlink/af_netlink.c: netlink_create"},
	)...), append(of(NetlinkFamily,
		Row{Errno: unix.ENOENT, Cause: "the kernel does not have this family of generic netlink: ethtool needs " +
			"CONFIG_ETHTOOL_NETLINK, " +
			"netdev Linux 6.3 or later", Do: "boot Linux 6.3 or later with CONFIG_ETHTOOL_NETLINK",
			Look:   "genl ctrl list",
			Effect: undoable, Undo: "boot the kernel of before", Kernel: "net/netlink/genetlink.c: ctrl_getfamily"},
	), of(NetnsCookie,
		Row{Errno: unix.ENOPROTOOPT, Cause: "this kernel does not number network namespaces",
			Do:   "use Linux 5.14 or later",
			Look: "uname -r", Effect: undoable, Undo: "boot the kernel of before",
			Kernel: "net/core/sock.c: sk_getsockopt"},
	)...)...)
}

// netAdmin wants CAP_NET_ADMIN in the user namespace of the network namespace.
func netAdmin(kernel string, calls ...Call) (rows []Row) {
	for _, c := range calls {
		rows = append(rows, need{call: c, over: privilege.Net, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
			kernel: kernel}.rows()...)
	}
	return rows
}
