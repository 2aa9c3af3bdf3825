// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/tune"
	"golang.org/x/sys/unix"
)

// OfInterface looks at who else has to do with an interface: what stands on it and below
// it, who manages it, and who answers for its addresses.
func OfInterface(s rtnl.Stack, dev string) []wire.Check {
	l, ok := s.Named(dev)
	if !ok {
		return nil // its ladder says so
	}
	out := []wire.Check{stack(s, l), managed(tune.FS{}, s, l)}
	if addrs, err := rtnl.Addrs(); err == nil {
		out = append(out, flux(s, l, addrs, arpSysctl))
	}
	return out
}

// CheckManaged is the name of the check whether a daemon manages an interface.
const CheckManaged = "link manager"

// managed looks for daemons that react when the link goes away, or when somebody else sets
// it: at the interface, what stands on it, and below.
func managed(fs tune.FS, s rtnl.Stack, l rtnl.Link) wire.Check {
	c := wire.Check{Name: CheckManaged,
		Needed: "none: a daemon may remove the addresses while a setting has the link down, or revert settings",
		Status: "ok"}
	var found, fixes []string
	var command string
	for _, x := range append(s.Below(l), s.Above(l)[1:]...) {
		for _, m := range fs.Managers(x.Index) {
			text, fix := m.Name+" manages "+x.Name, ""
			switch {
			case m.Name == "NetworkManager":
				command = "nmcli device set " + x.Name + " managed no"
				fix = command
			case m.File != "":
				text += " by " + m.File
				fix = "Unmanaged=yes in section [Link] of " + m.File +
					", or IgnoreCarrierLoss=yes in [Network]; then networkctl reload"
			default:
				fix = "a .network file for " + x.Name + " with Unmanaged=yes in section [Link]; then networkctl reload"
			}
			found, fixes = append(found, text), append(fixes, fix)
		}
	}
	if c.Found = strings.Join(found, "; "); found == nil {
		c.Found = "no NetworkManager or systemd-networkd manages it"
		return c
	}
	c.Status, c.Fix = "warn", "for the duration of the runs, with addresses set by hand: "+strings.Join(fixes, "; ")
	if len(fixes) == 1 {
		c.Command = command
	}
	return c
}

// arpSysctl reads net.ipv4.conf.DEV.NAME.
func arpSysctl(dev, name string) int {
	v, err := readSysctl("net/ipv4/conf/" + dev + "/" + name)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(v)
	return n
}

// CheckARP is the name of the check whether other ports answer for an interface.
const CheckARP = "ARP of other ports"

// flux looks for other ports with an address in the same IPv4 network. The kernel answers a
// question for an address by whatever interface it comes in, and sends by the first route
// that fits: a flow may then use another port than its address's (net/ipv4/arp.c:
// arp_ignore; Documentation/networking/ip-sysctl.rst). With strict rp_filter what comes
// in by the other port is dropped.
func flux(s rtnl.Stack, l rtnl.Link, addrs []rtnl.Addr, sysctl func(dev, name string) int) wire.Check {
	c := wire.Check{Name: CheckARP,
		Needed: "no other port in the same IPv4 network, or arp_ignore 1 and arp_announce 2", Status: "ok"}
	related := append(s.Below(l), s.Above(l)...)
	var others []string
	for _, a := range networks(addrs, l.Index) {
		for _, o := range s {
			if o.Flags&unix.IFF_UP == 0 || o.Flags&unix.IFF_LOOPBACK != 0 ||
				slices.ContainsFunc(related, func(x rtnl.Link) bool { return x.Index == o.Index }) {
				continue
			}
			for _, b := range networks(addrs, o.Index) {
				if text := fmt.Sprintf("%s (%v)", o.Name, b); a.Overlaps(b) && !slices.Contains(others, text) {
					others = append(others, text)
				}
			}
		}
	}
	if c.Found = "no other port has an address in its network"; others == nil {
		return c
	}
	// The larger one of all and of the interface counts (include/linux/inetdevice.h:
	// IN_DEV_MAXCONF).
	of := func(name string) int { return max(sysctl("all", name), sysctl(l.Name, name)) }
	ignore, announce, filter := of("arp_ignore"), of("arp_announce"), of("rp_filter")
	c.Found = fmt.Sprintf("%s shares its network with %s; arp_ignore %d, arp_announce %d, rp_filter %d", l.Name,
		strings.Join(others, ", "), ignore, announce, filter)
	if ignore >= 1 && announce >= 1 && filter != 1 {
		return c
	}
	c.Status = "warn"
	c.Fix = "give each port its own network; or sysctl -w net.ipv4.conf.all.arp_ignore=1 " +
		"net.ipv4.conf.all.arp_announce=2, rp_filter=2 on both, and a route for each port (ip rule, or network " +
		"namespaces)"
	return c
}

// networks selects the IPv4 networks of an interface; one of a single address does not count.
func networks(addrs []rtnl.Addr, index int) (out []netip.Prefix) {
	for _, a := range addrs {
		if p := a.Prefix; a.Index == index && p.Addr().Is4() && p.Bits() < 32 && !p.Addr().IsLinkLocalUnicast() {
			out = append(out, p)
		}
	}
	return out
}
