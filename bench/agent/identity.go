// SPDX-License-Identifier: MIT

package agent

import (
	"fmt"
	"net/netip"
	"os"
	"slices"

	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/tune"
	"golang.org/x/sys/unix"
)

// identity describes who and where this agent is.
func identity() (wire.HelloResult, error) {
	h := wire.HelloResult{Version: wire.Version, ToolVersion: version.Tool(), PID: os.Getpid()}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/net", &st); err != nil {
		return h, fmt.Errorf("identify the network namespace: stat /proc/self/ns/net: %w", err)
	}
	h.NetNS = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	online, err := counter.OnlineCPUs(counter.FS{})
	if a, aerr := place.AllowedCPUs(); aerr == nil {
		h.PinCPUs, h.OwnCPUs = a.Pin, a.Own
	}
	// What this process may use is online, whatever a file says.
	h.OnlineCPUs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(online, h.PinCPUs, h.OwnCPUs))))
	if len(h.OnlineCPUs) == 0 {
		return h, err
	}
	h.NotKernels, h.NoTurns = kernelfile.Covered(), !tune.MaySetSysctl(wire.TurnsNeed)
	h.SetTopology(place.ReadTopology())
	h.Env, _ = counter.ReadEnv(counter.FS{}, "")
	h.Env.ToolVersion = version.Tool()
	return h, nil
}

// interfaces lists the interfaces of this host, with what they mean to the ssh connection.
func (a *agent) interfaces() ([]wire.Interface, error) {
	s, err := rtnl.ReadStack()
	if err != nil {
		return nil, err
	}
	out, err := interfacesOf(s)
	if err != nil {
		return nil, err
	}
	a.sshOf(s, out)
	return out, nil
}

// interfaces lists the network interfaces of this agent's namespace with their
// addresses, IPv4 first, link-local ones by themselves.
func interfaces() ([]wire.Interface, error) { return new(agent).interfaces() }

func interfacesOf(s rtnl.Stack) ([]wire.Interface, error) {
	addrs, err := rtnl.Addrs()
	if err != nil {
		return nil, err
	}
	var out []wire.Interface
	for _, l := range s {
		i := wire.Interface{Name: l.Name, Up: l.Flags&unix.IFF_UP != 0, Loopback: l.Flags&unix.IFF_LOOPBACK != 0,
			MTU: l.MTU}
		stand(&i, s, l)
		if err = parts(&i); err != nil {
			return nil, err
		}
		i.Driver, i.Firmware, _ = counter.DriverInfo(l.Name) // not every interface has ethtool
		for _, a := range addrs {
			switch ip := a.Prefix.Addr(); {
			case a.Index != l.Index:
			case ip.IsLinkLocalUnicast():
				i.LinkLocal = append(i.LinkLocal, ip.String())
			default:
				i.Addrs = append(i.Addrs, ip.String())
			}
		}
		out = append(out, i)
	}
	return out, nil
}

// parts finds the CPUs near an interface, the numbers of its RX queues, none where they are not
// known, and how many rules steer flows to them.
func parts(i *wire.Interface) error {
	d, err := nic.Open(i.Name)
	if err != nil {
		i.NearCPUs, err = place.Near(nil)
		return err
	}
	defer d.Close()
	if i.NearCPUs, err = place.Near(d); err != nil {
		return err
	}
	all, _ := d.Queues() // a kernel before 6.8 does not tell
	for _, q := range all {
		i.RXQueues = append(i.RXQueues, q.ID)
	}
	slices.Sort(i.RXQueues)
	i.Rules, _ = d.HasRules() // not every driver has rules
	return nil
}

// stand fills in what an interface stands on.
func stand(i *wire.Interface, s rtnl.Stack, l rtnl.Link) {
	i.Kind, i.Index, i.Peer = doctor.KindOf(l), l.Index, l.Peer
	for _, b := range s.Below(l)[1:] {
		i.Below = append(i.Below, b.Name)
	}
	if i.Below == nil && !l.LowerElsewhere && !l.Joins() {
		return
	}
	for _, p := range s.Ports(l) {
		i.Ports = append(i.Ports, p.Name)
	}
	if p, ok := s.Port(l); ok {
		i.Port = p.Name
	}
}

// route asks the kernel by which interface packets to addr leave.
func route(addr string) (wire.Route, error) {
	ip, err := netip.ParseAddr(addr)
	if err != nil || ip.Zone() != "" {
		return wire.Route{}, fmt.Errorf("route: %q is not an address", addr)
	}
	dev, err := rtnl.RouteDev(ip)
	if err != nil {
		return wire.Route{}, err // package rtnl has named the address, and the fix
	}
	return wire.Route{Dev: dev}, nil
}
