// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Calls that make a socket what a flow needs.
const (
	Socket Call = "socket"
	Bind   Call = "bind"
	Listen Call = "listen"
	Accept Call = "accept"
	Fcntl  Call = "fcntl: F_SETFL, F_DUPFD_CLOEXEC"
)

const (
	moreFiles  = "raise the limit on open files (ulimit -n 65536), or use fewer flows (--flows)"
	lessNeed   = "end what takes the memory, or use fewer flows (--flows) and smaller buffers (--rcvbuf, --sndbuf)"
	fewerFiles = "end what has the most files open (lsof), or raise fs.file-max (sysctl -w fs.file-max=N)"
	otherPort  = "choose another port (--port), or --port 0 for any that is free"
	morePorts  = "wait a minute until connections in TIME_WAIT are gone, or widen net.ipv4.ip_local_port_range"
	ownZone    = "write the address with an interface of this host behind the %"
)

// exhausted makes the rows of any call that wants a descriptor or memory.
func exhausted(call Call, kernel string) []Row {
	return []Row{
		{Call: call, Errno: unix.EMFILE, Cause: "the process has as many files open as it may",
			Look: "ulimit -n; ls /proc/PID/fd",
			Do:   moreFiles, Kernel: "fs/file.c: alloc_fd"},
		{Call: call, Errno: unix.ENFILE, Cause: "the host has as many files open as it may",
			Look: "cat /proc/sys/fs/file-nr",
			Do:   fewerFiles, Kernel: "fs/file_table.c: alloc_empty_file"},
		{Call: call, Errno: unix.ENOBUFS, Cause: "the kernel has no memory for a socket",
			Look: "free -m; cat /proc/net/sockstat", Do: lessNeed, Kernel: kernel},
		{Call: call, Errno: unix.ENOMEM, Cause: "the kernel, or the cgroup, has no memory left",
			Look: "free -m; cat /sys/fs/cgroup/memory.events",
			Do:   lessNeed, Kernel: kernel},
	}
}

func socketRows() []Row {
	return slices.Concat(
		exhausted(Socket, "net/ipv4/af_inet.c: inet_create"),
		[]Row{
			{Call: Socket, Errno: unix.EAFNOSUPPORT, If: withoutIPv6, Cause: "the kernel runs without IPv6",
				Look: "ls /proc/sys/net/ipv6",
				Do:   "use IPv4: leave out --ipv6, or name an IPv4 address", Kernel: "net/socket.c: __sock_create"},
			{Call: Socket, Errno: unix.EAFNOSUPPORT, If: filtered,
				Cause: "a seccomp filter forbids that family of addresses",
				Look:  "grep Seccomp /proc/self/status; systemctl show -p RestrictAddressFamilies UNIT",
				Do: "allow AF_INET and AF_INET6 in the service's RestrictAddressFamilies=, or in the " +
					"container's seccomp profile",
				Kernel: "kernel/seccomp.c: __seccomp_filter"},
			{Call: Socket, Errno: unix.EAFNOSUPPORT, Cause: "the kernel has no such family of addresses",
				Look: "ls /proc/sys/net",
				Do:   "use the other family: IPv6 with --ipv6, IPv4 without it", Kernel: "net/socket.c: __sock_create"},
			{Call: Socket, Errno: unix.EACCES, Cause: "a security module forbids sockets", Look: "ausearch -m avc",
				Do:     "let the module allow sockets, or run outside of the container",
				Kernel: "security/security.c: security_socket_create"},
			{Call: Socket, Errno: unix.EPERM, Cause: "a seccomp filter or a BPF program of the cgroup forbids sockets",
				Look: "grep Seccomp /proc/self/status; bpftool cgroup tree",
				Do:   "run outside of the container", Kernel: "net/ipv4/af_inet.c: inet_create"},
		},
		bindRows(), listenRows(), acceptRows(), fcntlRows())
}

