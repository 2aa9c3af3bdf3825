// SPDX-License-Identifier: MIT

package remedy

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"

	"golang.org/x/sys/unix"
)

// Looks at links and routes.
var (
	downLink = &state{Name: "the interface in the peer's network is down, or has no carrier",
		From: "rtnetlink: RTM_GETLINK: IFF_UP, IFF_RUNNING",
		Holds: func(on On) (string, bool) {
			words, _ := linkTo(about(on))
			return words, words != ""
		},
		Do: func(on On) string {
			_, do := linkTo(about(on))
			return do
		}}
	unreachableWay = refusing("unreachable", unix.EHOSTUNREACH)
	prohibited     = refusing("prohibit", unix.EACCES)
	swallowed      = refusing("blackhole", unix.EINVAL)
)

// refusing makes the state that a route of a type refuses the address, with an errno
// (net/ipv4/fib_trie.c: fib_table_lookup, net/ipv6/route.c: ip6_rt_type_to_error).
func refusing(kind string, errno unix.Errno) *state {
	return &state{Name: "a route of this host refuses the address (" + kind + ")", From: "connect of a UDP socket",
		Holds: func(on On) (string, bool) {
			a := on.Remote.Addr().Unmap()
			if a.Is4() && a.As4()[0] == 0 || isBroadcast(a) { // refused whatever the routes are
				return "", false
			}
			return "", errors.Is(routeTo(on.Remote), errno)
		}}
}

// routeTo asks the kernel about the way to an address: a UDP socket that connects looks it up and
// sends nothing (net/ipv4/datagram.c: __ip4_datagram_connect).
func routeTo(to netip.AddrPort) error {
	if !to.IsValid() {
		return nil
	}
	family, sa := unix.AF_INET6, unix.Sockaddr(nil)
	if a := to.Addr().Unmap(); a.Is4() {
		family, sa = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: a.As4()}
	} else {
		v6 := &unix.SockaddrInet6{Port: int(to.Port()), Addr: a.As16()}
		v6.ZoneId = zoneIndex(a.Zone())
		sa = v6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil // which says nothing of the route
	}
	defer unix.Close(fd)
	return unix.Connect(fd, sa)
}

// linkTo explains that the interface whose network has the address cannot send, nor can another one
// in that network, and what to do; words are empty where one can.
func linkTo(to netip.Addr) (words, do string) {
	all, err := net.Interfaces()
	if err != nil || !to.IsValid() {
		return "", ""
	}
	for _, i := range all {
		at, _ := i.Addrs()
		for _, x := range at {
			n, ok := x.(*net.IPNet)
			if !ok || !n.Contains(to.WithZone("").AsSlice()) || to.Zone() != "" && to.Zone() != i.Name {
				continue
			}
			words = fmt.Sprintf("the interface %s, in whose network ADDRESS is, ", i.Name)
			switch {
			case i.Flags&net.FlagUp == 0:
				words, do = words+"is down", "ip link set "+plaintext.Word(i.Name)+" up"
			case i.Flags&net.FlagRunning == 0:
				words, do = words+"has no carrier", "check the cable and the switch, and that the other end is up"
			default:
				return "", ""
			}
		}
	}
	return words, do
}

func sorted(names map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}
