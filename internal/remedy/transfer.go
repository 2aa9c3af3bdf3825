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
	dropsMTU = "give both interfaces the MTU that the way carries (zcbench run --mtu 1500 tries it), or raise it " +
		"at the switch"
)

// transferRows makes the rows of transfers. VALUE is the other end: sender, receiver. Of a flow
// under way, the peer's end and the way there are the same in both directions.
func transferRows() []Row {
	return slices.Concat(flowRows(Send), flowRows(Recv), progressRows(), sendRows(), recvRows(), windowRows())
}

func progressRows() []Row {
	const again = "net/ipv4/tcp_timer.c: tcp_retransmit_timer"
	return []Row{
		{Call: Progress, Errno: unix.ETIMEDOUT, If: smallOnly, Cause: "no packet of full size comes through",
			Look: "tracepath -n ADDRESS", Do: dropsMTU, Kernel: again},
		down(Progress, unix.ETIMEDOUT, again),
		{Call: Progress, Errno: unix.ETIMEDOUT, Cause: "the other end, or what is between, stands still",
			Look: "ping ADDRESS; the other end's message",
			Do:   "check the link and the other end; if that is still running, see its own message", Kernel: again},
	}
}

// flowRows makes the rows of what both directions meet. TCP reports an ICMP message when the kernel
// has given up resending (tcp_write_err), UDP at once.
func flowRows(call Call) []Row {
	const soft, hard4, hard6 = "net/ipv4/tcp_timer.c: tcp_write_err", "net/ipv4/udp.c: udp_err",
		"net/ipv6/udp.c: udpv6_err"
	c := func(r Row) Row { r.Call = call; return r }
	return []Row{
		c(Row{Errno: unix.ETIMEDOUT, If: smallOnly, Cause: "no packet of full size comes through",
			Look: "tracepath -n ADDRESS", Do: dropsMTU, Kernel: soft}),
		down(call, unix.ETIMEDOUT, soft),
		c(Row{Errno: unix.ETIMEDOUT, Cause: "the host of the other end no longer answers",
			Look: "ping ADDRESS; ip neigh",
			Do:   "check the other end's host, and the link to it", Kernel: soft}),
		down(call, unix.EHOSTUNREACH, soft),
		c(Row{Errno: unix.EHOSTUNREACH, Cause: "the other end's host can no longer be reached",
			Look: "ip neigh; ping ADDRESS",
			Do:   "check that the other end's host is up, and the link to it", Kernel: soft + "; " + hard4}),
		down(call, unix.ENETUNREACH, soft),
		c(Row{Errno: unix.ENETUNREACH, Cause: "the route to the other end has gone", Look: getWay,
			Do:     "find out what changes routes (a network manager), and start the run again",
			Kernel: soft + "; net/ipv4/udp.c: udp_sendmsg"}),
		c(Row{Errno: unix.EHOSTDOWN, Cause: "a router knows no such host (ICMP host-unknown)",
			Look: "tracepath ADDRESS",
			Do:   "check the other end's address, and the router's routes", Kernel: soft + "; " + hard4}),
		c(Row{Errno: unix.EACCES,
			Cause: "a security module forbids it, or a firewall rejects our packets (ICMPv6 admin-prohibited)",
			Look:  "ausearch -m avc; " + rules, Do: "let the firewall pass the data port, or let the module allow it",
			Kernel: "security/security.c: security_socket_sendmsg, security_socket_recvmsg; " + hard6}),
		c(Row{Errno: unix.ECONNRESET, Cause: "the VALUE broke off", Do: "see the VALUE's own message",
			Kernel: "net/ipv4/tcp_input.c: tcp_reset"}),
		c(Row{Errno: unix.ECONNREFUSED, Cause: "the VALUE broke off: nothing has its port any more",
			Do: "see the VALUE's own message", Kernel: hard4}),
		c(Row{Errno: unix.ENOTCONN, Cause: "the connection is closed", Look: "the other end's own message",
			Do:     "see the other end's own message",
			Kernel: "net/ipv4/tcp.c: tcp_recvmsg_locked"}),
		c(Row{Errno: unix.EPROTO,
			Cause: "something on the way does not understand our packets (ICMP parameter problem)",
			Look:  "tcpdump -n icmp or icmp6",
			Do:    "connect the hosts directly", Kernel: soft + "; " + hard4}),
		c(Row{Errno: unix.ENOPROTOOPT,
			Cause: "a firewall or host on the way rejects the protocol (ICMP prot-unreachable)", Look: rules,
			Do: openOne, Kernel: soft + "; " + hard4}),
		c(Row{Errno: unix.EMSGSIZE, Cause: "the datagram is longer than a socket takes, or than the way carries",
			Look: "ip -br link; tracepath ADDRESS",
			Do:   "choose a smaller --message-size", Kernel: "net/ipv4/udp.c: udp_sendmsg, udp_err; " + hard6}),
	}
}

