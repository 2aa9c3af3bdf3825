// SPDX-License-Identifier: MIT

package agent

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// toReach says what a host without a route to an address lacks, by its interfaces: one that is down
// has no routes (fib_sync_down_dev of net/ipv4/fib_semantics.c), whatever its addresses.
func toReach(to netip.Addr) string {
	const address = "give the interface on the wire an address in the same network: ip addr add ADDRESS/24 dev DEV"
	all, err := net.Interfaces()
	if err != nil {
		return address
	}
	var down, up []string
	for _, i := range all {
		switch {
		case i.Flags&net.FlagLoopback != 0:
		case i.Flags&net.FlagUp != 0:
			up = append(up, i.Name)
		case inNetwork(i, to):
			return fmt.Sprintf("%s has an address in the same network, and is down: ip link set %s up", i.Name, i.Name)
		default:
			down = append(down, i.Name)
		}
	}
	switch {
	case up == nil && down == nil:
		return "this network namespace has no interface but loopback: name the one that has it (netns:NAME), or move it here (ip link set DEV netns NAME)"
	case up == nil: // of IPv6 an interface loses its addresses with it
		return fmt.Sprintf("no interface is up: ip link set %s up; then, if it has none, %s", strings.Join(down, " up, ip link set "), address)
	case down != nil:
		return fmt.Sprintf("%s; or is it %s, which is down? ip link set %s up", address, strings.Join(down, " or "), down[0])
	}
	return address
}

// inNetwork tells whether an interface has an address in the network of another.
func inNetwork(i net.Interface, to netip.Addr) bool {
	addrs, err := i.Addrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Contains(to.Unmap()) {
			return true
		}
	}
	return false
}