func bindRows() []Row {
	c := func(r Row) Row { r.Call = Bind; return r }
	return []Row{
		c(Row{Errno: unix.EADDRINUSE, If: anyPort, Cause: "all local ports are taken",
			Look: "ss -s; sysctl net.ipv4.ip_local_port_range",
			Do:   morePorts, Kernel: "net/ipv4/inet_connection_sock.c: inet_csk_get_port; net/ipv4/udp.c: " +
				"udp_lib_get_port"}),
		c(Row{Errno: unix.EADDRINUSE, Cause: "another program has port PORT", Look: "ss -ltnp; ss -lunp", Do: otherPort,
			Kernel: "net/ipv4/inet_connection_sock.c: inet_csk_get_port; net/ipv4/udp.c: udp_lib_get_port"}),
		c(Row{Errno: unix.EADDRNOTAVAIL, If: duplicate, Cause: "another host in the network has ADDRESS",
			Look: "ip -6 addr show dadfailed",
			Do:   "give one of the two hosts another address", Kernel: "net/ipv6/af_inet6.c: __inet6_bind"}),
		c(Row{Errno: unix.EADDRNOTAVAIL, If: tentative,
			Cause: "ADDRESS is not ready yet: the kernel asks for a second or two whether another host has it",
			Look:  "ip -6 addr show tentative", Do: "wait two seconds, and run it again",
			Kernel: "net/ipv6/af_inet6.c: __inet6_bind"}),
		c(Row{Errno: unix.EADDRNOTAVAIL, If: noIPv6, Cause: "IPv6 is switched off on this host",
			Look: "sysctl net.ipv6.conf.all.disable_ipv6",
			Do:   "use IPv4: leave out --ipv6, or name an IPv4 address", Kernel: "net/ipv6/af_inet6.c: __inet6_bind"}),
		c(Row{Errno: unix.EADDRNOTAVAIL, Cause: "no interface of this host (or namespace) has that address",
			Look: "ip -br addr",
			Do: "name an address that this host has; if ADDRESS belongs to a VRF, run the program in it: ip " +
				"vrf exec NAME (as a host: exec:ip vrf exec NAME)",
			Kernel: "net/ipv4/af_inet.c: __inet_bind; net/ipv6/af_inet6.c: __inet6_bind"}),
		c(Row{Errno: unix.EACCES, If: lowPort, Cause: "ports below 1024 need CAP_NET_BIND_SERVICE",
			Look: "sysctl net.ipv4.ip_unprivileged_port_start",
			Do:   "choose a higher port (--port)", Kernel: "net/ipv4/af_inet.c: __inet_bind"}),
		c(Row{Errno: unix.EACCES, Cause: "a security module forbids port PORT",
			Look: "ausearch -m avc; semanage port -l", Do: "choose another port (--port)",
			Kernel: "security/security.c: security_socket_bind"}),
		c(Row{Errno: unix.EPERM, Cause: "a BPF program of the cgroup forbids port PORT", Look: "bpftool cgroup tree",
			Do:     "run outside of that cgroup",
			Kernel: "net/ipv4/af_inet.c: inet_bind_sk"}),
		c(Row{Errno: unix.EINVAL, If: noZone, Cause: "a link-local address holds on one link alone, and none is named",
			Look: "ip -6 addr show scope link", Do: "write ADDRESS%DEV, with this host's own interface for DEV",
			Kernel: "net/ipv6/af_inet6.c: __inet6_bind"}),
		c(Row{Errno: unix.EINVAL, If: wrongZone, Cause: "this host has no such interface", Look: "ip -br link",
			Do: ownZone, Kernel: "net/ipv6/af_inet6.c: __inet6_bind"}),
		c(Row{Errno: unix.EINVAL, Cause: "ADDRESS is none that a socket can have", Look: "ip -br addr",
			Do:     "name one of this host's addresses",
			Kernel: "net/ipv6/af_inet6.c: __inet6_bind"}),
		c(Row{Errno: unix.ENODEV, Cause: "this host has no interface of the number behind the %", Look: "ip -br link",
			Do:     ownZone,
			Kernel: "net/ipv6/af_inet6.c: __inet6_bind"}),
		c(Row{Errno: unix.EAFNOSUPPORT, Cause: "ADDRESS is of another family than the socket", Look: "ip -br addr",
			Do:     "name one of this host's addresses",
			Kernel: "net/ipv4/af_inet.c: __inet_bind"}),
		c(Row{Errno: unix.ENOMEM, Cause: "the kernel, or the cgroup, has no memory left",
			Look: "free -m; cat /sys/fs/cgroup/memory.events", Do: lessNeed,
			Kernel: "net/ipv4/inet_hashtables.c: inet_bind_bucket_create"}),
	}
}

