// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Calls that move payload, or wait for it.
const (
	Send     Call = "send: send, sendto, sendmsg, sendmmsg, sendfile, splice"
	Recv     Call = "receive: recv, recvfrom, recvmsg, recvmmsg, splice"
	Shutdown Call = "shutdown"
	Progress Call = "a flow that moves no payload"
	MapTCP   Call = "mmap, madvise: a window for payload of TCP"
)

const (
	givesUp  = "net/ipv4/tcp_timer.c: tcp_write_err"
	icmpSays = "net/ipv4/tcp_ipv4.c: tcp_v4_err"
	dropsMTU = "give both interfaces the MTU that the way carries (zcbench run --mtu 1500 tries it), or raise it at the switch"
)

// VALUE is the other end: sender, receiver. Of a flow under way, the peer's end and the way there
// are the same in both directions.
func transferRows() []Row {
	return slices.Concat(flowRows(Send), flowRows(Recv), progressRows(), sendRows(), recvRows(), windowRows())
}

func progressRows() []Row {
	const again = "net/ipv4/tcp_timer.c: tcp_retransmit_timer"
	return []Row{
		{Call: Progress, Errno: unix.ETIMEDOUT, If: smallOnly, Cause: "no packet of full size comes through",
			Look: "tracepath -n ADDRESS", Do: dropsMTU, Kernel: again},
		{Call: Progress, Errno: unix.ETIMEDOUT, If: downLink, Cause: "the link is down", Look: "ip -br link",
			Do: "set it up, or check the cable and the other end", Kernel: again},
		{Call: Progress, Errno: unix.ETIMEDOUT, Cause: "the other end, or what is between, stands still",
			Look: "ping ADDRESS; the other end's message",
			Do:   "check the link and the other end; if it is still running, see its own message", Kernel: again},
	}
}

