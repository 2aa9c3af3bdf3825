// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// onOneLink reports whether an address holds on one link alone, so that each end needs the name of
// its own interface with it: fe80::, not 169.254.0.0/16, to which routes lead.
func onOneLink(a netip.Addr) bool {
	return a.Is6() && !a.Is4In6() && a.IsLinkLocalUnicast()
}

// linkOf finds the SUT's interface with a link-local address: that of its zone, one that stands on
// dev, or the only one that has it. Its error goes on after "HOST has".
func linkOf(all []wire.Interface, ip netip.Addr, dev string) (wire.Interface, error) {
	none := wire.Interface{}
	bare := ip.WithZone("").String()
	if zone := ip.Zone(); zone != "" {
		at := slices.IndexFunc(all, func(i wire.Interface) bool { return i.Name == zone })
		switch {
		case at < 0:
			return none, fmt.Errorf(
				"no interface %s, which --addr %v names: the name behind the %% is that of the SUT's own "+
					"interface; they are: %s", zone, ip, names(all))
		case dev != "" && !all[at].StandsOn(dev):
			return none, fmt.Errorf("%s, which --addr %v names, apart from %s: give both the same interface", zone, ip,
				dev)
		case !slices.Contains(all[at].LinkLocal, bare):
			return none, fmt.Errorf("no address %s on %s; %s", bare, zone, linkLocals(all))
		}
		return all[at], nil
	}
	var found []wire.Interface
	for _, i := range all {
		if slices.Contains(i.LinkLocal, bare) && (dev == "" || i.StandsOn(dev)) {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return none, fmt.Errorf("%s on several interfaces: name one of them: --addr %s%%DEV, with DEV one of: %s", bare,
			bare, names(found))
	case dev != "":
		return none, fmt.Errorf("no address %s on %s; %s", bare, dev, linkLocals(all))
	}
	return none, fmt.Errorf("no address %s; %s", bare, linkLocals(all))
}

// linkLocals lists the link-local addresses that there are, as --addr takes them.
func linkLocals(all []wire.Interface) string {
	var out []string
	for _, i := range all {
		for _, a := range i.LinkLocal {
			if ip, err := netip.ParseAddr(a); err == nil && onOneLink(ip) {
				out = append(out, plaintext.Word(a+"%"+i.Name))
			}
		}
	}
	if len(out) == 0 {
		return "it has no link-local address that is ready"
	}
	return "its link-local addresses are: " + strings.Join(out, ", ")
}

// linkTo finds the TG's interface on the link of the SUT's, which no route tells: the one that is
// named, or the only one with a link-local address. Its error goes on after "HOST has".
func linkTo(all []wire.Interface, addr, tgDev string, sharedWithSSH bool) (wire.Interface, error) {
	var found []wire.Interface
	for _, i := range all {
		able := slices.ContainsFunc(i.LinkLocal,
			func(a string) bool { ip, err := netip.ParseAddr(a); return err == nil && onOneLink(ip) })
		switch {
		case !able || i.Loopback:
		case i.Name == tgDev:
			return i, nil
		case tgDev == "" && i.Up && (i.SSH == "" || sharedWithSSH), tgDev != "" && i.StandsOn(tgDev):
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return wire.Interface{},
			fmt.Errorf("several interfaces with link-local addresses, and %s holds on one link alone: "+
				"name the one on that link with --tg-dev: %s", addr, names(found))
	case tgDev != "":
		return wire.Interface{},
			fmt.Errorf("no link-local address on %s, by which %s would be reached: set it up, and IPv6 on "+
				"(sysctl net/ipv6/conf/%s/disable_ipv6)", tgDev, addr, plaintext.Word(tgDev))
	}
	return wire.Interface{},
		fmt.Errorf("no interface that is up with a link-local address, by which %s would be reached; "+
			"the interfaces are: %s", addr, names(all))
}

// pathOf finds the interface by which the TG reaches the SUT's address on interface i.
func (o *Options) pathOf(ctx context.Context, sut, tg *host.Host, i wire.Interface, tgDev string) (t wire.Interface,
	err error) {
	all, err := interfacesOf(ctx, tg)
	if err != nil {
		return t, err
	}
	if ip, err := netip.ParseAddr(o.Addr); err == nil && onOneLink(ip) {
		if sut.SameMachine(tg) && sut.Info.NetNS == tg.Info.NetNS {
			return t, o.neverLeaves(tg, i)
		}
		if t, err = linkTo(all, ip.WithZone("").String(), tgDev, o.SharedWithSSH); err != nil {
			return t, inputErrorf("%s has %s", tg.Spec.Name, thereBy(tg, err))
		}
		o.TGZone = t.Name
		return t, nil
	}
	var route wire.Route
	if err := tg.Call(ctx, wire.OpRoute, wire.RouteParams{Addr: o.Addr}, &route); err != nil {
		return t, unreached(tg, err)
	}
	t = wire.Interface{Name: route.Dev}
	if at := slices.IndexFunc(all, func(x wire.Interface) bool { return x.Name == route.Dev }); at >= 0 {
		t = all[at]
	}
	if t.Loopback && !i.Loopback {
		return t, o.neverLeaves(tg, i)
	}
	if tgDev != "" && !t.StandsOn(tgDev) {
		return t, inputErrorf(
			"%s reaches %s by %s, not by %s: give %s an address in the same network, or a route (ip route get %s)",
			tg.Spec.Name, o.Addr, route.Dev, tgDev, tgDev, plaintext.Word(o.Addr))
	}
	return t, nil
}

func (o *Options) neverLeaves(tg *host.Host, i wire.Interface) error {
	return inputErrorf("%s itself has the address %s: packets to it never leave the machine by %s: put one of "+
		"the ports into its own network namespace (ip netns add NAME, ip link set DEV netns NAME), or leave out "+
		"--dev and --addr to measure loopback",
		tg.Spec.Name, o.Addr, i.Name)
}

// forTG converts a data port's address to the TG's: with its own interface, where the address holds
// on one link alone.
func (o *Options) forTG(at netip.AddrPort) string {
	if onOneLink(at.Addr()) {
		at = netip.AddrPortFrom(at.Addr().WithZone(o.TGZone), at.Port())
	}
	return at.String()
}
