// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// Upper is the interface with address and route, where that is another one than the port
// with the queues: a VLAN, a bond, a bridge.
type Upper struct {
	Name  string
	Kind  string   // as of wire.Interface
	Ports []string // those that a flow may use, where it is not known which
}

// standing finds the interfaces with an address that stand on dev.
func standing(all []wire.Interface, dev string, ipv6 bool) (out []wire.Interface) {
	for _, i := range all {
		if i.StandsOn(dev) && pick(i.Addrs, ipv6) != "" {
			out = append(out, i)
		}
	}
	return out
}

// ports finds the port of an interface for a flow, and returns the interface itself as upper where
// that stands on it. The user has named dev. Where the port is not known, the interface stands for
// it.
func ports(i wire.Interface, dev string) (port string, upper *Upper) {
	if len(i.Below) == 0 && i.Ports == nil && i.Kind == "" || i.PortFor(dev) == i.Name {
		return i.Name, nil
	}
	upper = &Upper{Name: i.Name, Kind: i.Kind}
	if port = i.PortFor(dev); port == "" {
		upper.Ports = i.Ports
		return i.Name, upper
	}
	return port, upper
}

// name returns the upper interface's name; "" where there is none, or it is the port itself.
func (u *Upper) name() string {
	if u == nil || u.unknown() {
		return ""
	}
	return u.Name
}

// unknown reports whether it is not known which port the flow uses.
func (u *Upper) unknown() bool { return u != nil && u.Ports != nil }

// portless explains why a cell cannot run on interfaces that stand on others.
func (o *Options) portless(c plan.Cell, sut, tg plan.Settings) *Missing {
	for _, e := range []struct {
		role  stream.Role
		flag  string
		upper *Upper
		set   plan.Settings
	}{{stream.RX, "--dev", o.SUTUpper, sut}, {stream.TX, "--tg-dev", o.TGUpper, tg}} {
		if e.upper == nil {
			continue
		}
		m, err := modes.Find(e.role, c.Mode(e.role))
		if err != nil {
			continue
		}
		if e.role == stream.TX && m.Has(stream.NeedsDev) && m.Kind == stream.Stream {
			return e.upper.noNetmem(m.Name)
		}
		if !e.upper.unknown() {
			continue
		}
		if m.Kind == stream.Frame {
			return e.upper.unnamed(m.Name+" has the frames of a port", e.flag)
		}
		if m.Has(stream.NeedsDev) {
			return e.upper.unnamed(m.Name+" takes a queue over, which belongs to a port", e.flag)
		}
		if e.role == stream.RX && c.Steers() {
			return e.upper.unnamed("the flow is steered to a queue, which belongs to a port", e.flag)
		}
		for _, x := range e.set.Wanted() {
			if !x.OfHost() && !nic.OfUpper(x.Name) {
				return e.upper.unnamed("the setting "+x.Name+" belongs to a port", e.flag)
			}
		}
	}
	return nil
}

func (u *Upper) unnamed(what, flag string) *Missing {
	return &Missing{Reason: fmt.Sprintf("%s, and %s (%s) has several, or none here: %s", what, u.Name, u.Kind,
		strings.Join(u.Ports, ", ")),
		Fix: fmt.Sprintf("name the port that the flow uses, such as %s %s: address and route stay on %s; the "+
			"proof says whether it was that one", flag, first0(u.Ports), u.Name)}
}

func first0(all []string) string {
	if len(all) == 0 {
		return "PORT"
	}
	return all[0]
}

// noNetmem explains why devmem cannot send over such an interface. The kernel sends such payload by
// the bound device alone (net/core/devmem.c: net_devmem_get_binding: ENODEV), and binds to, and
// lets it pass, only devices that declare netmem_tx (netdev-genl.c: netdev_nl_bind_tx_doit; dev.c:
// validate_xmit_unreadable_skb): bnxt, mlx5, fbnic, netkit; no VLAN, bond or bridge (Linux 7.3.4).
func (u *Upper) noNetmem(mode string) *Missing {
	return &Missing{Reason: fmt.Sprintf("%s sends from the NIC itself, but the route to the receiver leaves by "+
		"%s (%s), through which the kernel passes no dmabuf payload (netmem_tx)", mode, u.Name, u.Kind),
		Fix: "give the port itself an address in the receiver's network, and the receiver an address reached " +
			"through it: ip route get ADDRESS must name the port"}
}

// markUpper notes in a record by what the flow came and went.
func (r *Runner) markUpper(rec *results.Record) {
	for _, e := range []struct {
		env   *measure.Env
		end   string
		dev   string
		upper *Upper
	}{{&rec.SUT.Env, "SUT", r.Opt.SUTDev, r.Opt.SUTUpper}, {&rec.TG.Env, "TG", r.Opt.TGDev, r.Opt.TGUpper}} {
		if e.upper == nil {
			continue
		}
		e.env.Upper = e.upper.Name
		word := wire.Interface{Kind: e.upper.Kind}
		flag := results.FlagUpper + strings.ToLower(word.KindWord())
		if !slices.Contains(rec.Flags, flag) {
			rec.Flags = append(rec.Flags, flag)
		}
		if e.upper.unknown() {
			rec.Warnings = append(rec.Warnings, fmt.Sprintf("%s: which port of %s (%s) the flow used is not known: %s",
				e.end, e.upper.Name, e.upper.Kind, strings.Join(e.upper.Ports, ", ")))
			continue
		}
		rec.Warnings = append(rec.Warnings,
			fmt.Sprintf("%s: the flow's address and route are on %s (%s), its queues and counters on %s", e.end,
				e.upper.Name, e.upper.Kind, e.dev))
	}
}