func flowRows(call Call) []Row {
	c := func(r Row) Row { r.Call = call; return r }
	return []Row{
		c(Row{Errno: unix.ETIMEDOUT, If: smallOnly, Cause: "no packet of full size comes through", Look: "tracepath -n ADDRESS", Do: dropsMTU, Kernel: givesUp}),
		c(Row{Errno: unix.ETIMEDOUT, If: downLink, Cause: "the link is down", Look: "ip -br link", Do: "set it up, or check the cable and the other end", Kernel: givesUp}),
		c(Row{Errno: unix.ETIMEDOUT, Cause: "the host of the other end no longer answers", Look: "ping ADDRESS; ip neigh", Do: "check link and host", Kernel: givesUp}),
		c(Row{Errno: unix.EHOSTUNREACH, If: downLink, Cause: "the link is down", Look: "ip -br link", Do: "set it up, or check the cable and the other end", Kernel: icmpSays}),
		c(Row{Errno: unix.EHOSTUNREACH, Cause: "the other end's host can no longer be reached", Look: "ip neigh; ping ADDRESS",
			Do: "check that it is up, and the link to it", Kernel: icmpSays}),
		c(Row{Errno: unix.ENETUNREACH, If: downLink, Cause: "the link is down", Look: "ip -br link", Do: "set it up, or check the cable and the other end", Kernel: icmpSays}),
		c(Row{Errno: unix.ENETUNREACH, Cause: "the route to the other end has gone", Look: getWay, Do: "find out what changes routes (a network manager), and start over",
			Kernel: "net/ipv4/ip_output.c: __ip_queue_xmit"}),
		c(Row{Errno: unix.ENETDOWN, Cause: "the interface went down", Look: "ip -br link; dmesg", Do: "set it up and start over", Kernel: "net/core/dev.c: __dev_queue_xmit"}),
		c(Row{Errno: unix.EHOSTDOWN, Cause: "the link to the other end is not there", Look: "ip -br link; ip neigh", Do: "check the cable and the other end",
			Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
		c(Row{Errno: unix.EPERM, Cause: "a firewall of this host, or a BPF program of the cgroup, drops the packets", Look: "nft list ruleset; iptables -S OUTPUT; bpftool cgroup tree",
			Do: "let it pass the data port, and name one with --port N (in files port: N)", Kernel: "net/netfilter/core.c: nf_hook_slow"}),
		c(Row{Errno: unix.EACCES, Cause: "a security module or a firewall (ICMPv6 admin-prohibited) forbids it", Look: "ausearch -m avc; nft list ruleset",
			Do: "let it pass the data port", Kernel: "security/security.c: security_socket_sendmsg; net/ipv6/icmp.c: icmpv6_err_convert"}),
		c(Row{Errno: unix.ECONNRESET, Cause: "the VALUE broke off", Do: "see its own message", Kernel: "net/ipv4/tcp_input.c: tcp_reset"}),
		c(Row{Errno: unix.ECONNREFUSED, Cause: "the VALUE broke off: nothing has its port any more", Do: "see its own message",
			Kernel: "net/ipv4/udp.c: __udp4_lib_err"}),
		c(Row{Errno: unix.ENOTCONN, Cause: "the connection is closed", Look: "the other end's own message", Do: "see the other end's own message",
			Kernel: "net/ipv4/tcp.c: tcp_sendmsg_locked, tcp_recvmsg_locked"}),
		c(Row{Errno: unix.ENOBUFS, Cause: "the interface's queue, or the kernel's memory for sockets, is full", Look: "tc -s qdisc; cat /proc/net/sockstat; sysctl net.core.optmem_max",
			Do: "a lower --pace, fewer flows or smaller messages", Kernel: "net/ipv4/ip_output.c: ip_send_skb; net/core/skbuff.c: msg_zerocopy_realloc"}),
		c(Row{Errno: unix.ENOMEM, Cause: "the kernel, the cgroup or net.ipv4.tcp_mem has no memory left", Look: "cat /proc/net/sockstat; cat /sys/fs/cgroup/memory.events",
			Do: lessNeed, Kernel: "net/ipv4/tcp.c: tcp_sendmsg_locked"}),
		c(Row{Errno: unix.EFAULT, Cause: "the kernel cannot read or write the payload's memory", Kernel: "lib/iov_iter.c: copyin, copyout"}),
		c(Row{Errno: unix.EBADF, Cause: "the socket is closed", Kernel: "net/socket.c: sockfd_lookup_light"}),
		c(Row{Errno: unix.EPROTO, Cause: "something on the way does not take our packets", Look: "tcpdump -n icmp or icmp6", Do: "connect the hosts directly",
			Kernel: "net/ipv6/icmp.c: icmpv6_err_convert"}),
		c(Row{Errno: unix.ENOPROTOOPT, Cause: "a firewall or host on the way rejects the protocol", Look: rules, Do: openOne, Kernel: "net/ipv4/icmp.c: icmp_err_convert"}),
	}
}

func sendRows() []Row {
	c := func(r Row) Row { r.Call = Send; return r }
	return []Row{
		c(Row{Errno: unix.EPIPE, Cause: "the VALUE broke off", Do: "see its own message", Kernel: "net/ipv4/tcp.c: tcp_sendmsg_locked"}),
		c(Row{Errno: unix.EMSGSIZE, Cause: "the datagram is longer than a socket or the way carries", Look: "ip -br link; tracepath ADDRESS",
			Do: "choose a smaller --message-size", Kernel: "net/ipv4/ip_output.c: __ip_append_data"}),
		c(Row{Errno: unix.EDESTADDRREQ, Cause: "the socket has no peer", Kernel: "net/ipv4/udp.c: udp_sendmsg"}),
		c(Row{Errno: unix.EINVAL, Cause: "the kernel does not take that length or those flags", Look: "uname -r", Do: "choose another --message-size, or --tx tcp",
			Kernel: "net/ipv4/udp.c: udp_sendmsg; fs/read_write.c: do_sendfile"}),
		c(Row{Errno: unix.EOPNOTSUPP, Cause: "the kernel does not know those flags for such a socket", Look: "uname -r", Do: "use --tx tcp", Kernel: "net/socket.c: ____sys_sendmsg"}),
		c(Row{Errno: unix.EIO, Cause: "the interface cannot send such packets, or the file cannot be read", Look: "ethtool -k DEV; dmesg",
			Do: "use --tx tcp; with --tx udp-gso switch checksums on (ethtool -K DEV tx-checksumming on)", Effect: Undoable,
			Undo: "ethtool -K DEV tx-checksumming off", Kernel: "net/ipv4/udp.c: udp_send_skb"}),
		c(Row{Errno: unix.EOVERFLOW, Cause: "the position is beyond what a file may have", Kernel: "fs/read_write.c: do_sendfile"}),
	}
}

func recvRows() []Row {
	c := func(r Row) Row { r.Call = Recv; return r }
	return []Row{
		c(Row{Errno: unix.EINVAL, Cause: "the kernel does not take those flags or that length", Look: "uname -r", Do: "use --rx tcp", Kernel: "net/ipv4/tcp.c: tcp_recvmsg_locked"}),
		c(Row{Errno: unix.EMSGSIZE, Cause: "a datagram was longer than what it is received into, or the way carries less", Look: "tracepath ADDRESS",
			Do: "give both ends the same --message-size", Kernel: "net/ipv6/udp.c: __udp6_lib_err"}),
		c(Row{Errno: unix.EIO, Cause: "the connection has ended in a way that the kernel does not tell", Look: "the sender's own message", Do: "see the sender's own message",
			Kernel: "net/ipv4/tcp.c: tcp_zerocopy_receive"}),
		c(Row{Errno: unix.ENODEV, Cause: "the NIC whose memory the payload is in was taken away", Look: "ip -br link; dmesg", Do: "start over once it is back",
			Kernel: "net/ipv4/tcp.c: tcp_recvmsg_dmabuf"}),
	}
}

// windowRows are those of the end of a flow, and of a window that its payload is mapped into.
func windowRows() []Row {
	return []Row{
		{Call: Shutdown, Errno: unix.ENOTCONN, Cause: "the receiver has ended the connection", Look: "its own message", Do: "see the receiver's own message",
			Kernel: "net/ipv4/af_inet.c: inet_shutdown"},
		{Call: Shutdown, Cause: "the connection has ended", Look: "the receiver's own message", Do: "see the receiver's own message",
			Kernel: "net/ipv4/af_inet.c: inet_shutdown"},
		{Call: MapTCP, Errno: unix.ENODEV, Cause: "the kernel does not map payload of TCP", Look: "uname -r", Do: "use --rx tcp: it needs kernel 4.18 or later, built with CONFIG_MMU",
			Kernel: "net/socket.c: sock_mmap"},
		{Call: MapTCP, Errno: unix.EINVAL, Cause: "the window is not mapped, or its memory is locked", Kernel: "mm/madvise.c: madvise_dontneed_free"},
		{Call: MapTCP, Errno: unix.EPERM, Cause: "a window that can be written or run is not mapped", Kernel: "net/ipv4/tcp.c: tcp_mmap"},
		{Call: MapTCP, Errno: unix.ENOMEM, Cause: "the process has no address space for it", Look: "ulimit -v; sysctl vm.max_map_count", Do: "choose a smaller --read-size",
			Kernel: "mm/mmap.c: do_mmap"},
	}
}
