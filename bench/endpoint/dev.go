// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
)

// flowDev is the interface that the flow of an end comes in or leaves by, for a
// mode that must know it: the one named, else the one that has the address to
// listen on, or that the route to the receiver leaves by.
func flowDev(p stream.Mode, s wire.EndSpec) (string, error) {
	if !p.NeedsDev || s.Dev != "" {
		return s.Dev, nil
	}
	host, _, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return "", &UsageError{err}
	}
	if s.Role == stream.TX {
		return routeDev(host)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.IsUnspecified() {
		return "", &UsageError{fmt.Errorf("%s must know the interface: name it with --dev, or listen on its address", s.Mode())}
	}
	dev, err := nic.Having(addr)
	if errors.Is(err, nic.ErrNoInterface) {
		return "", &UsageError{err}
	}
	return dev, err
}

// routeDev is the interface by which host, a name or an address, is reached.
func routeDev(host string) (string, error) {
	ip, err := net.ResolveIPAddr("ip", host)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", host, err)
	}
	return nic.RouteDev(ip.IP)
}
