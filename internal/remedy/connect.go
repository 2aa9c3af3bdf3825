// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"golang.org/x/sys/unix"
)

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
	passOwn = "let this host's firewall pass one port, and name it with --port N (in files port: N)"
	linkUp  = "set the interface up, or check its cable and the other end"
	family  = "use the family that this host has: IPv6 with --ipv6 (in files ipv6: true), IPv4 without it"
	noBlock = "take the route away if it is not wanted (ip route show type "
	icmp4   = "net/ipv4/tcp_ipv4.c: tcp_v4_err"
	icmp6   = "net/ipv6/tcp_ipv6.c: tcp_v6_err"
	route4  = "net/ipv4/route.c: ip_route_output_key_hash_rcu"
	dead    = "net/ipv4/fib_semantics.c: fib_sync_down_dev"
)

// down makes the row of the link to the peer being down, which comes before all else.
func down(call Call, errno unix.Errno, kernel string) Row {
	return Row{Call: call, Errno: errno, If: downLink, Cause: "the link to ADDRESS is down", Look: "ip -br link",
		Do: linkUp, Kernel: kernel}
}

// filteredOut makes the rows of what a firewall that rejects answers, by an ICMP message: this
// host's, or another's. A router that lost the way is told apart.
func filteredOut(errno unix.Errno, kernel string, between ...Row) []Row {
	own := Row{Call: Connect, Errno: errno, If: ownReject, Cause: "this host's own firewall rejects the connection",
		Look: "nft list ruleset; iptables -S OUTPUT; ip6tables -S OUTPUT", Do: passOwn, Kernel: kernel}
	return append(append([]Row{own}, between...),
		Row{Call: Connect, Errno: errno, If: rejectedTogether, Cause: "a firewall rejects the connection", Look: rules,
			Do: openOne, Kernel: kernel},
		Row{Call: Connect, Errno: errno, If: rejected, Cause: "a firewall rejects the connection", Look: rules,
			Do: "let the receiver listen at a port that the firewall lets through (zcrecv --listen)", Kernel: kernel})
}

func connectRows() []Row {
	return slices.Concat(refusedRows(), unreachedRows(), prohibitedRows(), addressRows(), spokenRows())
}

// refusedRows makes the rows of an answer that says no, or of none.
func refusedRows() []Row {
	c := func(r Row) Row { r.Call = Connect; return r }
	return slices.Concat(filteredOut(unix.ECONNREFUSED, icmp4), []Row{
		c(Row{Errno: unix.ECONNREFUSED, If: together,
			Cause: "most likely a firewall rejects it: the receiver listens, but ADDRESS port PORT answered with " +
				"a reset",
			Look: rules, Do: refuses, Kernel: "net/ipv4/tcp_input.c: tcp_reset"}),
		c(Row{Errno: unix.ECONNREFUSED,
			Cause: "nothing listens at ADDRESS port PORT, or a firewall answers with a reset",
			Look:  "ss -ltn on the receiver's host", Do: "start the receiver first, or check its address and port",
			Kernel: "net/ipv4/tcp_input.c: tcp_reset"}),

		down(Connect, unix.ETIMEDOUT, "net/ipv4/tcp_timer.c: tcp_write_err"),
		c(Row{Errno: unix.ETIMEDOUT, If: together,
			Cause: "nothing answers at ADDRESS port PORT, though the agents were reached and the receiver listens: " +
				"most likely a firewall drops packets to the data port", Look: rules, Do: openOne,
			Kernel: "net/ipv4/tcp_timer.c: tcp_write_err"}),
		c(Row{Errno: unix.ETIMEDOUT, Cause: "no answer from ADDRESS port PORT: the host is down, has another " +
			"address, or a firewall drops packets to that port",
			Look: "ping ADDRESS; " + rules, Do: "check link, address and firewalls between the hosts",
			Kernel: "net/ipv4/tcp_timer.c: tcp_write_err"}),
		c(Row{Errno: unix.ECONNRESET,
			Cause: "the receiver, or a firewall, broke the connection off as soon as it was made", Look: rules,
			Do: "see the receiver's own message", Kernel: "net/ipv4/tcp_input.c: tcp_reset"}),
	})
}

