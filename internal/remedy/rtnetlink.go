// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"github.com/zcbench/zcbench/internal/privilege"
	"golang.org/x/sys/unix"
)

// Route netlink (net/core/rtnetlink.c), and the namespaces that it is asked in.
const (
	rtnetlink  Call = "netlink: route"
	LinkGet    Call = "netlink: route: RTM_GETLINK"
	LinkMTU    Call = "netlink: route: RTM_SETLINK of mtu"
	LinkGSO    Call = "netlink: route: RTM_SETLINK of gso-max-size, gso-ipv4-max-size"
	LinkGRO    Call = "netlink: route: RTM_SETLINK of gro-max-size, gro-ipv4-max-size"
	LinkUp     Call = "netlink: route: RTM_NEWLINK of up"
	VethAdd    Call = "netlink: route: RTM_NEWLINK of veth"
	NetkitAdd  Call = "netlink: route: RTM_NEWLINK of netkit"
	LinkDelete Call = "netlink: route: RTM_DELLINK"
	RouteAdd   Call = "netlink: route: RTM_NEWROUTE"
	AddrAdd    Call = "netlink: route: RTM_NEWADDR"
	AddrGet    Call = "netlink: route: RTM_GETADDR"
	NeighGet   Call = "netlink: route: RTM_GETNEIGH"
	NetnsIDGet Call = "netlink: route: RTM_GETNSID"
	QdiscGet   Call = "netlink: route: RTM_GETQDISC"
	NetnsMake  Call = "unshare: CLONE_NEWNET"
	NetnsEnter Call = "setns: CLONE_NEWNET"
	SysfsMount Call = "fsopen, fsmount: sysfs"
	NetnsOpen  Call = "file: a network namespace"
)

