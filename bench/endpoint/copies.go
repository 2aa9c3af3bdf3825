// SPDX-License-Identifier: MIT

package endpoint

import (
	"net/netip"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// copiesHere reports whether a flow stays on loopback or veth, where some modes cannot but copy. An
// end that was told no interface, as zcrecv and zcsend are on their own, asks for the route to the
// flow's other end. What cannot be found out excuses nothing.
func (r *run) copiesHere(f *flow, env measure.Env) bool {
	dev, name := r.end.spec.Dev, env.Driver
	if r.end.spec.NPorts() > 1 {
		dev = f.port.Dev
		name, _, _ = counter.DriverInfo(dev)
	}
	if dev == "" {
		if f.Conn == nil {
			return false
		}
		var err error
		if dev, err = devTo(f.Conn.Remote.Addr()); err != nil {
			return false
		}
		name, _, _ = counter.DriverInfo(dev) // loopback has no ethtool
	}
	return driver.Of(name).CopiesSent || name == "" && dev == "lo"
}

// devTo finds the interface by which an address is reached.
func devTo(a netip.Addr) (string, error) {
	if a.Zone() != "" {
		return a.Zone(), nil
	}
	return rtnl.RouteDev(a.Unmap())
}
