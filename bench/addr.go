// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// inputError is what was asked for and these hosts do not have: an interface, an
// address, a CPU. It is the caller's mistake.
type inputError struct{ Err error }

func (e *inputError) Error() string { return e.Err.Error() }
func (e *inputError) Unwrap() error { return e.Err }

// WrongInput marks the error as wrong input, so that the commands choose its exit status.
func (e *inputError) WrongInput() bool { return true }

func inputErrorf(format string, args ...any) error {
	return &inputError{fmt.Errorf(format, args...)}
}

// FindPath fills in the address and interfaces of the flow: those given, else
// the SUT's only one, and the one by which the TG reaches it. Where address and route are
// on an interface that stands on another, as a VLAN or a bond, the port below counts: it
// has the queues. An interface that ssh needs is refused unless o.SharedWithSSH.
func (o *Options) FindPath(ctx context.Context, sut, tg *host.Host, addr, dev, tgDev string, ipv6 bool) error {
	if strings.Contains(dev+tgDev, ",") {
		return o.findLanes(ctx, sut, tg, addr, dev, tgDev, ipv6)
	}
	o.TGDev = tgDev
	own := ""
	if c := o.container; c != nil {
		if dev = c.lease.Dev; c.addrs != nil {
			var err error
			if own, err = c.address(addr, ipv6); err != nil {
				return err
			}
			addr = ""
		}
	}
	a, i, err := findAddr(ctx, sut, tg, addr, dev, ipv6, o.SharedWithSSH)
	if err != nil {
		return err
	}
	a = cmp.Or(own, a)
	o.Addr, o.MTU = a, i.MTU
	if i.Name == "" {
		return nil // loopback
	}
	o.SUTDev, o.SUTUpper = ports(i, dev)
	if err := o.mind(sut, i); err != nil {
		return err
	}
	t, err := o.pathOf(ctx, sut, tg, i, tgDev)
	if err != nil {
		return err
	}
	o.TGDev, o.TGUpper = ports(t, tgDev)
	return o.mind(tg, t)
}

// mind refuses an interface that ssh needs.
func (o *Options) mind(h *host.Host, i wire.Interface) error {
	if i.SSH == "" || o.SharedWithSSH {
		return nil
	}
	return inputErrorf("%s: %w", h.Spec.Name, wire.SharedError(i.Name, i.SSH))
}

func interfacesOf(ctx context.Context, h *host.Host) (all []wire.Interface, err error) {
	if err := h.Call(ctx, wire.OpAddrs, nil, &all); err != nil {
		return nil, fmt.Errorf("ask %s for its interfaces: %w", h.Spec.Name, err)
	}
	return all, nil
}

// findAddr chooses the SUT's address for the flow: addr if it is given, with the
// interface that has it; that of dev if it is named, or of what stands on it;
// the loopback address if both ends are in one namespace; else that of the only
// interface that is up. With ipv6 it takes an IPv6 address. It returns the
// interface too, without a name for loopback.
func findAddr(ctx context.Context, sut, tg *host.Host, given, dev string, ipv6, sharedWithSSH bool) (addr string,
	iface wire.Interface, err error) {
	all, err := interfacesOf(ctx, sut)
	if err != nil {
		return "", wire.Interface{}, err
	}
	if given != "" {
		iface, err = ownerOf(all, given, dev)
		if err == nil && iface.Name != "" && !iface.Up {
			err = isDown(iface)
		}
		if err != nil {
			err = inputErrorf("%s has %s%s", sut.Spec.Name, thereBy(sut, err), ofTheOther(ctx, tg, given))
		}
		if ip, perr := netip.ParseAddr(given); perr == nil && onOneLink(ip) {
			given = ip.WithZone(iface.Name).String()
		}
		return given, iface, err
	}
	same := sut.SameMachine(tg) && sut.Info.NetNS == tg.Info.NetNS
	if dev == "" && !same && !sharedWithSSH {
		spared, why := spare(all, ipv6)
		if why != nil {
			return "", wire.Interface{}, inputErrorf("%s: %w", sut.Spec.Name, why)
		}
		all = spared
	}
	addr, iface, err = chooseAddr(all, same, dev, ipv6)
	if err != nil {
		err = inputErrorf("%s has %s", sut.Spec.Name, thereBy(sut, err))
	}
	return addr, iface, err
}