// unreachedRows makes the rows of no way to the peer.
func unreachedRows() []Row {
	c := func(r Row) Row { r.Call = Connect; return r }
	return slices.Concat([]Row{
		down(Connect, unix.EHOSTUNREACH, "net/ipv4/arp.c: arp_error_report"),
		c(Row{Errno: unix.EHOSTUNREACH, If: noNeighbour,
			Cause: "nothing on the link answers to ADDRESS, or to the gateway on the way (ARP, neighbour discovery)",
			Look:  "ip neigh", Do: "check that the other end is up and has that address, and that both are in one " +
				"network (cable, switch port, VLAN)",
			Kernel: "net/ipv4/arp.c: arp_error_report; net/ipv6/ndisc.c: ndisc_error_report"})},
		filteredOut(unix.EHOSTUNREACH, icmp4,
			c(Row{Errno: unix.EHOSTUNREACH, If: routerLost, Cause: "a router does not reach the receiver",
				Look: "ip route get, on that router", Do: "check the receiver's link and the router's routes",
				Kernel: icmp4})),
		[]Row{
			c(Row{Errno: unix.EHOSTUNREACH, If: unreachableWay,
				Cause: "a route of this host says that ADDRESS is unreachable", Look: getWay,
				Do: noBlock + "unreachable)", Kernel: "net/ipv4/fib_trie.c: fib_table_lookup"}),
			c(Row{Errno: unix.EHOSTUNREACH,
				Cause: "something on the way says that ADDRESS cannot be reached: a firewall that rejects it, or " +
					"a router",
				Look: "ip neigh; ping ADDRESS; " + rules,
				Do:   "let the firewall pass the data port, or check links and routes", Kernel: icmp4}),

			down(Connect, unix.ENETUNREACH, dead),
			c(Row{Errno: unix.ENETUNREACH, If: broadcast,
				Cause: "ADDRESS is a broadcast or multicast address, which no single host has", Look: "ip -br addr",
				Do:     "name the receiver's own address",
				Kernel: "net/ipv4/tcp_ipv4.c: tcp_v4_connect; net/ipv6/tcp_ipv6.c: tcp_v6_connect"}),
			c(Row{Errno: unix.ENETUNREACH, If: wrongZone, Cause: "this host has no such interface", Look: "ip -br link",
				Do: ownZone, Kernel: "net/ipv6/route.c: ip6_route_output_flags"}),
			c(Row{Errno: unix.ENETUNREACH, If: otherFamily, Cause: "this host has no address of that family",
				Look: "ip -br addr", Do: family, Kernel: route4}),
		},
		filteredOut(unix.ENETUNREACH, icmp4,
			c(Row{Errno: unix.ENETUNREACH, If: routerLost, Cause: "a router has no route to the receiver",
				Look: "ip route get, on that router", Do: "check the router's routes", Kernel: icmp4})),
		[]Row{c(Row{Errno: unix.ENETUNREACH, Cause: "no route to the receiver", Look: getWay,
			Do: "check addresses, link and routes of this host", Kernel: route4})})
}

// prohibitedRows makes the rows of what somebody forbids.
func prohibitedRows() []Row {
	c := func(r Row) Row { r.Call = Connect; return r }
	return slices.Concat(filteredOut(unix.EACCES, icmp6), []Row{
		c(Row{Errno: unix.EACCES, If: broadcast, Cause: "ADDRESS is a broadcast address", Look: "ip -br addr",
			Do: "name the receiver's own address", Kernel: "net/ipv4/datagram.c: __ip4_datagram_connect"}),
		c(Row{Errno: unix.EACCES, If: prohibited, Cause: "a route of this host prohibits ADDRESS", Look: getWay,
			Do: noBlock + "prohibit)", Kernel: "net/ipv4/fib_trie.c: fib_table_lookup"}),
		c(Row{Errno: unix.EACCES, Cause: "a security module forbids the connection", Look: "ausearch -m avc",
			Do:     "let the module allow connections to the data port",
			Kernel: "security/security.c: security_socket_connect"}),
		c(Row{Errno: unix.EPERM, Cause: "a BPF program of the cgroup forbids the connection",
			Look: "bpftool cgroup tree",
			Do:   "run outside of that cgroup", Kernel: "net/ipv4/tcp_ipv4.c: tcp_v4_pre_connect"}),
	})
}

