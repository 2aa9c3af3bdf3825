// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// Options of sockets that flows set.
const (
	SetBuffer     Call = "setsockopt: SO_RCVBUF, SO_SNDBUF"
	SetBusyPoll   Call = "setsockopt: SO_BUSY_POLL, SO_PREFER_BUSY_POLL"
	SetZeroCopy   Call = "setsockopt: SO_ZEROCOPY"
	SetTimeout    Call = "setsockopt: SO_RCVTIMEO, SO_SNDTIMEO"
	SetLowat      Call = "setsockopt: TCP_NOTSENT_LOWAT"
	SetCongestion Call = "setsockopt: TCP_CONGESTION"
	SetSegment    Call = "setsockopt: UDP_SEGMENT"
	SetGather     Call = "setsockopt: UDP_GRO"
	SetTLS        Call = "setsockopt: TCP_ULP, SOL_TLS"
	GetOption     Call = "getsockopt"
	EpollParams   Call = "ioctl EPIOCSPARAMS"
)

// refusedByFilter makes the row of what a filter answers.
func refusedByFilter(call Call, what, do, kernel string) Row {
	return Row{Call: call, Errno: unix.EPERM,
		Cause: "a BPF program of the cgroup, or a seccomp filter, forbids " + what,
		Look:  "bpftool cgroup tree; grep Seccomp /proc/self/status", Do: do, Kernel: kernel}
}

// forbidden makes the rows of what may forbid to set any option.
func forbidden(call Call, without string) []Row {
	return []Row{
		refusedByFilter(call, "the option", without+", or run outside of the container",
			"net/socket.c: do_sock_setsockopt"),
		{Call: call, Errno: unix.EACCES, Cause: "a security module forbids the option", Look: "ausearch -m avc",
			Do:     without + ", or let the module allow setsockopt",
			Kernel: "security/security.c: security_socket_setsockopt"},
		{Call: call, Errno: unix.ENOMEM, Cause: "the kernel has no memory left", Look: "free -m", Do: lessNeed,
			Kernel: "kernel/bpf/cgroup.c: __cgroup_bpf_run_filter_setsockopt"},
	}
}

func sockoptRows() []Row {
	return slices.Concat(
		forbidden(SetBuffer, "leave out --rcvbuf and --sndbuf"),
		need{call: SetBusyPoll, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
			or:     "leave out --busy-poll",
			kernel: "net/core/sock.c: sk_setsockopt"}.rows(),
		[]Row{
			{Call: SetBuffer, Cause: "the kernel does not take that size",
				Look: "sysctl net.core.rmem_max net.core.wmem_max", Do: "choose another --rcvbuf or --sndbuf",
				Kernel: "net/core/sock.c: sk_setsockopt"},

			{Call: SetBusyPoll, Errno: unix.ENOPROTOOPT, Cause: "the kernel does not know SO_PREFER_BUSY_POLL",
				Look:   "uname -r; grep BUSY_POLL /boot/config-*",
				Do:     "leave out --busy-poll: it needs Linux 5.11 or later, built with CONFIG_NET_RX_BUSY_POLL",
				Kernel: "net/core/sock.c: sk_setsockopt"},
			{Call: SetBusyPoll, Cause: "the kernel cannot poll for this socket", Look: "uname -r",
				Do:     "leave out --busy-poll: it needs Linux 5.11 or later, built with CONFIG_NET_RX_BUSY_POLL",
				Kernel: "net/core/sock.c: sk_setsockopt"},
		},
		[]Row{
			{Call: EpollParams, Errno: unix.ENOTTY, Cause: "the kernel's epoll has no parameters of polling",
				Look: "uname -r", Do: "use Linux 6.9 or later (for poll suspend 6.13), or another --poll",
				Kernel: "fs/eventpoll.c: ep_eventpoll_ioctl"},
			{Call: EpollParams, Errno: unix.EOPNOTSUPP, Cause: "the kernel was built without busy polling",
				Look:   "grep BUSY_POLL /boot/config-*",
				Do:     "use a kernel with CONFIG_NET_RX_BUSY_POLL, or --poll irq or threaded",
				Kernel: "fs/eventpoll.c: ep_eventpoll_bp_ioctl"},
			{Call: EpollParams, Cause: "the kernel does not take these parameters", Look: "uname -r",
				Do: "choose a shorter --busy-poll, or another --poll", Kernel: "fs/eventpoll.c: ep_eventpoll_bp_ioctl"},
		},
		forbidden(SetZeroCopy, "use --tx tcp"),
		[]Row{
			{Call: SetZeroCopy, Errno: unix.ENOPROTOOPT, Cause: "the kernel does not know SO_ZEROCOPY",
				Look:   "uname -r",
				Do:     "use --tx tcp: MSG_ZEROCOPY on TCP needs kernel 4.14 or later",
				Kernel: "net/core/sock.c: sk_setsockopt"},
			{Call: SetZeroCopy, Errno: unix.EOPNOTSUPP,
				Cause: "the kernel has no zero copy for this kind of socket (it has for TCP, and since 5.0 for UDP)",
				Look:  "uname -r", Do: "use --tx tcp",
				Kernel: "net/core/sock.c: sk_setsockopt"},
			{Call: SetZeroCopy, Cause: "the kernel does not take SO_ZEROCOPY", Look: "uname -r",
				Do:     "use --tx tcp: MSG_ZEROCOPY on TCP needs kernel 4.14 or later",
				Kernel: "net/core/sock.c: sk_setsockopt"},
			refusedByFilter(SetTimeout, "time limits of sockets", "run outside of the container",
				"net/socket.c: do_sock_setsockopt"),
		},
		forbidden(SetLowat, "leave out --pace"),
		[]Row{
			{Call: SetLowat, Errno: unix.ENOPROTOOPT, Cause: "the kernel does not know TCP_NOTSENT_LOWAT",
				Look:   "uname -r",
				Do:     "leave out --pace: paced flows need kernel 3.12 or later",
				Kernel: "net/ipv4/tcp.c: do_tcp_setsockopt"},
			{Call: SetLowat, Cause: "the kernel does not take TCP_NOTSENT_LOWAT", Look: "uname -r",
				Do:     "leave out --pace: paced flows need kernel 3.12 or later",
				Kernel: "net/ipv4/tcp.c: do_tcp_setsockopt"},
		},
		congestionRows(), datagramRows(), tlsRows(),
		[]Row{
			{Call: GetOption, Errno: unix.ENOPROTOOPT, Cause: "the kernel does not know that option", Look: "uname -r",
				Do:     "use a newer kernel",
				Kernel: "net/core/sock.c: sk_getsockopt"},
			refusedByFilter(GetOption, "to read the option", "run outside of the container",
				"net/socket.c: do_sock_getsockopt"),
		})
}