func sendRows() []Row {
	c := func(r Row) Row { r.Call = Send; return r }
	return slices.Concat([]Row{
		c(Row{Errno: unix.EPIPE, Cause: "the VALUE broke off, or has closed the connection",
			Do: "see the VALUE's own message", Kernel: "net/ipv4/tcp.c: tcp_sendmsg_locked"}),
		c(Row{Errno: unix.ENETDOWN, Cause: "the interface went down", Look: "ip -br link; dmesg",
			Do:     "set the interface up, and start the run again",
			Kernel: "net/core/dev.c: __dev_queue_xmit"}),
		c(Row{Errno: unix.EPERM, Cause: "a firewall of this host, or a BPF program of the cgroup, drops the packets",
			Look: "nft list ruleset; iptables -S OUTPUT; bpftool cgroup tree", Do: passOwn,
			Kernel: "net/netfilter/core.c: nf_hook_slow"}),
	}, pinned(Send, unix.ENOBUFS, zeroCopies, "net/core/skbuff.c: mm_account_pinned_pages"),
		pinned(Send, unix.ENOMEM, isStream, "io_uring/notif.h: io_notif_account_mem"), []Row{
			c(Row{Errno: unix.ENOBUFS, If: zeroCopy,
				Cause: "so many calls without a copy are under way that net.core.optmem_max is used up",
				Look:  "sysctl net.core.optmem_max",
				Do: "use a larger --message-size, or --tx tcp, or raise the limit: sysctl -w " +
					"net.core.optmem_max=1048576", Kernel: "net/core/sock.c: sock_omalloc"}),
			c(Row{Errno: unix.ENOBUFS, Cause: "the interface's queue, or the kernel's memory for packets, is full",
				Look:   "tc -s qdisc; cat /proc/net/sockstat",
				Do:     "use a lower --pace, fewer flows (--flows) or smaller messages (--message-size)",
				Kernel: "net/ipv4/ip_output.c: ip_send_skb"}),
			c(Row{Errno: unix.ENOMEM, Cause: "the kernel, or the cgroup, has no memory left",
				Look: "cat /proc/net/sockstat; cat /sys/fs/cgroup/memory.events",
				Do:   lessNeed, Kernel: "net/ipv4/ip_output.c: __ip_append_data"}),
			c(Row{Errno: unix.EINVAL, Cause: "the kernel does not take that length or those flags", Look: "uname -r",
				Do:     "choose another --message-size, or --tx tcp",
				Kernel: "net/ipv4/udp.c: udp_send_skb; fs/read_write.c: do_sendfile"}),
			c(
				Row{Errno: unix.EIO, Cause: "the interface cannot send such packets: it computes no checksums, " +
					"or IPsec has the route", Look: "ethtool -k DEV; ip xfrm policy",
					Do: "use --tx udp, or switch checksums on (ethtool -K DEV tx on)", Effect: undoable,
					Undo: "ethtool -K DEV tx off", Kernel: "net/ipv4/udp.c: udp_send_skb"}),
		})
}

