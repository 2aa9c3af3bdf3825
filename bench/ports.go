// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
)

// Ends may have several interfaces: `dev: [eth0, eth1]`, --dev eth0,eth1. Then flows are dealt over
// pairs of an address of the SUT's and an interface of the TG's by which that is reached. The first
// pair is that of all plans; those beside it are lanes.

// lane is a pair of interfaces beside the first.
type lane struct {
	addr   string // the SUT's
	devs   [2]string
	uppers [2]*Upper
	found  [2]port
}

// devs lists the interfaces of an end, each once, that of the first pair first.
func (o *Options) devs(role stream.Role) []string {
	devs := []string{[2]string{o.SUTDev, o.TGDev}[index(role)]}
	for _, l := range o.lanes {
		if dev := l.devs[index(role)]; !slices.Contains(devs, dev) {
			devs = append(devs, dev)
		}
	}
	return devs
}

// devNames names the interfaces of an end.
func (o *Options) devNames(role stream.Role) string { return strings.Join(o.devs(role), ",") }

// findLanes pairs the interfaces of both ends: each of one end with one of the other, or with its
// only one, by the routes from the TG to the SUT's addresses.
func (o *Options) findLanes(ctx context.Context, sut, tg *host.Host, addr, dev, tgDev string, ipv6 bool) error {
	devs, err := namedDevs(dev)
	tgDevs, terr := namedDevs(tgDev)
	if err := cmp.Or(err, terr); err != nil {
		return err
	}
	switch {
	case o.container != nil:
		return inputErrorf("lease_queue leases a queue of one interface, and these are several: %s",
			strings.Join(slices.Concat(devs, tgDevs), ", "))
	case addr != "":
		return inputErrorf("several interfaces have addresses of their own: leave out --addr (in files sut.addr) %s",
			addr)
	case len(devs) > 1 && len(tgDevs) > 1 && len(devs) != len(tgDevs):
		return inputErrorf("%d interfaces of the SUT and %d of the TG: name as many of each, or one of an end",
			len(devs), len(tgDevs))
	case len(devs) == 0:
		return inputErrorf("the TG has several interfaces (%s): name the SUT's with --dev (in files sut.dev)",
			strings.Join(tgDevs, ", "))
	}
	all, err := interfacesOf(ctx, sut)
	if err != nil {
		return err
	}
	theirs, err := interfacesOf(ctx, tg)
	if err != nil {
		return err
	}
	left := slices.Clone(tgDevs)
	o.MTU = 0
	for n := range max(len(devs), len(tgDevs)) {
		dev, wanted := devs[n%len(devs)], left
		if len(devs) == 1 || len(tgDevs) == 1 {
			wanted = tgDevs[n%max(len(tgDevs), 1):][:min(len(tgDevs), 1)]
		}
		l, mtu, err := o.findLane(ctx, sut, tg, all, theirs, dev, wanted, ipv6)
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(d string) bool { return d == l.devs[1] || l.uppers[1].name() == d })
		o.MTU = min(mtu, cmp.Or(o.MTU, mtu))
		if n == 0 {
			o.Addr, o.SUTDev, o.TGDev, o.SUTUpper, o.TGUpper = l.addr, l.devs[0], l.devs[1], l.uppers[0], l.uppers[1]
		} else {
			o.lanes = append(o.lanes, *l)
		}
	}
	return nil
}

// namedDevs reads the interfaces that were named for an end; nil: none were.
func namedDevs(dev string) ([]string, error) {
	if dev == "" {
		return nil, nil
	}
	all, err := matrix.Devs(dev)
	if err != nil {
		return nil, &inputError{err}
	}
	return all, nil
}

