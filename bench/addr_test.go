// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
)

func TestChooseAddr(t *testing.T) {
	lo := wire.Interface{Name: "lo", Up: true, Loopback: true, MTU: 65536, Addrs: []string{"127.0.0.1", "::1"}}
	a := wire.Interface{Name: "eth0", Up: true, MTU: 1500, Addrs: []string{"10.0.0.1", "10.0.0.2", "fd00::1"}}
	b := wire.Interface{Name: "eth1", Up: true, MTU: 9000, Addrs: []string{"10.1.0.1"}}
	bare := wire.Interface{Name: "eth2", Up: true, MTU: 1500}
	down := wire.Interface{Name: "eth3", MTU: 1500, Addrs: []string{"10.3.0.1"}}
	for _, x := range []struct {
		name      string
		all       []wire.Interface
		same      bool
		dev       string
		ipv6      bool
		addr, ifc string
		err       []string
	}{
		{name: "the only one", all: []wire.Interface{lo, a}, addr: "10.0.0.1", ifc: "eth0"},
		{name: "the only one, IPv6", all: []wire.Interface{lo, a, b}, ipv6: true, addr: "fd00::1", ifc: "eth0"},
		{name: "without address does not count", all: []wire.Interface{lo, bare, b}, addr: "10.1.0.1", ifc: "eth1"},
		{name: "down does not count", all: []wire.Interface{lo, down, b}, addr: "10.1.0.1", ifc: "eth1"},
		{name: "one namespace", all: []wire.Interface{lo, a, b}, same: true, addr: "127.0.0.1"},
		{name: "one namespace, IPv6", all: []wire.Interface{lo, a, b}, same: true, ipv6: true, addr: "::1"},
		{name: "one namespace, named", all: []wire.Interface{lo, a, b}, same: true, dev: "eth1", addr: "10.1.0.1", ifc: "eth1"},
		{name: "named loopback", all: []wire.Interface{lo, a}, dev: "lo", addr: "127.0.0.1", ifc: "lo"},
		{name: "several", all: []wire.Interface{lo, a, b}, err: []string{"several", "--dev", "eth0, eth1"}},
		{name: "named", all: []wire.Interface{lo, a, b}, dev: "eth1", addr: "10.1.0.1", ifc: "eth1"},
		{name: "named, down", all: []wire.Interface{lo, a, down}, dev: "eth3", err: []string{"eth3", "down", "up"}},
		{name: "named, no address", all: []wire.Interface{lo, bare}, dev: "eth2", err: []string{"eth2", "IPv4", "lo"}},
		{name: "named, no IPv6", all: []wire.Interface{lo, a, b}, dev: "eth1", ipv6: true, err: []string{"eth1", "IPv6"}},
		{name: "unknown", all: []wire.Interface{lo, a, down}, dev: "nope", err: []string{"nope", "lo, eth0, eth3 (down)"}},
		{name: "only loopback", all: []wire.Interface{lo}, err: []string{"no interface that is up", "IPv4", "lo"}},
		{name: "nothing", err: []string{"no interface", "none"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			addr, i, err := chooseAddr(x.all, x.same, x.dev, x.ipv6)
			if addr != x.addr || i.Name != x.ifc || (err == nil) != (x.err == nil) {
				t.Fatalf("%q on %q, %v; want %q on %q", addr, i.Name, err, x.addr, x.ifc)
			}
			for _, w := range x.err {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
		})
	}
}

// An address that is given has its interface: its counters and MTU belong to the
// run, and not those of no interface.
func TestOwnerOf(t *testing.T) {
	lo := wire.Interface{Name: "lo", Up: true, Loopback: true, MTU: 65536, Addrs: []string{"127.0.0.1", "::1"}}
	a := wire.Interface{Name: "eth0", Up: true, MTU: 1500, Addrs: []string{"10.0.0.1", "fd00::1"}}
	b := wire.Interface{Name: "eth1", Up: true, MTU: 9000, Addrs: []string{"10.1.0.1"}}
	all := []wire.Interface{lo, a, b}
	for _, x := range []struct{ addr, dev, want, err string }{
		{addr: "10.1.0.1", want: "eth1"},
		{addr: "fd00::1", want: "eth0"},
		{addr: "fd00:0:0::1", want: "eth0"},
		{addr: "10.1.0.1", dev: "eth1", want: "eth1"},
		{addr: "10.1.0.1", dev: "eth0", err: "no interface eth0 with the address 10.1.0.1"},
		{addr: "10.9.0.1", err: "no interface with the address 10.9.0.1; there are: lo, eth0, eth1"},
		{addr: "127.0.0.1"},
		{addr: "127.0.0.5"},
		{addr: "::1", dev: "lo", want: "lo"},
		{addr: "fe80::1"},
		{addr: "fe80::1", dev: "eth1", want: "eth1"},
		{addr: "nonsense", err: `no address "nonsense"`},
	} {
		i, err := ownerOf(all, x.addr, x.dev)
		if i.Name != x.want || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s on %q: %q, %v; want %q, %q", x.addr, x.dev, i.Name, err, x.want, x.err)
		}
	}
}