// addressRows makes the rows of addresses and ports, the peer's and the own.
func addressRows() []Row {
	const ports = "ss -s; sysctl net.ipv4.ip_local_port_range"
	c := func(r Row) Row { r.Call = Connect; return r }
	return []Row{
		c(Row{Errno: unix.EINVAL, If: noZone, Cause: "a link-local address holds on one link alone, and none is named",
			Look: "ip -6 addr show scope link", Do: "write ADDRESS%DEV, with this host's own interface for DEV",
			Kernel: "net/ipv6/tcp_ipv6.c: tcp_v6_connect"}),
		c(Row{Errno: unix.EINVAL, If: wrongZone, Cause: "this host has no such interface", Look: "ip -br link",
			Do: ownZone, Kernel: "net/ipv6/tcp_ipv6.c: tcp_v6_connect"}),
		c(Row{Errno: unix.EINVAL, If: swallowed, Cause: "a route of this host swallows what is sent to ADDRESS",
			Look: getWay,
			Do:   noBlock + "blackhole)", Kernel: "net/ipv4/fib_trie.c: fib_table_lookup"}),
		c(Row{Errno: unix.EINVAL, Cause: "ADDRESS is none that a connection can be made to", Look: getWay,
			Do: "name the receiver's own address", Kernel: "net/ipv4/route.c: __mkroute_output"}),
		c(Row{Errno: unix.EADDRNOTAVAIL, If: noIPv6, Cause: "IPv6 is switched off on this host",
			Look:   "sysctl net.ipv6.conf.all.disable_ipv6",
			Do:     "use IPv4: leave out --ipv6, or name an IPv4 address",
			Kernel: "net/ipv6/addrconf.c: ipv6_dev_get_saddr"}),
		c(Row{Errno: unix.EADDRNOTAVAIL, If: otherFamily, Cause: "this host has no address of that family",
			Look: "ip -br addr", Do: family,
			Kernel: "net/ipv6/addrconf.c: ipv6_dev_get_saddr"}),
		c(Row{Errno: unix.EADDRNOTAVAIL,
			Cause: "all local ports to ADDRESS port PORT are taken, or the same connection exists already", Look: ports,
			Do: morePorts, Kernel: "net/ipv4/inet_hashtables.c: __inet_hash_connect"}),
		c(Row{Errno: unix.EAGAIN, Cause: "all local ports of UDP are taken",
			Look:   "ss -su; sysctl net.ipv4.ip_local_port_range",
			Do:     "end programs that have UDP ports, or widen net.ipv4.ip_local_port_range",
			Kernel: "net/ipv4/af_inet.c: inet_autobind"}),
		c(Row{Errno: unix.EAFNOSUPPORT, Cause: "ADDRESS is of another family than the socket", Look: "ip -br addr",
			Do:     "give both ends addresses of one family: IPv6 with --ipv6, IPv4 without it",
			Kernel: "net/ipv4/tcp_ipv4.c: tcp_v4_connect"}),
		c(Row{Errno: unix.ENODEV, Cause: "the interface, or the VRF, that the program is bound to is gone",
			Look: "ip -br link; ip vrf",
			Do:   "start the program again once the interface is back", Kernel: route4}),
		c(Row{Errno: unix.ENOBUFS, Cause: "the kernel has no memory for a packet",
			Look: "free -m; cat /proc/net/sockstat", Do: lessNeed,
			Kernel: "net/ipv4/tcp_output.c: tcp_connect"}),
	}
}

