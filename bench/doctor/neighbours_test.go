// SPDX-License-Identifier: MIT

package doctor

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/tune"
	"golang.org/x/sys/unix"
)

// What doctor says of interfaces that stand on each other names the port to name, and where
// the address has to be.
func TestStackCheck(t *testing.T) {
	s := rtnl.Stack{
		{Index: 2, Name: "eth0", Master: 5}, {Index: 3, Name: "eth1", Master: 5}, {Index: 4, Name: "eth2"},
		{Index: 5, Name: "bond0", Kind: "bond", Bond: &rtnl.Bond{Mode: 4}}, {Index: 6, Name: "eth2.7", Kind: "vlan",
			VLAN: 7, Lower: 4},
		{Index: 7, Name: "eth3", Master: 8}, {Index: 8, Name: "red", Kind: "vrf"},
		{Index: 9, Name: "mv0", Kind: "macvlan", LowerElsewhere: true},
	}
	for dev, want := range map[string]string{
		"eth0":   "ok eth0 is a port of bond0 (bond 802.3ad); on top of it: bond0 (bond 802.3ad)",
		"bond0":  "warn bond0 is on top of eth0, eth1",
		"eth2":   "ok on top of it: eth2.7 (vlan 7)",
		"eth2.7": "ok eth2.7 is on top of eth2; a flow uses the queues of eth2",
		"eth3":   "warn eth3 is in the VRF red",
		"mv0":    "warn its port is in another namespace",
	} {
		l, _ := s.Named(dev)
		c := stack(s, l)
		if got := c.Status + " " + c.Found; !strings.HasPrefix(got, want) || c.Status == "warn" && c.Fix == "" {
			t.Errorf("%s: %q, fix %q; want %q", dev, got, c.Fix, want)
		}
	}
	bond, _ := s.Named("bond0")
	if c := stack(s, bond); !strings.Contains(c.Fix, "eth0, eth1 with --dev") {
		t.Errorf("%+v", c)
	}
}

// Two ports in one network answer for each other, unless they are told not to.
func TestFlux(t *testing.T) {
	s := rtnl.Stack{
		{Index: 1, Name: "lo", Flags: unix.IFF_UP | unix.IFF_LOOPBACK}, {Index: 2, Name: "eth0", Flags: unix.IFF_UP},
		{Index: 3, Name: "eth1", Flags: unix.IFF_UP},
		{Index: 4, Name: "eth0.7", Kind: "vlan", Lower: 2, Flags: unix.IFF_UP}, {Index: 5, Name: "eth2"},
	}
	at := func(index int, prefix string) rtnl.Addr {
		return rtnl.Addr{Index: index, Prefix: netip.MustParsePrefix(prefix)}
	}
	lo := at(1, "127.0.0.1/8")
	for _, x := range []struct {
		name   string
		addrs  []rtnl.Addr
		sysctl map[string]int
		want   string
	}{
		{"alone", []rtnl.Addr{lo, at(2, "10.0.0.1/24")}, nil, ""},
		{"other network", []rtnl.Addr{at(2, "10.0.0.1/24"), at(3, "10.0.1.1/24")}, nil, ""},
		{"same network", []rtnl.Addr{at(2, "10.0.0.1/24"), at(3, "10.0.0.2/24")}, nil,
			"eth1 (10.0.0.2/24); arp_ignore 0, arp_announce 0, rp_filter 0"},
		{"within another", []rtnl.Addr{at(2, "10.0.0.1/24"), at(3, "10.9.0.2/8")}, nil, "eth1 (10.9.0.2/8)"},
		{"the interface on top of it", []rtnl.Addr{at(2, "10.0.0.1/24"), at(4, "10.0.0.2/24")}, nil, ""},
		{"down", []rtnl.Addr{at(2, "10.0.0.1/24"), at(5, "10.0.0.2/24")}, nil, ""},
		{"single addresses", []rtnl.Addr{at(2, "10.0.0.1/24"), at(3, "10.0.0.2/32")}, nil, ""},
		{"IPv6", []rtnl.Addr{at(2, "fd00::1/64"), at(3, "fd00::2/64")}, nil, ""},
		{"minded", []rtnl.Addr{at(2, "10.0.0.1/24"), at(3, "10.0.0.2/24")}, map[string]int{"all arp_ignore": 1,
			"eth0 arp_announce": 2}, ""},
		{"minded, strict filter", []rtnl.Addr{at(2, "10.0.0.1/24"), at(3, "10.0.0.2/24")},
			map[string]int{"all arp_ignore": 1, "all arp_announce": 2, "all rp_filter": 1}, "rp_filter 1"},
	} {
		l, _ := s.Named("eth0")
		c := flux(s, l, x.addrs, func(dev, name string) int { return x.sysctl[dev+" "+name] })
		if (c.Status == "ok") != (x.want == "") || !strings.Contains(c.Found, x.want) || c.Status != "ok" &&
			c.Fix == "" {
			t.Errorf("%s: %+v, want %q", x.name, c, x.want)
		}
	}
}

// Who manages a port also manages what stands on it, and the other way around: either may
// take the address off.
func TestManaged(t *testing.T) {
	fs := tune.FS{Proc: t.TempDir(), Run: t.TempDir()}
	for path, text := range map[string]string{
		filepath.Join(fs.Proc, "14/comm"):                 "NetworkManager\n",
		filepath.Join(fs.Proc, "15/comm"):                 "systemd-network\n",
		filepath.Join(fs.Run, "NetworkManager/devices/2"): "[device]\nmanaged=true\n",
		filepath.Join(
			fs.Run, "systemd/netif/links/3"): "ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/vlan.network\n",
		filepath.Join(fs.Run, "systemd/netif/links/4"): "ADMIN_STATE=unmanaged\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, who := range []string{"self", "14", "15"} {
		if err := os.MkdirAll(filepath.Join(fs.Proc, who, "ns"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("net:[1]", filepath.Join(fs.Proc, who, "ns", "net")); err != nil {
			t.Fatal(err)
		}
	}
	s := rtnl.Stack{{Index: 2, Name: "eth0"}, {Index: 3, Name: "eth0.7", Kind: "vlan", Lower: 2},
		{Index: 4, Name: "eth1"}}
	if os.Geteuid() != 0 {
		t.Skip("needs root: the daemons' files must be a system user's")
	}
	for dev, want := range map[string]string{
		"eth0": "warn NetworkManager manages eth0; systemd-networkd manages eth0.7 by " +
			"/etc/systemd/network/vlan.network",
		"eth0.7": "warn systemd-networkd manages eth0.7 by /etc/systemd/network/vlan.network; NetworkManager " +
			"manages eth0",
		"eth1": "ok no NetworkManager or systemd-networkd manages it",
	} {
		l, _ := s.Named(dev)
		c := managed(fs, s, l)
		if got := c.Status + " " + c.Found; got != want || c.Status == "warn" &&
			(!strings.Contains(c.Fix, "nmcli device set eth0 managed no") ||
				!strings.Contains(c.Fix, "of /etc/systemd/network/vlan.network")) {
			t.Errorf("%s: %q, fix %q; want %q", dev, got, c.Fix, want)
		}
	}
}
