// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// ErrNoInterface says that no interface has an address.
var ErrNoInterface = errors.New("no interface of this host (or namespace) has the address")

// Having finds the interface of the calling thread's network namespace that has
// an address.
func Having(addr netip.Addr) (dev string, err error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("list network interfaces: %w", err)
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			return "", fmt.Errorf("list addresses of %s: %w", i.Name, err)
		}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.String() == addr.WithZone("").Unmap().String() {
				return i.Name, nil
			}
		}
	}
	return "", fmt.Errorf("%w %v", ErrNoInterface, addr)
}

// Software names the kind of an interface that hands packets over within this
// machine without any device, "loopback" or "veth"; "" for all others.
func (d *Device) Software() string {
	l, err := d.route.Link(d.Index)
	switch {
	case err != nil:
		return ""
	case l.Flags&unix.IFF_LOOPBACK != 0:
		return "loopback"
	case l.Kind == "veth":
		return "veth"
	}
	return ""
}
