// SPDX-License-Identifier: MIT

package rtnl

import (
	"fmt"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Bond is what the kernel says of a bond (IFLA_BOND_*).
type Bond struct {
	Mode   int // BOND_MODE_* of include/uapi/linux/if_bonding.h
	Active int // the index of the port in use, where the mode has only one; 0: none
}

// The modes of a bond, by their numbers.
var bondModes = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb",
	"balance-alb"}

// String returns the mode's name, as of ip-link(8).
func (b Bond) String() string {
	if b.Mode >= 0 && b.Mode < len(bondModes) {
		return bondModes[b.Mode]
	}
	return fmt.Sprintf("mode %d", b.Mode)
}

// One reports whether a flow uses one port, and the bond knows which: the others
// wait for its failure.
func (b Bond) One() bool { return b.String() == "active-backup" }

// parseInfo reads IFLA_LINKINFO. The kind comes before the data, which are its own
// (net/core/rtnetlink.c: rtnl_link_info_fill, Linux 7.3.4).
func (l *Link) parseInfo(in *netlink.AttributeDecoder) error {
	for in.Next() {
		switch in.Type() {
		case unix.IFLA_INFO_KIND:
			l.Kind = in.String()
		case unix.IFLA_INFO_DATA:
			switch l.Kind {
			case "bond":
				l.Bond = &Bond{}
				in.Nested(l.Bond.parse)
			case "vlan":
				in.Nested(l.parseVLAN)
			}
		}
	}
	return nil
}

// Of include/uapi/linux/if_link.h.
const (
	bondMode   = 1 // IFLA_BOND_MODE
	bondActive = 2 // IFLA_BOND_ACTIVE_SLAVE
	vlanID     = 1 // IFLA_VLAN_ID
)

func (b *Bond) parse(in *netlink.AttributeDecoder) error {
	for in.Next() {
		switch in.Type() {
		case bondMode:
			b.Mode = int(in.Uint8())
		case bondActive:
			b.Active = int(in.Uint32())
		}
	}
	return nil
}

func (l *Link) parseVLAN(in *netlink.AttributeDecoder) error {
	for in.Next() {
		if in.Type() == vlanID {
			l.VLAN = int(in.Uint16())
		}
	}
	return nil
}

// standAlone takes away what IFLA_LINK says of interfaces that stand on nothing: those
// that name themselves, and pairs, which name their other end.
func (l *Link) standAlone() {
	pair := slices.Contains([]string{"veth", KindNetkit, "vxcan"}, l.Kind)
	if pair {
		l.Peer = l.Lower
	} else {
		l.PeerNetns = -1
	}
	if l.Lower == l.Index || pair {
		l.Lower, l.LowerElsewhere = 0, false
	}
	if l.LowerElsewhere {
		l.Lower = 0 // the number is one of there
	}
}

// Stack is how the interfaces of a network namespace stand on each other: a VLAN on
// its port, a bond on its ports.
type Stack []Link

// ReadStack reads the [Stack] of the calling thread's network namespace.
func ReadStack() (Stack, error) {
	links, err := Links()
	return Stack(links), err
}

// Named finds an interface.
func (s Stack) Named(name string) (Link, bool) {
	return s.first(func(l Link) bool { return l.Name == name })
}

// At finds an interface by its index.
func (s Stack) At(index int) (Link, bool) {
	return s.first(func(l Link) bool { return l.Index == index })
}

func (s Stack) first(is func(Link) bool) (Link, bool) {
	if i := slices.IndexFunc(s, is); i >= 0 {
		return s[i], true
	}
	return Link{}, false
}

// On reports whether upper stands on lower directly. A VRF only looks packets of its
// ports up in another table: they neither pass it nor share its address.
func (s Stack) On(upper, lower Link) bool {
	return upper.Index != lower.Index && (lower.Master == upper.Index && upper.Kind != "vrf" ||
		upper.Lower == lower.Index)
}

// Lowers lists the interfaces that one stands on directly.
func (s Stack) Lowers(of Link) []Link {
	return s.filter(func(l Link) bool { return s.On(of, l) })
}

// Uppers lists the interfaces that stand on one directly.
func (s Stack) Uppers(of Link) []Link {
	return s.filter(func(l Link) bool { return s.On(l, of) })
}

func (s Stack) filter(is func(Link) bool) (out []Link) {
	for _, l := range s {
		if is(l) {
			out = append(out, l)
		}
	}
	return out
}

// Below lists an interface and all that it stands on, the nearest first.
func (s Stack) Below(l Link) []Link { return s.reach(l, s.Lowers) }

// Above lists an interface and all that stand on it, the nearest first.
func (s Stack) Above(l Link) []Link { return s.reach(l, s.Uppers) }

// reach goes on from an interface. The kernel lets no interface stand on itself, but
// the list is not of one moment.
func (s Stack) reach(from Link, next func(Link) []Link) []Link {
	out := []Link{from}
	for i := 0; i < len(out); i++ {
		for _, n := range next(out[i]) {
			if !slices.ContainsFunc(out, func(l Link) bool { return l.Index == n.Index }) {
				out = append(out, n)
			}
		}
	}
	return out
}

// Ports lists the interfaces at the bottom, which have queues of their own. One whose lower
// interface is in another namespace has none here.
func (s Stack) Ports(l Link) (out []Link) {
	for _, b := range s.Below(l) {
		if len(s.Lowers(b)) == 0 && !b.LowerElsewhere && !b.Joins() {
			out = append(out, b)
		}
	}
	return out
}

// Joins reports whether it is a kind of interface that is nothing without ports.
func (l Link) Joins() bool { return slices.Contains([]string{"bond", "team", "bridge"}, l.Kind) }

// Port finds the one of the ports that a flow of an interface uses; false where it may be one of
// several, or none is here.
func (s Stack) Port(l Link) (Link, bool) {
	for range s {
		lowers := s.Lowers(l)
		switch {
		case l.LowerElsewhere || len(lowers) == 0 && l.Joins():
			return Link{}, false
		case len(lowers) == 0:
			return l, true
		case l.Bond != nil && l.Bond.One():
			i := slices.IndexFunc(lowers, func(x Link) bool { return x.Index == l.Bond.Active })
			if i < 0 {
				return Link{}, false
			}
			l = lowers[i]
		case len(lowers) == 1:
			l = lowers[0]
		default:
			return Link{}, false
		}
	}
	return Link{}, false
}

// Path lists the interfaces from port up to upper, both among them; nil where one does not stand on
// the other.
func (s Stack) Path(port, upper Link) []Link {
	above := s.Above(port)
	var out []Link
	for _, b := range s.Below(upper) {
		if slices.ContainsFunc(above, func(l Link) bool { return l.Index == b.Index }) {
			out = append([]Link{b}, out...)
		}
	}
	return out
}