// thereBy formats an error as [typedFor] does, for a host that is a network namespace of this
// machine.
func thereBy(h *host.Host, err error) string { return typedFor(h, err.Error()) }

// ipCommand is what is done to, or looked at in, a network namespace.
var ipCommand = lazy.Regexp(`\bip (-br |-6 )?(link|addr|route|neigh)\b[^;,()]*`)

// typedFor rewrites the ip commands in a text as they must be typed here for a host that is a
// network namespace of this machine. One that names a namespace is typed elsewhere, and stays.
func typedFor(h *host.Host, text string) string {
	ns := h.Spec.Netns
	ip := "nsenter --net=" + plaintext.Word(ns) + " ip "
	switch {
	case ns == "":
		return text
	case filepath.Base(filepath.Dir(ns)) == "netns":
		ip = "ip -n " + plaintext.Word(filepath.Base(ns)) + " "
	}
	return ipCommand().ReplaceAllStringFunc(text, func(c string) string {
		if strings.Contains(c, " netns ") {
			return c
		}
		return ip + strings.TrimPrefix(c, "ip ")
	})
}

// unreached wraps what a host without a route to the other answered: a mistake of the caller's, or
// of the host's state, before anything ran. An agent that is gone is neither.
func unreached(h *host.Host, err error) error {
	if answer := (*wire.Error)(nil); !errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", h.Spec.Name, err)
	}
	return &inputError{&fault.Error{Op: h.Spec.Name + ": " + thereBy(h, err), How: typedFor(h, fault.Fix(err))}}
}

// ofTheOther explains that an address which the SUT does not have belongs to the TG; "": it does
// not.
func ofTheOther(ctx context.Context, tg *host.Host, addr string) string {
	all, err := interfacesOf(ctx, tg)
	if err != nil || !slices.ContainsFunc(all, func(i wire.Interface) bool { return has(i, addr) }) {
		return ""
	}
	return fmt.Sprintf("; %s is of the TG, %s: --addr is the receiver's address, which the sender connects to", addr,
		tg.Spec.Name)
}

// spare leaves out the interfaces that ssh needs: none of them is chosen by itself. Its
// error is that nothing else is left.
func spare(all []wire.Interface, ipv6 bool) (rest []wire.Interface, err error) {
	able := func(i wire.Interface) bool { return i.Up && !i.Loopback && pick(i.Addrs, ipv6) != "" }
	for _, i := range all {
		switch {
		case i.SSH == "":
			rest = append(rest, i)
		case err == nil && able(i):
			err = wire.SharedError(i.Name, i.SSH)
		}
	}
	if slices.ContainsFunc(rest, able) {
		return rest, nil
	}
	if err == nil {
		return all, nil
	}
	if other := instead(rest, "", ipv6); other != "" {
		err = &fault.Error{Op: err.Error() + other, How: fault.Fix(err)}
	}
	return nil, err
}

// ownerOf finds the interface that has an address, without a name for loopback unless dev asks for
// it; its error goes on after "HOST has".
func ownerOf(all []wire.Interface, addr, dev string) (wire.Interface, error) {
	ip, err := netip.ParseAddr(addr)
	if err != nil {
		return wire.Interface{}, fmt.Errorf("not an IP address: %q", addr)
	}
	if onOneLink(ip) {
		return linkOf(all, ip, dev)
	}
	for _, i := range all {
		switch {
		case dev != "" && !i.StandsOn(dev):
		case ip.IsLoopback() && i.Loopback && dev == "":
			return wire.Interface{}, nil
		case slices.Contains(i.Addrs, ip.Unmap().String()), slices.Contains(i.LinkLocal, ip.Unmap().String()),
			ip.IsLoopback() && i.Loopback:
			return i, nil
		}
	}
	where := "interface"
	if dev != "" {
		where += " " + dev
	}
	return wire.Interface{}, fmt.Errorf("no %s with the address %s; the interfaces are: %s", where, addr, addrsOf(all))
}