// findLane finds an address of the SUT's interface dev that the TG reaches by one of the wanted
// interfaces; none: by any.
func (o *Options) findLane(ctx context.Context, sut, tg *host.Host, all, theirs []wire.Interface, dev string,
	wanted []string, ipv6 bool) (l *lane, mtu int, err error) {
	var seen []string
	for _, i := range all {
		if i.Loopback || !i.StandsOn(dev) {
			continue
		}
		if !i.Up {
			return nil, 0, inputErrorf("%s has %s", sut.Spec.Name, thereBy(sut, isDown(i)))
		}
		for _, a := range i.Addrs {
			if ip, err := netip.ParseAddr(a); err != nil || ip.Is6() != ipv6 {
				continue
			}
			by := Options{Addr: a, SharedWithSSH: o.SharedWithSSH}
			t, err := by.pathOf(ctx, sut, tg, i, "")
			if err != nil {
				return nil, 0, err
			}
			at := slices.IndexFunc(wanted, func(d string) bool { return t.StandsOn(d) })
			if at < 0 && len(wanted) > 0 {
				seen = append(seen, fmt.Sprintf("%s by %s", a, t.Name))
				continue
			}
			if err := cmp.Or(o.mind(sut, i), o.mind(tg, t)); err != nil {
				return nil, 0, err
			}
			l, named := &lane{addr: a}, t.Name
			if at >= 0 {
				named = wanted[at]
			}
			l.devs[0], l.uppers[0] = ports(i, dev)
			l.devs[1], l.uppers[1] = ports(t, named)
			return l, i.MTU, nil
		}
	}
	if seen == nil {
		return nil, 0, inputErrorf("%s has no interface %s with %s address; the interfaces are: %s", sut.Spec.Name, dev,
			family(ipv6), names(all))
	}
	return nil, 0, inputErrorf("%s of %s has no partner: %s reaches %s, and not by %s: give each pair of interfaces "+
		"addresses in a network of its own (ip -br addr, on both hosts)", dev, sut.Spec.Name, tg.Spec.Name,
		strings.Join(seen, ", "), strings.Join(wanted, " or "))
}

// lanesOf specifies the interfaces of an end beside the first, for a data port at addr.
func (o *Options) lanesOf(role stream.Role, addr string) (out []wire.Port) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		port = fmt.Sprint(o.Port)
	}
	at := index(role)
	for _, l := range o.lanes {
		out = append(out, wire.Port{Dev: l.devs[at], Upper: l.uppers[at].name(), Addr: net.JoinHostPort(l.addr, port)})
	}
	return out
}

// unlike explains why a cell cannot have several interfaces at an end; nil: it can, or there is
// one.
func (o *Options) unlike(c plan.Cell) *Missing {
	if len(o.lanes) == 0 {
		return nil
	}
	n := len(o.lanes) + 1
	no := func(what, fix string) *Missing {
		return &Missing{Reason: fmt.Sprintf("%s, and the path has %d pairs of interfaces (%s; %s)", what, n,
			o.devNames(stream.RX), o.devNames(stream.TX)), Fix: fix, Blocked: true}
	}
	const one = "name one interface (--dev, --tg-dev)"
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		if m, err := modes.Find(role, c.Mode(role)); err == nil && m.Kind != stream.Stream {
			return no(fmt.Sprintf("%s has the packets of one interface", m.Name), one)
		}
	}
	fewest := max(len(o.devs(stream.RX)), 1)
	switch {
	case c.TurnLength(o.Turn) > 0:
		return no("the counters of one interface are read in turns", "order: blocks, or "+one)
	case c.ByPort():
		return no("a rule for the port (steer: port) and its RSS context are one interface's",
			"leave out steer, or "+one)
	case c.BothWays():
		return no("the other way (both) goes back to one address", "leave out both, or "+one)
	case c.PassesOn():
		return no("what is passed on (then) goes back to one address", "leave out then, or "+one)
	case c.Then != "":
		return no("nobody has tried to write (then) what comes by several interfaces", "leave out then, or "+one)
	case c.Connects():
		return no("requests that connect have one address to go to", "use tx rr, or "+one)
	case c.Path != "":
		return no("packets are followed along one path (path)", "leave it out, or "+one)
	case c.NFlows() < n:
		return no(fmt.Sprintf("flows: %d cannot be dealt over them", c.NFlows()), fmt.Sprintf("flows: %d or more "+
			"(--flows %d)", n, n))
	case c.Queues > 0 && c.Queues < fewest:
		return no(fmt.Sprintf("%d RX queues in all are fewer than the receiver's interfaces", c.Queues),
			fmt.Sprintf("queues: %d or more (--queues %d)", fewest, fewest))
	}
	return nil
}