func recvRows() []Row {
	c := func(r Row) Row { r.Call = Recv; return r }
	return []Row{
		c(Row{Errno: unix.EINVAL, Cause: "the kernel does not take those flags or that length", Look: "uname -r",
			Do:     "use --rx tcp",
			Kernel: "net/ipv4/tcp.c: tcp_zerocopy_receive, tcp_recvmsg_locked"}),
		c(Row{Errno: unix.EFAULT, Cause: "the payload came by a queue that another program has bound to memory " +
			"of its own (devmem, zcrx), which no copy reads",
			Look:   "zcbench doctor --dev DEV",
			Do:     "end the program that has it bound, or steer the flow to another queue (ethtool -N)",
			Kernel: "net/ipv4/tcp.c: tcp_recvmsg_locked"}),
		c(Row{Errno: unix.EPERM, Cause: "a seccomp filter, or a security module, forbids to receive",
			Look: "grep Seccomp /proc/self/status; journalctl -k",
			Do:   "run outside of the container", Kernel: "security/security.c: security_socket_recvmsg"}),
		c(Row{Errno: unix.ENOMEM, Cause: "the kernel, or the cgroup, has no memory left",
			Look: "cat /proc/net/sockstat; cat /sys/fs/cgroup/memory.events",
			Do:   lessNeed, Kernel: "mm/memcontrol.c: try_charge_memcg"}),
		c(Row{Errno: unix.EIO, Cause: "the sender has ended the connection, and the kernel does not say how",
			Look: "the sender's own message",
			Do:   "see the sender's own message", Kernel: "net/ipv4/tcp.c: tcp_zerocopy_receive"}),
		c(Row{Errno: unix.EBADMSG,
			Cause: "the tag of a TLS record does not fit: the two ends have different keys, or " +
				"payload was changed on the way", Look: "cat /proc/net/tls_stat (TlsDecryptError)",
			Do:     "check that both ends are of one version and run; then the link and what stands between",
			Kernel: "net/tls/tls_sw.c: tls_rx_one_record"}),
		c(Row{Errno: unix.ENODEV, Cause: "payload of one packet lies in memory of several kinds",
			Look: "ethtool -g DEV; ethtool -n DEV",
			Do: "switch header split on (ethtool -G DEV tcp-data-split on hds-thresh 0), and steer the flow " +
				"to the bound queue alone",
			Kernel: "net/ipv4/tcp.c: tcp_recvmsg_dmabuf"}),
	}
}

// windowRows makes the rows of the end of a flow, and of a window that its payload is mapped into.
func windowRows() []Row {
	return []Row{
		{Call: Shutdown, Errno: unix.ENOTCONN, Cause: "the receiver has ended the connection",
			Look: "the receiver's own message",
			Do:   "see the receiver's own message", Kernel: "net/ipv4/af_inet.c: inet_shutdown"},
		{Call: Shutdown, Cause: "the connection has ended", Look: "the receiver's own message",
			Do:     "see the receiver's own message",
			Kernel: "net/ipv4/af_inet.c: inet_shutdown"},
		{Call: MapTCP, Errno: unix.ENODEV, Cause: "the kernel does not map payload of TCP", Look: "uname -r",
			Do:     "use --rx tcp: tcp-mmap needs kernel 4.18 or later, built with CONFIG_MMU",
			Kernel: "net/core/sock.c: sock_no_mmap"},
		{Call: MapTCP, Errno: unix.ENOMEM, If: mappedLimit, Cause: "a limit on mapped memory", Look: "ulimit -v",
			Do:     "raise the limit (ulimit -v unlimited), or choose a smaller --read-size",
			Kernel: "mm/mmap.c: may_expand_vm"},
		{Call: MapTCP, Errno: unix.ENOMEM, Cause: "the process has no address space for the window",
			Look: "sysctl vm.max_map_count",
			Do:   "choose a smaller --read-size", Kernel: "mm/mmap.c: do_mmap"},
		{Call: MapTCP, Errno: unix.EINVAL, Cause: "the window is not mapped, or its memory is locked",
			Kernel: "mm/madvise.c: madvise_dontneed_free"},
		{Call: MapTCP, Errno: unix.EPERM, Cause: "a window that can be written or run is not mapped",
			Kernel: "net/ipv4/tcp.c: tcp_mmap"},
		{Call: MapTCP, Cause: "the kernel does not map a window", Look: "journalctl -k",
			Do:     "choose a smaller --read-size, or --rx tcp",
			Kernel: "mm/mmap.c: do_mmap"},
	}
}