func rtnetlinkRows() []Row {
	const (
		limits   = "ip -d link show DEV"
		oldGuard = "net/core/rtnetlink.c: validate_linkmsg"
	)
	return slices.Concat(
		netAdmin("net/core/rtnetlink.c: rtnetlink_rcv_msg", rtnetlink),
		of(LinkMTU,
			Row{Errno: unix.EINVAL, If: told(XDPAttached, fromXDP),
				Cause: "an XDP program is attached to DEV, and the driver takes no such MTU with it",
				Do:    "set a smaller MTU, or " + xdpOff, Look: xdpLook, Effect: undoable, Undo: xdpOnAgain,
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_main.c: mlx5e_change_mtu"},
			Row{Errno: unix.EINVAL, Cause: "the MTU is not within the driver's limits (minmtu, maxmtu), or its " +
				"rings allow no such MTU",
				Do: "set an MTU within the limits; one page of payload over IPv4 needs 4148", Look: limits,
				Kernel: "net/core/dev.c: dev_validate_mtu"},
			Row{Errno: unix.EBUSY, Cause: "the driver is resetting the NIC", Do: "run zcbench again when DEV is back",
				Look:   "dmesg",
				Kernel: "drivers/net/ethernet/intel/ice/ice_main.c: ice_change_mtu"}),
		of(LinkGSO,
			Row{Errno: unix.EINVAL, Cause: "the driver's limit is smaller",
				Do: "set gso-max-size up to the tso_max_size of DEV", Look: limits,
				Kernel: oldGuard},
			Row{Errno: unix.ERANGE, Cause: "the value is smaller than the headers of TCP",
				Do: "set gso-max-size above 256, such as 65536", Look: limits,
				Kernel: "lib/nlattr.c: nla_validate_range_unsigned"}),
		of(LinkGRO,
			Row{Errno: unix.EINVAL, Cause: "the kernel's limit is 524280", Do: "set gro-max-size up to 524280",
				Look:   limits,
				Kernel: oldGuard}),
		of(VethAdd,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the kernel has no veth driver", Do: "modprobe veth",
				Look: "modinfo veth", Effect: undoable,
				Undo: "modprobe -r veth", Kernel: "net/core/rtnetlink.c: __rtnl_newlink"},
			Row{Errno: unix.EEXIST, Cause: "an interface of this name is there already",
				Do:   "delete that interface if nobody needs it (ip link del DEV), or use another name",
				Look: "ip link show DEV", Effect: undoable, Undo: "ip link add DEV, as ip -d link show DEV showed it",
				Kernel: "net/core/rtnetlink.c: rtnl_changelink"},
			Row{Errno: unix.EINVAL, Cause: "the name or the MTU is none that the kernel takes",
				Do:     "use an MTU from 68 to 65535",
				Kernel: "drivers/net/veth.c: veth_validate"}),
		of(NetkitAdd,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the kernel has no netkit (6.7)",
				Do: "use Linux 7.1 or later, with CONFIG_NETKIT", Look: "uname -r", Effect: undoable,
				Undo: "boot the kernel of before", Kernel: "net/core/rtnetlink.c: __rtnl_newlink"},
			Row{Errno: unix.EEXIST, Cause: "an interface of this name is there already",
				Do: "name another interface (--dev)", Look: "ip link show DEV",
				Kernel: "net/core/rtnetlink.c: rtnl_changelink"},
			Row{Errno: unix.EINVAL, Cause: "the name or the MTU is none that the kernel takes",
				Do: "name an interface of at most 15 characters (--dev)", Kernel: "net/core/dev.c: dev_valid_name"}),
		of(LinkDelete,
			Row{Errno: unix.EOPNOTSUPP, Cause: "DEV is no interface that can be deleted",
				Do: "look at what it is, and run: zcbench restore", Look: "ip -d link show DEV",
				Kernel: "net/core/rtnetlink.c: rtnl_delete_link"}),
		of(RouteAdd,
			Row{Errno: unix.ENETDOWN, Cause: "DEV is down", Do: "run zcbench again", Look: "ip link show DEV",
				Kernel: "net/ipv4/fib_semantics.c: fib_check_nh"},
			Row{Errno: unix.EINVAL, Cause: "the kernel takes no such route",
				Do:   "look for rules and routes of the namespace",
				Look: "ip route show table all", Kernel: "net/ipv4/fib_frontend.c: rtm_to_fib_config"}),
		of(AddrAdd,
			Row{Errno: unix.EEXIST, Cause: "the interface has the address already",
				Do:   "use that address as it is, or another one that is free",
				Look: "ip addr show dev DEV", Kernel: "net/ipv4/devinet.c: __inet_insert_ifa"},
			Row{Errno: unix.EACCES, Cause: "IPv6 is switched off on the interface",
				Do: "sysctl -w net.ipv6.conf.DEV.disable_ipv6=0", Look: "sysctl net.ipv6.conf.DEV.disable_ipv6",
				Effect: undoable,
				Undo:   "sysctl -w net.ipv6.conf.DEV.disable_ipv6=1", Kernel: "net/ipv6/addrconf.c: ipv6_add_addr"},
			Row{Errno: unix.EADDRNOTAVAIL, Cause: "the address is none that an interface can have",
				Do:     "use a unicast address",
				Kernel: "net/ipv6/addrconf.c: ipv6_add_addr"}),
		needAdmin(NetnsMake, "kernel/nsproxy.c: unshare_nsproxy_namespaces"),
		of(NetnsMake,
			Row{Errno: unix.EINVAL, Cause: "the kernel has no network namespaces",
				Do: "boot a kernel with CONFIG_NET_NS", Look: "ls /proc/self/ns/net",
				Effect: undoable, Undo: "boot the kernel of before",
				Kernel: "include/net/net_namespace.h: copy_net_ns"},
			Row{Errno: unix.ENOSPC, Cause: "there are as many network namespaces as may be",
				Do:   "raise the limit: sysctl -w user.max_net_namespaces=N",
				Look: "sysctl user.max_net_namespaces, or lsns -t net,", Effect: undoable,
				Undo:   "sysctl -w user.max_net_namespaces= with what it was",
				Kernel: "net/core/net_namespace.c: copy_net_ns"}),
		of(NeighGet, Row{Errno: unix.ENOENT, Cause: "nobody has answered yet for ADDRESS on the link of DEV",
			Do:   "send ADDRESS something (ping ADDRESS), and run zcbench again",
			Look: "ip neigh show dev DEV", Kernel: "net/core/neighbour.c: neigh_get"}),
		of(NetnsIDGet, Row{Errno: unix.EINVAL, Cause: "PATH is no network namespace",
			Do:   "name a network namespace, such as /run/netns/NAME or /proc/PID/ns/net",
			Look: "ls -l PATH", Kernel: "net/core/net_namespace.c: rtnl_net_getid"}),
		lacking(need{call: NetnsEnter, over: privilege.Own, caps: []privilege.Cap{unix.CAP_SYS_ADMIN},
			kernel: "net/core/net_namespace.c: netns_install"}),
		of(NetnsEnter, Row{Errno: unix.EPERM, If: filtered,
			Cause: "the capability is there, so the seccomp filter of a container or service may forbid the call",
			Do:    "allow the call in its seccomp profile, or run on the host", Look: "grep Seccomp /proc/self/status",
			Kernel: "kernel/seccomp.c: __seccomp_filter"},
			Row{Errno: unix.EPERM, Cause: "the namespace belongs to another user namespace",
				Do:   "run on the host, or as root outside",
				Look: "lsns -t net -o NS,TYPE,PID,USER", Kernel: "net/core/net_namespace.c: netns_install"}),
		of(NetnsEnter, Row{Errno: unix.EINVAL, Cause: "PATH is no network namespace",
			Do:   "name a network namespace, such as /run/netns/NAME or /proc/PID/ns/net",
			Look: "ls -l PATH", Kernel: "kernel/nsproxy.c: setns"}),
		needAdmin(SysfsMount, "fs/fsopen.c: fsopen"),
		of(SysfsMount, Row{Errno: unix.ENODEV, Cause: "the kernel has no sysfs", Do: "boot a kernel with CONFIG_SYSFS",
			Look:   "grep sysfs /proc/filesystems",
			Effect: undoable, Undo: "boot the kernel of before", Kernel: "fs/fsopen.c: fsopen"}),
		of(NetnsOpen, Row{Errno: unix.ENOENT, If: noFile, Cause: "there is no such network namespace",
			Do:   "name a network namespace that is there",
			Look: "ip netns list, or lsns -t net,", Kernel: "fs/namei.c: link_path_walk"}),
	)
}
