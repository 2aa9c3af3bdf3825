// SPDX-License-Identifier: MIT

package remedy

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// errnos are those that socket(2), bind(2), ..., ip(7), ipv6(7), tcp(7) and udp(7) give, and
// net/ipv4/icmp.c: icmp_err_convert and net/ipv6/icmp.c: icmpv6_err_convert make of ICMP messages.
var errnos = map[Call][]unix.Errno{
	Socket: {unix.EACCES, unix.EAFNOSUPPORT, unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.EPERM},
	Bind: {unix.EACCES, unix.EADDRINUSE, unix.EADDRNOTAVAIL, unix.EAFNOSUPPORT, unix.EINVAL, unix.ENODEV, unix.ENOMEM,
		unix.EPERM},
	Listen: {unix.EADDRINUSE, unix.EACCES, unix.ENOMEM},
	Accept: {unix.ECONNABORTED, unix.EINVAL, unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.EPERM,
		unix.ETIMEDOUT},
	Fcntl: {unix.EMFILE, unix.EINVAL, unix.EPERM, unix.EACCES, unix.ENOMEM},
	Connect: {unix.EACCES, unix.EPERM, unix.EADDRNOTAVAIL, unix.EAFNOSUPPORT, unix.EAGAIN, unix.ECONNREFUSED,
		unix.ECONNRESET,
		unix.EHOSTDOWN, unix.EHOSTUNREACH, unix.EINTR, unix.EINVAL, unix.ENETUNREACH, unix.ENOBUFS, unix.ENODEV,
		unix.ENONET,
		unix.ENOPROTOOPT, unix.EOPNOTSUPP, unix.EPROTO, unix.ETIMEDOUT},
	Route: {unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EACCES, unix.EINVAL, unix.EOPNOTSUPP},
	Send: {unix.EACCES, unix.ECONNREFUSED, unix.ECONNRESET, unix.EHOSTDOWN, unix.EHOSTUNREACH, unix.EINVAL, unix.EIO,
		unix.EMSGSIZE, unix.ENETDOWN,
		unix.ENETUNREACH, unix.ENOBUFS, unix.ENOMEM, unix.ENOPROTOOPT, unix.ENOTCONN, unix.EPERM, unix.EPIPE,
		unix.EPROTO, unix.ETIMEDOUT},
	Recv: {unix.EACCES, unix.ECONNREFUSED, unix.ECONNRESET, unix.EHOSTDOWN, unix.EHOSTUNREACH, unix.EINVAL, unix.EIO,
		unix.EMSGSIZE,
		unix.ENETUNREACH, unix.ENODEV, unix.ENOMEM, unix.ENOPROTOOPT, unix.ENOTCONN, unix.EPERM, unix.EPROTO,
		unix.ETIMEDOUT},
	SetBuffer:     {unix.EINVAL, unix.EPERM, unix.EACCES, unix.ENOMEM},
	SetBusyPoll:   {unix.EINVAL, unix.EPERM, unix.ENOPROTOOPT, unix.EOPNOTSUPP},
	EpollParams:   {unix.EINVAL, unix.EPERM, unix.ENOTTY, unix.EOPNOTSUPP},
	SetZeroCopy:   {unix.ENOPROTOOPT, unix.EOPNOTSUPP, unix.EINVAL, unix.EPERM},
	SetTimeout:    {unix.EPERM},
	SetLowat:      {unix.ENOPROTOOPT, unix.EPERM, unix.EINVAL},
	SetCongestion: {unix.ENOENT, unix.EPERM, unix.EBUSY, unix.EINVAL},
	SetSegment:    {unix.EINVAL, unix.ENOPROTOOPT},
	SetGather:     {unix.ENOPROTOOPT, unix.EINVAL},
	GetOption:     {unix.ENOPROTOOPT, unix.EPERM},
	Shutdown:      {unix.ENOTCONN, unix.EINVAL},
	MapTCP:        {unix.ENODEV, unix.ENOMEM},
	Mmap:          {unix.ENOMEM, unix.EPERM, unix.EAGAIN, unix.EACCES, unix.EFBIG, unix.ENOSPC},
	Memfd:         {unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.EPERM, unix.EACCES},
	Progress:      {unix.ETIMEDOUT},
}