// chooseAddr does what findAddr does, among all interfaces of the SUT; its error goes on after
// "HOST has".
func chooseAddr(all []wire.Interface, sameNetns bool, dev string, ipv6 bool) (addr string, iface wire.Interface,
	err error) {
	none := wire.Interface{}
	if dev == "" && sameNetns {
		if ipv6 {
			return "::1", none, nil
		}
		return "127.0.0.1", none, nil
	}
	var found []wire.Interface
	for _, i := range all {
		if (dev == "" && i.Up && !i.Loopback || dev != "" && i.Name == dev) && pick(i.Addrs, ipv6) != "" {
			found = append(found, i)
		}
	}
	if dev != "" && len(found) == 0 {
		found = standing(all, dev, ipv6)
	}
	switch {
	case len(found) == 1 && !found[0].Up:
		return "", none, isDown(found[0])
	case len(found) == 1:
		return pick(found[0].Addrs, ipv6), found[0], nil
	case len(found) > 1 && dev == "":
		return "", none, fmt.Errorf("several interfaces with addresses: choose one with --dev: %s", names(found))
	case len(found) > 1 && dev != "":
		return "", none, fmt.Errorf(
			"several interfaces with addresses on top of %s: choose one with --dev, or --addr: %s", dev, names(found))
	case dev != "":
		return "", none, fmt.Errorf("no interface %s with %s address; the interfaces are: %s%s", dev, family(ipv6),
			names(all), instead(all, dev, ipv6))
	}
	return "", none, fmt.Errorf("no interface that is up with %s address; the interfaces are: %s%s", family(ipv6),
		names(all), cmp.Or(instead(all, dev, ipv6), bringUp(all)))
}

func isDown(i wire.Interface) error {
	return fmt.Errorf("the interface %s down: ip link set %s up", i.Name, plaintext.Word(i.Name))
}

// bringUp suggests what to do where some of the interfaces are down.
func bringUp(all []wire.Interface) string {
	i := slices.IndexFunc(all, func(i wire.Interface) bool { return !i.Up && !i.Loopback })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("; ip link set %s up brings one up", plaintext.Word(all[i].Name))
}

// instead names the flag that takes what there is instead of an address of the family that was
// asked for; "" where there is none.
func instead(all []wire.Interface, dev string, ipv6 bool) string {
	var have, links []wire.Interface
	for _, i := range all {
		switch {
		case dev == "" && (i.Loopback || !i.Up), dev != "" && !i.StandsOn(dev):
		case pick(i.Addrs, !ipv6) != "":
			have = append(have, i)
		case pick(i.LinkLocal, true) != "":
			links = append(links, i)
		}
	}
	switch {
	case len(have) > 0 && ipv6:
		return fmt.Sprintf("; IPv4 addresses are on: %s: leave out --ipv6 (in files ipv6)", names(have))
	case len(have) > 0:
		return fmt.Sprintf("; IPv6 addresses are on: %s: add --ipv6 (in files ipv6: true)", names(have))
	case len(links) > 0:
		return "; " + linkLocals(links) + ": give one an address for the test, or name such a one with --addr"
	}
	return ""
}

func family(ipv6 bool) string {
	if ipv6 {
		return "an IPv6"
	}
	return "an IPv4"
}

func pick(addrs []string, ipv6 bool) string {
	for _, a := range addrs {
		if ip, err := netip.ParseAddr(a); err == nil && ip.Is6() == ipv6 {
			return a
		}
	}
	return ""
}

// addrsOf names interfaces with their addresses.
func addrsOf(is []wire.Interface) string {
	var out []string
	for _, i := range is {
		s := names([]wire.Interface{i})
		if len(i.Addrs) > 0 {
			s += " with " + strings.Join(i.Addrs, " and ")
		}
		out = append(out, s)
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

func names(is []wire.Interface) string {
	var out []string
	for _, i := range is {
		s := i.Name
		if !i.Up {
			s += " (down)"
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
