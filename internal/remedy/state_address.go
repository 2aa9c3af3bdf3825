// SPDX-License-Identifier: MIT

package remedy

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// about returns the address that a call was about: the peer's, else the own one.
func about(on On) netip.Addr {
	if on.Remote.IsValid() {
		return on.Remote.Addr()
	}
	return on.Local.Addr()
}

// Looks at addresses.
var (
	noZone = &state{Name: "a link-local address without an interface", From: "the address",
		Holds: func(on On) (string, bool) {
			a := about(on)
			return "", a.Is6() && a.IsLinkLocalUnicast() && a.Zone() == ""
		}}
	wrongZone = &state{Name: "a link-local address with the zone of an interface that this host lacks",
		From: "rtnetlink: RTM_GETLINK",
		Holds: func(on On) (string, bool) {
			zone := about(on).Zone()
			if zone == "" || zoneIndex(zone) != 0 {
				return "", false
			}
			return "this host has no interface " + zone, true
		}}
	otherFamily = &state{Name: "this host has addresses of the other family alone", From: "rtnetlink: RTM_GETADDR",
		Holds: func(on On) (string, bool) { return otherFamilyAlone(about(on)) },
		Do: func(on On) string {
			if about(on).Unmap().Is4() {
				return "use IPv6 at both ends: --ipv6 (in files ipv6: true), or give the interface an IPv4 address"
			}
			return "use IPv4 at both ends: leave out --ipv6, or give the interface an IPv6 address"
		}}
	// withoutIPv6: it was not built in, or ipv6.disable=1. Where only the sysctl is set sockets can
	// be made, but no interface has an address.
	withoutIPv6 = &state{Name: "the kernel runs without IPv6", From: "/proc/sys/net/ipv6",
		Holds: func(on On) (string, bool) {
			_, err := os.Stat("/proc/sys/net/ipv6")
			return "", ipv6(about(on)) && os.IsNotExist(err)
		}}
	noIPv6 = &state{Name: "IPv6 is off", From: "/proc/sys/net/ipv6/conf/all/disable_ipv6",
		Holds: func(on On) (string, bool) {
			b, err := os.ReadFile("/proc/sys/net/ipv6/conf/all/disable_ipv6")
			return "", ipv6(about(on)) && (err != nil || strings.TrimSpace(string(b)) != "0")
		}}
	// broadcast: TCP has no way to it (net/ipv4/tcp_ipv4.c: tcp_v4_connect).
	broadcast = &state{Name: "a broadcast or multicast address", From: "the address; rtnetlink: RTM_GETADDR",
		Holds: func(on On) (string, bool) { return "", isBroadcast(about(on)) }}
	anyPort = &state{Name: "any free port was asked for", From: "the address",
		Holds: func(on On) (string, bool) { return "", on.Local.IsValid() && on.Local.Port() == 0 }}
	tentative = &state{Name: "IPv6 still looks for others with the address",
		From:  "/proc/thread-self/net/if_inet6: IFA_F_TENTATIVE",
		Holds: func(on On) (string, bool) { return "", flagged(on.Local.Addr(), unix.IFA_F_TENTATIVE) }}
	duplicate = &state{Name: "another host has the address", From: "/proc/thread-self/net/if_inet6: IFA_F_DADFAILED",
		Holds: func(on On) (string, bool) { return "", flagged(on.Local.Addr(), unix.IFA_F_DADFAILED) }}
	lowPort = &state{Name: "the port is below net.ipv4.ip_unprivileged_port_start",
		From: "/proc/sys/net/ipv4/ip_unprivileged_port_start",
		Holds: func(on On) (string, bool) {
			first := 1024
			if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start"); err == nil {
				fmt.Sscan(string(b), &first)
			}
			may := privilege.Look().Lacks(privilege.Net, unix.CAP_NET_BIND_SERVICE) == privilege.Granted
			return fmt.Sprintf("ports below %d need CAP_NET_BIND_SERVICE", first),
				!may && on.Local.IsValid() && on.Local.Port() != 0 && int(on.Local.Port()) < first
		}}
)

// zoneIndex looks up the number of the interface that a zone names, by its name or number; 0: none.
func zoneIndex(zone string) uint32 {
	i, err := net.InterfaceByName(zone)
	if n, bad := strconv.Atoi(zone); err != nil && bad == nil {
		i, err = net.InterfaceByIndex(n)
	}
	if err != nil {
		return 0
	}
	return uint32(i.Index)
}

func ipv6(a netip.Addr) bool { return a.Is6() && !a.Is4In6() }

// isBroadcast reports whether no single host has the address.
func isBroadcast(a netip.Addr) bool {
	a = a.Unmap()
	if a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil || !a.Is4() {
		return false
	}
	for _, x := range all {
		n, ok := x.(*net.IPNet)
		if !ok || len(n.Mask) != net.IPv4len && n.IP.To4() == nil {
			continue
		}
		ones, bits := n.Mask.Size()
		own, ok := netip.AddrFromSlice(n.IP)
		if !ok || bits-ones < 2 { // of two addresses, or one, none is a broadcast address
			continue
		}
		last, host := own.Unmap().As4(), bits-ones
		for i := 3; host > 0; i, host = i-1, host-8 {
			last[i] |= byte(1<<min(host, 8) - 1)
		}
		if a.As4() == last {
			return true
		}
	}
	return false
}

// otherFamilyAlone finds out whether this host has no address of a's family, but others.
func otherFamilyAlone(a netip.Addr) (words string, holds bool) {
	same, others := 0, map[string]bool{}
	all, err := net.Interfaces()
	if err != nil || !a.IsValid() {
		return "", false
	}
	for _, i := range all {
		for _, ip := range addressesOf(i) {
			switch {
			case ip.IsLoopback(), ip.IsLinkLocalUnicast():
			case ip.Is4() == a.Unmap().Is4():
				same++
			default:
				others[i.Name] = true
			}
		}
	}
	if same > 0 || len(others) == 0 {
		return "", false
	}
	have, lack := "IPv6", "IPv4"
	if a.Is6() && !a.Is4In6() {
		have, lack = lack, have
	}
	return fmt.Sprintf("this host has no %s address, but %s on %s", lack, have, sorted(others)), true
}

// addressesOf lists an interface's addresses.
func addressesOf(i net.Interface) (out []netip.Addr) {
	all, _ := i.Addrs()
	for _, x := range all {
		if n, ok := x.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				out = append(out, ip.Unmap())
			}
		}
	}
	return out
}

// flagged reports whether an IPv6 address of this host has a flag (net/ipv6/addrconf.c:
// if6_seq_show).
func flagged(a netip.Addr, flag int) bool {
	b, err := os.ReadFile("/proc/thread-self/net/if_inet6")
	if err != nil || !a.Is6() {
		return false
	}
	want := fmt.Sprintf("%x", a.WithZone("").AsSlice())
	for line := range strings.Lines(string(b)) {
		f, flags := strings.Fields(line), 0
		if len(f) < 6 || f[0] != want {
			continue
		}
		if _, err := fmt.Sscanf(f[4], "%x", &flags); err == nil && flags&flag != 0 {
			return true
		}
	}
	return false
}