func listenRows() []Row {
	return []Row{
		{Call: Listen, Errno: unix.EADDRINUSE, Cause: "another program listens at port PORT", Look: "ss -ltnp",
			Do:     otherPort,
			Kernel: "net/ipv4/inet_connection_sock.c: inet_csk_listen_start"},
		{Call: Listen, Errno: unix.EACCES, Cause: "a security module forbids to listen at port PORT",
			Look: "ausearch -m avc", Do: "choose another port (--port), or let the module allow this one",
			Kernel: "security/security.c: security_socket_listen"},
		{Call: Listen, Errno: unix.ENOMEM, Cause: "the kernel, or the cgroup, has no memory left",
			Look: "free -m; cat /sys/fs/cgroup/memory.events", Do: lessNeed,
			Kernel: "net/ipv4/inet_hashtables.c: inet_hash"},
	}
}

func acceptRows() []Row {
	return slices.Concat(exhausted(Accept, "net/socket.c: do_accept"), []Row{
		{Call: Accept, Errno: unix.ECONNABORTED, Cause: "the sender has given up meanwhile",
			Look: "the sender's own message", Do: "see the sender's own message",
			Kernel: "net/socket.c: do_accept"},
		{Call: Accept, Errno: unix.EPERM,
			Cause:  "a security module, or a seccomp filter, forbids to accept connections",
			Look:   "ausearch -m avc; grep Seccomp /proc/self/status",
			Do:     "let the module allow connections to the data port, or run outside of the container",
			Kernel: "security/security.c: security_socket_accept"},
		{Call: Accept, Errno: unix.EACCES, Cause: "a security module forbids to accept connections",
			Look:   "ausearch -m avc",
			Do:     "let the module allow connections to the data port",
			Kernel: "security/security.c: security_socket_accept"},
		{Call: Accept, Errno: unix.EINVAL, Cause: "the data port is closed", Look: "the receiver's own message",
			Do:     "start the receiver again",
			Kernel: "net/ipv4/inet_connection_sock.c: inet_csk_accept"},
		{Call: Accept, Errno: unix.ETIMEDOUT, If: together,
			Cause: "the sender did not get here, though its agent started it", Look: "the sender's own message",
			Do:     "if the sender says nothing, look at firewalls between the hosts, and " + openOne,
			Kernel: "none: the time that the controller gave was up"},
		{Call: Accept, Errno: unix.ETIMEDOUT, Cause: "no sender that knows the cookie got here",
			Look:   "the sender's own message; nft list ruleset; iptables -S",
			Do:     "start the sender with the same cookie, and let firewalls pass port PORT",
			Kernel: "none: the time of --accept-timeout was up"},
	})
}

func fcntlRows() []Row {
	return []Row{
		{Call: Fcntl, Errno: unix.EMFILE, Cause: "the process has as many files open as it may", Look: "ulimit -n",
			Do: moreFiles, Kernel: "fs/fcntl.c: f_dupfd"},
		{Call: Fcntl, Errno: unix.ENOMEM, Cause: "the kernel has no memory for another descriptor", Look: "free -m",
			Do: lessNeed, Kernel: "fs/file.c: expand_fdtable"},
		{Call: Fcntl, Errno: unix.EINVAL, Cause: "the limit on open files is 0", Look: "ulimit -n", Do: moreFiles,
			Kernel: "fs/file.c: f_dupfd"},
		{Call: Fcntl, Errno: unix.EPERM, Cause: "a security module or a seccomp filter forbids fcntl on sockets",
			Look: "ausearch -m avc; grep Seccomp /proc/self/status",
			Do:   "run outside of the container", Kernel: "security/security.c: security_file_fcntl"},
		{Call: Fcntl, Errno: unix.EACCES, Cause: "a security module forbids fcntl on sockets", Look: "ausearch -m avc",
			Do:     "let the module allow it",
			Kernel: "security/security.c: security_file_fcntl"},
	}
}