func TestEveryNetworkErrnoHasAFix(t *testing.T) {
	on := On{Remote: netip.MustParseAddrPort("192.0.2.1:5201"), Local: netip.MustParseAddrPort("192.0.2.2:5201"),
		Value: "x", Dev: "eth0"}
	for call, all := range errnos {
		for _, e := range all {
			if how := How(call, e, on); how == NoFix || strings.Contains(how, "ADDRESS") ||
				strings.Contains(how, "VALUE") {
				t.Errorf("%s, %s: %q", call, unix.ErrnoName(e), how)
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	peer := netip.MustParseAddrPort("192.0.2.1:5201")
	v4 := func(typ, code uint8, from string) *Answer {
		b := make([]byte, 16+8)
		b[4], b[5], b[6] = 2, typ, code
		binary.NativeEndian.PutUint16(b[16:], unix.AF_INET)
		copy(b[20:], netip.MustParseAddr(from).AsSlice())
		return answerIn(b)
	}
	v6 := func(code uint8, from string) *Answer {
		b := make([]byte, 16+28)
		b[4], b[5], b[6] = 3, 1, code
		binary.NativeEndian.PutUint16(b[16:], unix.AF_INET6)
		copy(b[24:], netip.MustParseAddr(from).AsSlice())
		return answerIn(b)
	}
	for _, x := range []struct {
		errno    unix.Errno
		answer   *Answer
		together bool
		want     []string
	}{
		{unix.EHOSTUNREACH, v4(3, 10, "192.0.2.1"), true,
			[]string{"firewall", "192.0.2.1 answered ICMP host-prohibited", "--port"}},
		{unix.EHOSTUNREACH, v4(3, 1, "192.0.2.1"), true, []string{"firewall", "ICMP host-unreachable", "--port"}},
		{unix.EHOSTUNREACH, v4(3, 1, "198.51.100.1"), true,
			[]string{"the router 198.51.100.1 answered ICMP host-unreachable"}},
		{unix.EHOSTUNREACH, v4(3, 13, "198.51.100.1"), true,
			[]string{"firewall", "198.51.100.1 answered ICMP admin-prohibited", "--port"}},
		{unix.EHOSTUNREACH, v4(3, 1, "127.0.0.1"), true, []string{"nothing on the link answers to 192.0.2.1",
			"ip neigh"}},
		{unix.EHOSTUNREACH, v4(3, 13, "127.0.0.1"), true, []string{"a firewall of this host itself"}},
		{unix.ENETUNREACH, v4(3, 0, "198.51.100.1"), true,
			[]string{"the router 198.51.100.1 answered ICMP net-unreachable"}},
		{unix.ECONNREFUSED, v4(3, 3, "192.0.2.1"), false, []string{"firewall", "ICMP port-unreachable",
			"let the receiver listen"}},
		{unix.EACCES, v6(1, "2001:db8::1"), true, []string{"firewall", "2001:db8::1 answered ICMPv6 admin-prohibited",
			"--port"}},
		{unix.EHOSTUNREACH, v6(3, "2001:db8::9"), true,
			[]string{"the router 2001:db8::9 answered ICMPv6 addr-unreachable"}},
		{unix.EHOSTUNREACH, v4(11, 0, "198.51.100.1"), true, []string{"198.51.100.1 answered ICMP type 11, code 0"}},
		{unix.ECONNREFUSED, nil, true, []string{"firewall", "192.0.2.1 port 5201 answered with a reset", "--port"}},
		{unix.ECONNREFUSED, nil, false, []string{"nothing listens at 192.0.2.1 port 5201", "start the receiver first"}},
		{unix.ETIMEDOUT, nil, true, []string{"firewall drops", "--port"}},
	} {
		how := How(Connect, x.errno, On{Remote: peer, Answer: x.answer, Together: x.together})
		for _, w := range x.want {
			if !strings.Contains(how, w) {
				t.Errorf("%s, %v: %q lacks %q", unix.ErrnoName(x.errno), x.answer, how, w)
			}
		}
		if strings.Contains(how, "no route") {
			t.Errorf("%s, %v: %q", unix.ErrnoName(x.errno), x.answer, how)
		}
	}
	if a := answerIn(make([]byte, 24)); a != nil {
		t.Errorf("a message of none: %v", a)
	}
}

func TestSmallOnly(t *testing.T) {
	on := On{Remote: netip.MustParseAddrPort("192.0.2.1:5201")}
	stuck := unix.TCPInfo{State: 1, Snd_mss: 8948, Pmtu: 9000, Unacked: 10, Backoff: 3, Bytes_acked: 121,
		Bytes_sent: 121 + 13*8948, Bytes_retrans: 3 * 8948}
	words, holds := smallOnlyIn(&stuck, on)
	if !holds || !strings.Contains(words, "MTU of 9000 bytes") ||
		!strings.Contains(words, "ping -M do -s 8972 192.0.2.1") {
		t.Errorf("%v: %q", holds, words)
	}
	on.Remote = netip.MustParseAddrPort("[2001:db8::1]:5201")
	if words, _ := smallOnlyIn(&stuck, on); !strings.Contains(words, "ping -M do -s 8952 2001:db8::1") {
		t.Errorf("by IPv6: %q", words)
	}
	for what, change := range map[string]func(*unix.TCPInfo){
		"it moves":             func(i *unix.TCPInfo) { i.Bytes_acked = 1 << 20 },
		"nothing was lost":     func(i *unix.TCPInfo) { i.Backoff = 0 },
		"nothing is in flight": func(i *unix.TCPInfo) { i.Unacked = 0 },
		"small requests, of which one was lost": func(i *unix.TCPInfo) {
			i.Unacked, i.Total_retrans, i.Bytes_acked, i.Bytes_sent, i.Bytes_retrans = 1, 1, 761, 889, 64
		},
	} {
		i := stuck
		if change(&i); i.Bytes_acked == stuck.Bytes_acked && i == stuck {
			t.Fatal(what)
		}
		if words, holds := smallOnlyIn(&i, on); holds {
			t.Errorf("%s: %q", what, words)
		}
	}
	local := stuck // the interface dropped it at once
	local.Unacked, local.Backoff, local.Probes, local.Notsent_bytes = 0, 0, 6, 465296
	if _, holds := smallOnlyIn(&local, on); !holds {
		t.Error("what the own interface drops")
	}
	given := stuck // by the kernel: it has forgotten what was in flight
	given.State, given.Unacked, given.Backoff, given.Total_retrans = 7, 0, 0, 5
	if _, holds := smallOnlyIn(&given, on); !holds {
		t.Error("a connection that the kernel has given up")
	}
}

func TestLinkLocalWords(t *testing.T) {
	bare, gone := netip.MustParseAddrPort("[fe80::1]:5201"), netip.MustParseAddrPort("[fe80::1%nosuch0]:5201")
	for _, call := range []Call{Connect, Bind} {
		on := func(a netip.AddrPort) On {
			if call == Bind {
				return On{Local: a}
			}
			return On{Remote: a}
		}
		if how := How(call, unix.EINVAL, on(bare)); !strings.Contains(how, "write fe80::1%DEV") {
			t.Errorf("%s: %q", call, how)
		}
		if how := How(call, unix.EINVAL, on(gone)); !strings.Contains(how, "no interface nosuch0") {
			t.Errorf("%s: %q", call, how)
		}
	}
}

// A registration without a NIC is not refused for what only a NIC has.
func TestZcrxWithoutNIC(t *testing.T) {
	for _, r := range Rows(ZcrxNoNIC) {
		for _, word := range []string{"header split", "interface", "the driver", "another queue"} {
			if r.Call == ZcrxNoNIC && strings.Contains(r.text(r.Cause), word) {
				t.Errorf("%s: %s", unix.ErrnoName(r.Errno), r.text(r.Cause))
			}
		}
	}
	if how := How(ZcrxNoNIC, unix.EINVAL, On{}); !strings.Contains(how, "Linux 7.1 or later") {
		t.Error(how)
	}
}

// Few rows have no fix, and none of these calls is without a row.
func TestFewNetworkRowsWithoutAFix(t *testing.T) {
	rows := once(slices.Concat(socketRows(), sockoptRows(), connectRows(), routeRows(), transferRows(), memoryRows()))
	none, calls := 0, map[Call]bool{}
	for _, r := range rows {
		if calls[r.Call] = true; r.Do == "" {
			none++
		}
	}
	if none*5 > len(rows) {
		t.Errorf("%d of %d rows have no fix", none, len(rows))
	}
	for call := range errnos {
		if !calls[call] {
			t.Errorf("%s has no row", call)
		}
	}
}

// TestErrnosOfSeveralCauses: the state tells which it is, as the kernel answered on a host of 6.18.
func TestErrnosOfSeveralCauses(t *testing.T) {
	socket := func(kind, zeroCopy int) int {
		fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, zeroCopy); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	at := netip.MustParseAddrPort
	user := host(t, 64<<10, privilege.NotRoot, map[string]string{})
	root := host(t, 64<<10, privilege.Granted, map[string]string{})
	strict := host(t, 0, privilege.Granted, map[string]string{"proc/sys/vm/overcommit_memory": "2\n",
		"proc/meminfo": "CommitLimit:     1048576 kB\nCommitted_AS:    1040384 kB\n"})
	for _, x := range []struct {
		what       string
		host       memoryLook
		call       Call
		errno      unix.Errno
		on         On
		want, none string
	}{
		{"a broadcast address", root, Connect, unix.ENETUNREACH, On{Remote: at("255.255.255.255:5201")}, "broadcast",
			"no route"},
		{"that of loopback's network", root, Connect, unix.EACCES, On{Remote: at("127.255.255.255:5201")}, "broadcast",
			"a route of this host"},
		{"a multicast address", root, Connect, unix.ENETUNREACH, On{Remote: at("[ff02::1]:5201")}, "multicast",
			"no route"},
		{"the number of no interface", root, Connect, unix.ENETUNREACH, On{Remote: at("[fe80::1%99999]:5201")},
			"no interface 99999", "no route"},
		{"the number of an interface", root, Connect, unix.EINVAL, On{Remote: at("[fe80::1%1]:5201")},
			"none that a connection", "no interface"},
		{"0.0.0.0/8", root, Connect, unix.EINVAL, On{Remote: at("0.1.2.3:5201")}, "none that a connection",
			"a route of this host"},
		{"all ports taken", root, Bind, unix.EADDRINUSE, On{Local: at("127.0.0.1:0")}, "ip_local_port_range", "port 0"},
		{"one port taken", root, Bind, unix.EADDRINUSE, On{Local: at("127.0.0.1:5201")},
			"another program has port 5201", "ip_local_port_range"},
		{"zero copy", root, Send, unix.ENOBUFS, On{FD: socket(unix.SOCK_STREAM, 1)}, "optmem_max", "queue"},
		{"zero copy of a user", user, Send, unix.ENOBUFS, On{FD: socket(unix.SOCK_STREAM, 1)}, "ulimit -l",
			"optmem_max"},
		{"datagrams of a user", user, Send, unix.ENOBUFS, On{FD: socket(unix.SOCK_DGRAM, 0)}, "the interface's queue",
			"ulimit -l"},
		{"a ring's zero copy of a user", user, Send, unix.ENOMEM, On{FD: socket(unix.SOCK_STREAM, 0)}, "ulimit -l",
			"cgroup"},
		{"no overcommit, of an area", strict, Mmap, unix.ENOMEM, On{Bytes: 1 << 30},
			"vm.overcommit_memory is 2|--area-size", "one piece"},
	} {
		t.Run(x.what, func(t *testing.T) {
			with(t, x.host)
			how := How(x.call, x.errno, x.on)
			for w := range strings.SplitSeq(x.want, "|") {
				if !strings.Contains(how, w) {
					t.Errorf("%q lacks %q", how, w)
				}
			}
			if strings.Contains(how, x.none) {
				t.Errorf("%q says %q", how, x.none)
			}
		})
	}
}

// TestRingsAreNotCharged: where rings are not charged, the limit on locked memory is no cause.
func TestRingsAreNotCharged(t *testing.T) {
	m := host(t, 64<<10, privilege.NotRoot, map[string]string{})
	m.charged = func() bool { return false }
	with(t, m)
	if how := How(UringSetup, unix.ENOMEM, On{Bytes: 2 << 20}); strings.Contains(how, "ulimit -l") {
		t.Error(how)
	}
	if how := How(UringBuffers, unix.ENOMEM, On{Bytes: 2 << 20}); !strings.Contains(how, "ulimit -l") {
		t.Error(how)
	}
}
