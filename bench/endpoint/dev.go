// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// flowDev finds the interface that the flow of an end comes in or leaves by, for a mode that must
// know it: the one named, otherwise the one that has the address to listen on, or that the route to
// the receiver leaves by.
func flowDev(p stream.Mode, s wire.EndSpec) (string, error) {
	if !p.Has(stream.NeedsDev) {
		return s.Dev, nil
	}
	if s.Dev != "" {
		return portOf(p, s.Dev)
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
		return "", &UsageError{fmt.Errorf("%s must know the interface: name it with --dev, or listen on its address",
			s.Mode())}
	}
	dev, err := nic.Having(addr)
	if errors.Is(err, nic.ErrNoInterface) {
		return "", &UsageError{err}
	}
	if err != nil {
		return "", err
	}
	return portOf(p, dev)
}

// portDevs finds the interface of each of an end's ports, of which first is the first one's.
func portDevs(p stream.Mode, s wire.EndSpec, first string) (devs []string, err error) {
	devs = []string{first}
	for _, x := range s.More {
		dev, err := flowDev(p, s.On(x))
		if err != nil {
			return nil, err
		}
		devs = append(devs, dev)
	}
	return devs, nil
}

// nicDevs lists the interfaces whose queues the flows use, each once; none: they are not known.
func (e *End) nicDevs() (devs []string) {
	for _, f := range e.flows {
		if dev := f.opts.NIC.Dev; dev != "" && !slices.Contains(devs, dev) {
			devs = append(devs, dev)
		}
	}
	return devs
}

// bindFlows binds the flows of several interfaces to them: each comes and goes by its own alone,
// whatever routes and neighbours say, or not at all.
func (e *End) bindFlows() error {
	if e.spec.NPorts() == 1 {
		return nil
	}
	for _, f := range e.flows {
		if err := bindTo(f.port, &f.opts.Socket); err != nil {
			return err
		}
	}
	return nil
}

func bindTo(p wire.Port, o *sock.Options) error {
	name := cmp.Or(p.Upper, p.Dev)
	l, err := rtnl.LinkNamed(name)
	if err != nil {
		return &UsageError{fmt.Errorf("find interface %s: %w", name, err)}
	}
	o.Interface = l.Index
	return nil
}

// portOf finds the port with the queues where dev stands on others. A sender's route must leave by
// the port itself (net/core/devmem.c: net_devmem_get_binding, Linux 7.3.4), so that there is none
// to be found for it.
func portOf(p stream.Mode, dev string) (string, error) {
	if p.Role == stream.TX {
		return dev, nil
	}
	s, err := rtnl.ReadStack()
	if err != nil {
		return "", err
	}
	l, ok := s.Named(dev)
	if !ok || len(s.Below(l)) == 1 && !l.Joins() {
		return dev, nil // what is not there is said by who opens it
	}
	if port, ok := s.Port(l); ok {
		return port.Name, nil
	}
	var ports []string
	for _, x := range s.Ports(l) {
		ports = append(ports, x.Name)
	}
	return "", &fault.Unsupported{Mode: p.Name,
		Op: fmt.Sprintf("%s (%s) has several ports, or none here: %s; a queue belongs to one", dev, l.Kind,
			strings.Join(ports, ", ")),
		How: "name the port that the flow arrives by with --dev; address and route stay on " + dev}
}

// routeDev finds the interface by which host, a name or an address, is reached.
func routeDev(host string) (string, error) {
	ip, err := net.ResolveIPAddr("ip", host)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", host, err)
	}
	return nic.RouteDev(ip.IP)
}
