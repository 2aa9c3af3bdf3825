// SPDX-License-Identifier: MIT

package remedy

import "golang.org/x/sys/unix"

// Connect is the call by which a sender reaches its receiver, Route the look at by which interface
// it will.
const (
	Connect Call = "connect: TCP"
	Route   Call = "netlink: route: RTM_GETROUTE"
)

const (
	rules   = "nft list ruleset; iptables -S; firewall-cmd --list-all, on the receiver's host"
	getWay  = "ip route get ADDRESS"
	openOne = "let the firewall pass one port, and name it with --port N (in files port: N)"
	refuses = openOne + "; if none does that, another host has the address (arping, ip neigh)"
)

func connectRows() []Row {
	c := func(r Row) Row { r.Call = Connect; return r }
	return []Row{
		c(Row{Errno: unix.ECONNREFUSED, If: ownReject, Cause: "this host's own firewall rejects it", Look: "nft list ruleset; iptables -S OUTPUT",
			Do: "let it pass the port, and name one with --port N (in files port: N)", Kernel: "net/ipv4/tcp_ipv4.c: tcp_v4_err"}),
		c(Row{Errno: unix.ECONNREFUSED, If: rejectedTogether, Cause: "a firewall rejects it", Look: rules, Do: openOne,
			Kernel: "net/ipv4/tcp_ipv4.c: tcp_v4_err"}),
		c(Row{Errno: unix.ECONNREFUSED, If: rejected, Cause: "a firewall rejects it", Look: rules,
			Do: "let the receiver listen at a port that passes", Kernel: "net/ipv4/tcp_ipv4.c: tcp_v4_err"}),
		c(Row{Errno: unix.ECONNREFUSED, If: together, Cause: "most likely a firewall rejects it: the receiver listens, but ADDRESS port PORT answered with a reset",
			Look: rules, Do: refuses, Kernel: "net/ipv4/tcp_input.c: tcp_reset"}),
		c(Row{Errno: unix.ECONNREFUSED, Cause: "nothing listens at ADDRESS port PORT, or a firewall answers with a reset",
			Look: "ss -ltn on the receiver's host", Do: "start the receiver first, or check its address and port",
			Kernel: "net/ipv4/tcp_input.c: tcp_reset"}),

		c(Row{Errno: unix.EHOSTUNREACH, If: downLink, Cause: "the link to the receiver is down", Look: "ip -br link",
			Do: "set it up, or check the cable and the other end", Kernel: "net/ipv4/route.c: ipv4_link_failure"}),
		c(Row{Errno: unix.EHOSTUNREACH, If: noNeighbour, Cause: "nothing on the link answers to ADDRESS, or to the gateway on the way (ARP, neighbour discovery)",
			Look: "ip neigh", Do: "check that the other end is up and has that address, and that both are in one network (cable, switch port, VLAN)",
			Kernel: "net/ipv4/arp.c: arp_error_report"}),
		c(Row{Errno: unix.EHOSTUNREACH, If: ownReject, Cause: "this host's own firewall rejects it", Look: "nft list ruleset; iptables -S OUTPUT",
			Do: "let it pass the port, and name one with --port N (in files port: N)", Kernel: "net/ipv4/tcp_ipv4.c: tcp_v4_err"}),
		c(Row{Errno: unix.EHOSTUNREACH, If: routerLost, Cause: "a router does not reach the receiver", Look: "ip route get, on that router",
			Do: "check the receiver's link and the router's routes", Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.EHOSTUNREACH, If: rejectedTogether, Cause: "a firewall rejects it", Look: rules, Do: openOne,
			Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.EHOSTUNREACH, If: rejected, Cause: "a firewall rejects it", Look: rules,
			Do: "let the receiver listen at a port that passes", Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.EHOSTUNREACH, If: unroutable, Cause: "a route of this host says that ADDRESS is unreachable", Look: getWay,
			Do: "take the route away if it is not wanted (ip route show type unreachable)", Kernel: "net/ipv4/fib_semantics.c: fib_props"}),
		c(Row{Errno: unix.EHOSTUNREACH, Cause: "something on the way says that ADDRESS cannot be reached: a firewall that rejects it, or a router",
			Look: "ip neigh; ping ADDRESS; " + rules, Do: "let the firewall pass the data port, or check links and routes",
			Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),

		c(Row{Errno: unix.ENETUNREACH, If: downLink, Cause: "the link to the receiver is down", Look: "ip -br link",
			Do: "set it up, or check the cable and the other end", Kernel: "net/ipv4/fib_semantics.c: fib_sync_down_dev"}),
		c(Row{Errno: unix.ENETUNREACH, If: otherFamily, Cause: "this host has no address of that family", Look: "ip -br addr",
			Do: "take the other family: --ipv6 (in files ipv6: true), or leave it out", Kernel: "net/ipv4/route.c: ip_route_output_key_hash_rcu"}),
		c(Row{Errno: unix.ENETUNREACH, If: ownReject, Cause: "this host's own firewall rejects it", Look: "nft list ruleset; iptables -S OUTPUT",
			Do: "let it pass the port, and name one with --port N (in files port: N)", Kernel: "net/ipv4/tcp_ipv4.c: tcp_v4_err"}),
		c(Row{Errno: unix.ENETUNREACH, If: routerLost, Cause: "a router has no route to the receiver", Look: "ip route get, on that router",
			Do: "check the router's routes", Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.ENETUNREACH, If: rejectedTogether, Cause: "a firewall rejects it", Look: rules, Do: openOne,
			Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.ENETUNREACH, If: rejected, Cause: "a firewall rejects it", Look: rules,
			Do: "let the receiver listen at a port that passes", Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.ENETUNREACH, Cause: "no route to the receiver", Look: getWay, Do: "check addresses, link and routes",
			Kernel: "net/ipv4/route.c: ip_route_output_key_hash_rcu"}),

		c(Row{Errno: unix.ETIMEDOUT, If: downLink, Cause: "the link to the receiver is down", Look: "ip -br link",
			Do: "set it up, or check the cable and the other end", Kernel: "net/ipv4/tcp_timer.c: tcp_write_err"}),
		c(Row{Errno: unix.ETIMEDOUT, If: together, Cause: "nothing answers at ADDRESS port PORT, though the agents were reached and the receiver listens: " +
			"most likely a firewall drops packets to the data port", Look: rules, Do: openOne, Kernel: "net/ipv4/tcp_timer.c: tcp_write_err"}),
		c(Row{Errno: unix.ETIMEDOUT, Cause: "no answer from ADDRESS port PORT: the host is down, has another address, or a firewall drops packets to that port",
			Look: "ping ADDRESS; " + rules, Do: "check link, address and firewalls between the hosts", Kernel: "net/ipv4/tcp_timer.c: tcp_write_err"}),

		c(Row{Errno: unix.EACCES, If: ownReject, Cause: "this host's own firewall rejects it", Look: "nft list ruleset; ip6tables -S OUTPUT",
			Do: "let it pass the port, and name one with --port N (in files port: N)", Kernel: "net/ipv6/icmp.c: icmpv6_err_convert"}),
		c(Row{Errno: unix.EACCES, If: rejectedTogether, Cause: "a firewall rejects it", Look: rules, Do: openOne,
			Kernel: "net/ipv6/icmp.c: icmpv6_err_convert"}),
		c(Row{Errno: unix.EACCES, If: rejected, Cause: "a firewall rejects it", Look: rules,
			Do: "let the receiver listen at a port that passes", Kernel: "net/ipv6/icmp.c: icmpv6_err_convert"}),
		c(Row{Errno: unix.EACCES, If: unroutable, Cause: "a route of this host prohibits ADDRESS", Look: getWay,
			Do: "take the route away if it is not wanted (ip route show type prohibit)", Kernel: "net/ipv4/fib_semantics.c: fib_props"}),
		c(Row{Errno: unix.EACCES, Cause: "ADDRESS is a broadcast address, or a security module forbids the connection",
			Look: "ip -br addr; ausearch -m avc", Do: "name the receiver's own address, or let the module allow it",
			Kernel: "net/ipv4/tcp_ipv4.c: tcp_v4_connect; security/security.c: security_socket_connect"}),
		c(Row{Errno: unix.EPERM, Cause: "a BPF program of the cgroup forbids the connection", Look: "bpftool cgroup tree",
			Do: "run outside of that cgroup", Kernel: "net/ipv4/tcp_ipv4.c: tcp_v4_pre_connect"}),

		c(Row{Errno: unix.EINVAL, If: noZone, Cause: "a link-local address holds on one link alone, and none is named",
			Look: "ip -6 addr show scope link", Do: "write ADDRESS%DEV, with this host's own interface for DEV", Kernel: "net/ipv6/tcp_ipv6.c: tcp_v6_connect"}),
		c(Row{Errno: unix.EINVAL, If: wrongZone, Cause: "this host has no such interface", Look: "ip -br link",
			Do: "write the address with this host's own interface behind the %", Kernel: "net/ipv6/tcp_ipv6.c: tcp_v6_connect"}),
		c(Row{Errno: unix.EINVAL, If: unroutable, Cause: "a route of this host swallows ADDRESS", Look: getWay,
			Do: "take the route away if it is not wanted (ip route show type blackhole)", Kernel: "net/ipv4/fib_semantics.c: fib_props"}),
		c(Row{Errno: unix.EINVAL, Cause: "ADDRESS is none that a connection can be made to", Look: getWay,
			Do: "name the receiver's own address", Kernel: "net/ipv6/tcp_ipv6.c: tcp_v6_connect"}),

		c(Row{Errno: unix.EADDRNOTAVAIL, Cause: "all local ports are taken, or this host has no address for it", Look: "ss -s; sysctl net.ipv4.ip_local_port_range",
			Do: "wait until connections in TIME_WAIT are gone, or widen net.ipv4.ip_local_port_range", Kernel: "net/ipv4/inet_hashtables.c: __inet_hash_connect"}),
		c(Row{Errno: unix.EADDRINUSE, Cause: "the same connection exists already", Look: "ss -tan", Do: "end the program that has it, or choose another port",
			Kernel: "net/ipv4/inet_hashtables.c: __inet_check_established"}),
		c(Row{Errno: unix.EAFNOSUPPORT, If: noIPv6, Cause: "this host has no IPv6", Look: "sysctl net.ipv6.conf.all.disable_ipv6",
			Do: "use IPv4: leave out --ipv6, or name an IPv4 address", Kernel: "net/socket.c: __sock_create"}),
		c(Row{Errno: unix.EAFNOSUPPORT, Cause: "the kernel has no such family of addresses", Do: "use the other one: --ipv6, or leave it out",
			Look: "ls /proc/sys/net", Kernel: "net/socket.c: __sock_create"}),
		c(Row{Errno: unix.ENETDOWN, Cause: "the interface to ADDRESS is down", Look: "ip -br link", Do: "ip link set DEV up",
			Effect: Undoable, Undo: "ip link set DEV down", Kernel: "net/core/dev.c: __dev_queue_xmit"}),
		c(Row{Errno: unix.EHOSTDOWN, Cause: "the link to ADDRESS is not there", Look: "ip -br link; ip neigh", Do: "check the cable and the other end",
			Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.ENOPROTOOPT, Cause: "a firewall rejects it (ICMP prot-unreachable), or that host has no TCP", Look: rules, Do: openOne,
			Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.EPROTO, Cause: "something on the way does not take our packets (ICMPv6 parameter problem)", Look: "tcpdump -n icmp6",
			Do: "connect the hosts directly, or use IPv4", Kernel: "net/ipv6/icmp.c: icmpv6_err_convert"}),
		c(Row{Errno: unix.EMSGSIZE, Cause: "something on the way carries smaller packets (ICMPv6 packet too big)", Look: "tracepath ADDRESS",
			Do: "give both interfaces the MTU that the way carries (zcbench run --mtu)", Kernel: "net/ipv6/tcp_ipv6.c: tcp_v6_err"}),
		c(Row{Errno: unix.ENONET, Cause: "a router says that the host is not on the net", Look: "tracepath ADDRESS", Do: "check address and routes",
			Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.EOPNOTSUPP, Cause: "something on the way does not take our packets (ICMP parameter or source route)", Look: "tcpdump -n icmp",
			Do: "connect the hosts directly", Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.ECONNRESET, Cause: "the receiver, or a firewall, closed the connection in its making", Look: rules,
			Do: "see the receiver's own message", Kernel: "net/ipv4/tcp_input.c: tcp_reset"}),
		c(Row{Errno: unix.EINTR, Cause: "a signal came", Do: "run it again", Look: "the command's own message", Kernel: "net/ipv4/af_inet.c: __inet_stream_connect"}),
		c(Row{Errno: unix.EAGAIN, Cause: "all local ports are taken", Look: "ss -s; sysctl net.ipv4.ip_local_port_range",
			Do: "wait until connections in TIME_WAIT are gone, or widen net.ipv4.ip_local_port_range", Kernel: "net/ipv4/af_inet.c: inet_autobind"}),
		c(Row{Errno: unix.ENODEV, If: wrongZone, Cause: "this host has no such interface", Look: "ip -br link",
			Do: "write the address with this host's own interface behind the %", Kernel: "net/ipv6/ip6_output.c: ip6_dst_lookup_tail"}),
		c(Row{Errno: unix.ENODEV, Cause: "the interface to ADDRESS is gone", Look: "ip -br link", Do: "start over once it is back",
			Kernel: "net/ipv4/route.c: ip_route_output_key_hash_rcu"}),
	}
}

func routeRows() []Row {
	c := func(r Row) Row { r.Call = Route; return r }
	return []Row{
		c(Row{Errno: unix.ENETUNREACH, If: downLink, Cause: "the link to it is down", Look: "ip -br link",
			Do: "set it up, or check the cable and the other end", Kernel: "net/ipv4/fib_semantics.c: fib_sync_down_dev"}),
		c(Row{Errno: unix.ENETUNREACH, If: otherFamily, Cause: "this host has no address of that family", Look: "ip -br addr",
			Do:     "use the other family at both ends: --ipv6 (in files ipv6: true), or leave it out, or give the interface an address of this one",
			Kernel: "net/ipv4/route.c: inet_rtm_getroute"}),
		c(Row{Errno: unix.ENETUNREACH, If: onlyLoopback, Cause: "this network namespace has no interface but loopback",
			Look: "ip -br link", Do: "name the one that has it (netns:NAME), or move it here (ip link set DEV netns NAME)",
			Effect: Undoable, Undo: "ip link set DEV netns 1, in NAME", Kernel: "net/ipv4/route.c: inet_rtm_getroute"}),
		c(Row{Errno: unix.ENETUNREACH, If: allDown, Cause: "no interface is up", Look: "ip -br link",
			Do:     "ip link set DEV up; then, if it has none, give it an address in the same network: ip addr add OWN/24 dev DEV",
			Effect: Undoable, Undo: "ip link set DEV down", Kernel: "net/ipv4/fib_semantics.c: fib_sync_down_dev"}),
		c(Row{Errno: unix.ENETUNREACH, If: someDown, Cause: "no interface that is up leads there", Look: "ip -br addr",
			Do:     "ip link set DEV up, or give the interface on the wire an address in the same network: ip addr add OWN/24 dev DEV",
			Effect: Undoable, Undo: "ip link set DEV down; ip addr del OWN/24 dev DEV", Kernel: "net/ipv4/fib_semantics.c: fib_sync_down_dev"}),
		c(Row{Errno: unix.ENETUNREACH, Cause: "no route leads there", Look: getWay,
			Do:     "give the interface on the wire an address in the same network: ip addr add OWN/24 dev INTERFACE",
			Effect: Undoable, Undo: "ip addr del OWN/24 dev INTERFACE", Kernel: "net/ipv4/route.c: inet_rtm_getroute"}),
		c(Row{Errno: unix.EHOSTUNREACH, Cause: "a route says that it is unreachable", Look: getWay,
			Do: "take the route away if it is not wanted (ip route show type unreachable)", Kernel: "net/ipv4/fib_semantics.c: fib_props"}),
		c(Row{Errno: unix.EACCES, Cause: "a route prohibits it", Look: getWay,
			Do: "take the route away if it is not wanted (ip route show type prohibit)", Kernel: "net/ipv4/fib_semantics.c: fib_props"}),
		c(Row{Errno: unix.EINVAL, Cause: "a route swallows it", Look: getWay,
			Do: "take the route away if it is not wanted (ip route show type blackhole)", Kernel: "net/ipv4/fib_semantics.c: fib_props"}),
		c(Row{Errno: unix.EAFNOSUPPORT, Cause: "this host has no IPv6", Look: "sysctl net.ipv6.conf.all.disable_ipv6",
			Do: "leave out --ipv6", Kernel: "net/core/rtnetlink.c: rtnetlink_rcv_msg"}),
		c(Row{Errno: unix.EOPNOTSUPP, Cause: "this host has no IPv6", Look: "sysctl net.ipv6.conf.all.disable_ipv6",
			Do: "leave out --ipv6", Kernel: "net/core/rtnetlink.c: rtnetlink_rcv_msg"}),
	}
}