func congestionRows() []Row {
	c := func(r Row) Row { r.Call = SetCongestion; return r }
	return append(need{call: SetCongestion, over: privilege.Net, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
		or:     "choose a --congestion that net.ipv4.tcp_allowed_congestion_control lists",
		kernel: "net/ipv4/tcp_cong.c: tcp_set_congestion_control"}.rows(),
		c(Row{Errno: unix.ENOENT, Cause: "the kernel has no congestion control of that name, and no module",
			Look: "sysctl net.ipv4.tcp_available_congestion_control",
			Do:   "modprobe tcp_VALUE, or choose another --congestion", Effect: undoable, Undo: "modprobe -r tcp_VALUE",
			Kernel: "net/ipv4/tcp_cong.c: tcp_set_congestion_control"}),
		c(Row{Errno: unix.EBUSY, Cause: "the module of that congestion control is being removed", Look: "lsmod",
			Do: "run it again", Kernel: "net/ipv4/tcp_cong.c: tcp_set_congestion_control"}),
		c(Row{Cause: "the kernel does not take that congestion control",
			Look: "sysctl net.ipv4.tcp_available_congestion_control", Do: "choose another --congestion",
			Kernel: "net/ipv4/tcp_cong.c: tcp_set_congestion_control"}),
	)
}

func datagramRows() []Row {
	return []Row{
		{Call: SetSegment, Errno: unix.EINVAL, Cause: "VALUE is no length of a datagram", Look: "ip -br link",
			Do:     "choose another --message-size",
			Kernel: "net/ipv4/udp.c: udp_lib_setsockopt"},
		{Call: SetSegment, Cause: "the kernel does not know UDP_SEGMENT", Look: "uname -r",
			Do: "use --tx udp: UDP_SEGMENT needs kernel 4.18 or later", Kernel: "net/ipv4/udp.c: udp_lib_setsockopt"},
		{Call: SetGather, Cause: "the kernel does not know UDP_GRO", Look: "uname -r",
			Do: "use --rx udp: UDP_GRO needs kernel 5.0 or later", Kernel: "net/ipv4/udp.c: udp_lib_setsockopt"},
	}
}

// tlsRows makes the rows of the keys of kTLS.
func tlsRows() []Row {
	const set, without = "net/tls/tls_main.c: do_tls_setsockopt_conf", "use --tls user, or leave out --tls"
	return append(forbidden(SetTLS, without),
		Row{Call: SetTLS, Errno: unix.ENOENT,
			Cause: "the kernel has no kTLS, or no gcm(aes) for it, or a module of these is not loaded",
			Look:  "cat /proc/net/tls_stat", Do: "modprobe tls, or use --tls user", Effect: undoable,
			Undo: "modprobe -r tls", Kernel: "net/ipv4/tcp_ulp.c: tcp_set_ulp"},
		Row{Call: SetTLS, Errno: unix.ENOTCONN, Cause: "the other end has closed the connection",
			Look: "the other end's own message", Do: "see the other end's own message",
			Kernel: "net/tls/tls_main.c: tls_init"},
		Row{Call: SetTLS, Errno: unix.EINVAL, Cause: "the kernel does not know that version of TLS, or the cipher",
			Look: "uname -r", Do: without + ": TLS 1.3 needs Linux 5.1 or later", Kernel: set},
		Row{Call: SetTLS, Cause: "the kernel does not take the keys", Look: "journalctl -k", Do: without, Kernel: set})
}