// spokenRows makes the rows of what ICMP messages say that few send.
func spokenRows() []Row {
	c := func(r Row) Row { r.Call = Connect; return r }
	return []Row{
		c(Row{Errno: unix.EHOSTDOWN, Cause: "a router knows no such host (ICMP host-unknown)",
			Look: "tracepath ADDRESS",
			Do:   "check the receiver's address, and the router's routes", Kernel: icmp4}),
		c(Row{Errno: unix.ENOPROTOOPT, Cause: "a firewall rejects TCP (ICMP prot-unreachable), or that host has none",
			Look: rules, Do: openOne, Kernel: icmp4}),
		c(Row{Errno: unix.EPROTO,
			Cause: "something on the way does not understand our packets (ICMP parameter problem)",
			Look:  "tcpdump -n icmp or icmp6",
			Do:    "connect the hosts directly", Kernel: icmp4}),
		c(Row{Errno: unix.ENONET, Cause: "a router says that the host is cut off from the net (ICMP host-isolated)",
			Look: "tracepath ADDRESS",
			Do:   "check the receiver's address, and the router's routes", Kernel: icmp4}),
		c(Row{Errno: unix.EOPNOTSUPP, Cause: "a router does not take source routes (ICMP source-route-failed)",
			Look: "tcpdump -n icmp",
			Do:   "connect the hosts directly", Kernel: icmp4}),
	}
}

func routeRows() []Row {
	c := func(r Row) Row { r.Call = Route; return r }
	const way4 = "net/ipv4/route.c: inet_rtm_getroute; net/ipv6/route.c: inet6_rtm_getroute"
	return []Row{
		down(Route, unix.ENETUNREACH, dead),
		c(Row{Errno: unix.ENETUNREACH, If: otherFamily, Cause: "this host has no address of that family",
			Look: "ip -br addr",
			Do: "use the other family at both ends (IPv6 with --ipv6, in files ipv6: true; IPv4 without it), " +
				"or give the interface an address of this one",
			Kernel: way4}),
		c(Row{Errno: unix.ENETUNREACH, If: onlyLoopback, Cause: "this network namespace has no interface but loopback",
			Look: "ip -br link", Do: "name the namespace that has the interface (netns:NAME), or move the " +
				"interface here (ip link set DEV netns NAME)",
			Effect: undoable, Undo: "ip link set DEV netns 1, in NAME", Kernel: way4}),
		c(Row{Errno: unix.ENETUNREACH, If: allDown, Cause: "no interface is up", Look: "ip -br link",
			Do: "ip link set DEV up; then, if it has none, give it an address in the same network: ip addr " +
				"add OWN/24 dev DEV",
			Effect: undoable, Undo: "ip addr del OWN/24 dev DEV; ip link set DEV down", Kernel: dead}),
		c(Row{Errno: unix.ENETUNREACH, If: someDown, Cause: "no interface that is up leads to ADDRESS",
			Look: "ip -br addr",
			Do: "ip link set DEV up, or give the interface on the wire an address in the same network: ip " +
				"addr add OWN/24 dev DEV",
			Effect: undoable, Undo: "ip addr del OWN/24 dev DEV; ip link set DEV down", Kernel: dead}),
		c(Row{Errno: unix.ENETUNREACH, Cause: "no route leads to ADDRESS", Look: getWay,
			Do:     "give the interface on the wire an address in the same network: ip addr add OWN/24 dev INTERFACE",
			Effect: undoable, Undo: "ip addr del OWN/24 dev INTERFACE", Kernel: way4}),
		c(Row{Errno: unix.EHOSTUNREACH, Cause: "a route says that ADDRESS is unreachable", Look: getWay,
			Do: noBlock + "unreachable)", Kernel: "net/ipv4/fib_trie.c: fib_table_lookup"}),
		c(Row{Errno: unix.EACCES, Cause: "a route prohibits ADDRESS", Look: getWay,
			Do: noBlock + "prohibit)", Kernel: "net/ipv4/fib_trie.c: fib_table_lookup"}),
		c(Row{Errno: unix.EINVAL, Cause: "a route swallows what is sent to ADDRESS", Look: getWay,
			Do: noBlock + "blackhole)", Kernel: "net/ipv4/fib_trie.c: fib_table_lookup"}),
		c(Row{Errno: unix.EOPNOTSUPP, Cause: "the kernel runs without IPv6", Look: "ls /proc/sys/net/ipv6",
			Do:     "use IPv4: leave out --ipv6, or name an IPv4 address",
			Kernel: "net/core/rtnetlink.c: rtnetlink_rcv_msg"}),
	}
}
