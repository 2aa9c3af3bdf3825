// SPDX-License-Identifier: MIT

package rtnl_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
)

func names(links []rtnl.Link) (out []string) {
	for _, l := range links {
		out = append(out, l.Name)
	}
	return out
}

// A machine whose interfaces stand on each other in all the ways that there are.
func TestStack(t *testing.T) {
	s := rtnl.Stack{
		{Index: 1, Name: "lo"},
		{Index: 2, Name: "eth0", Master: 5},
		{Index: 3, Name: "eth1", Master: 5},
		{Index: 4, Name: "eth2"},
		{Index: 5, Name: "bond0", Kind: "bond", Master: 7},
		{Index: 6, Name: "bond0.7", Kind: "vlan", Lower: 5},
		{Index: 7, Name: "br0", Kind: "bridge"},
		{Index: 8, Name: "eth3", Master: 9},
		{Index: 9, Name: "red", Kind: "vrf"},
		{Index: 10, Name: "mv0", Kind: "macvlan", Lower: 4},
	}
	for _, x := range []struct{ of, below, above string }{
		{"lo", "lo", "lo"},
		{"eth0", "eth0", "eth0 bond0 bond0.7 br0"},
		{"bond0.7", "bond0.7 bond0 eth0 eth1", "bond0.7"},
		{"br0", "br0 bond0 eth0 eth1", "br0"},
		{"eth2", "eth2", "eth2 mv0"},
		{"mv0", "mv0 eth2", "mv0"},
		{"eth3", "eth3", "eth3"}, // a VRF does not stand between it and its address
		{"red", "red", "red"},
	} {
		l, ok := s.Named(x.of)
		if !ok {
			t.Fatal(x.of)
		}
		if got := strings.Join(names(s.Below(l)), " "); got != x.below {
			t.Errorf("below %s: %s, want %s", x.of, got, x.below)
		}
		if got := strings.Join(names(s.Above(l)), " "); got != x.above {
			t.Errorf("above %s: %s, want %s", x.of, got, x.above)
		}
	}
	for of, want := range map[string]string{"eth0": "eth0", "bond0": "", "bond0.7": "", "br0": "", "mv0": "eth2",
		"red": "red"} {
		l, _ := s.Named(of)
		if p, ok := s.Port(l); p.Name != want || ok != (want != "") {
			t.Errorf("the port of %s is %q, %v", of, p.Name, ok)
		}
	}
	eth1, _ := s.Named("eth1")
	vlan, _ := s.Named("bond0.7")
	if got := strings.Join(names(s.Path(eth1, vlan)), " "); got != "eth1 bond0 bond0.7" {
		t.Errorf("from eth1 to the VLAN: %s", got)
	}
	if got := s.Path(vlan, eth1); got != nil {
		t.Errorf("downwards: %v", names(got))
	}
	if l, _ := s.Named("br0"); strings.Join(names(s.Ports(l)), " ") != "eth0 eth1" {
		t.Errorf("ports of the bridge: %v", names(s.Ports(l)))
	}
	s[4].Bond = &rtnl.Bond{Mode: 1, Active: 3}
	for _, of := range []string{"bond0", "bond0.7", "br0"} {
		l, _ := s.Named(of)
		if p, _ := s.Port(l); p.Name != "eth1" {
			t.Errorf("the active port of %s is %q", of, p.Name)
		}
	}
	for _, nobody := range []rtnl.Link{{Index: 20, Name: "bond9", Kind: "bond", Bond: &rtnl.Bond{Mode: 1}},
		{Index: 21, Name: "mv9", Kind: "macvlan", LowerElsewhere: true}} {
		if p, ok := append(s, nobody).Port(nobody); ok || len(append(s, nobody).Ports(nobody)) != 0 {
			t.Errorf("%s has the port %s", nobody.Name, p.Name)
		}
	}
	for mode, want := range map[int]string{0: "balance-rr", 1: "active-backup", 4: "802.3ad", 6: "balance-alb",
		7: "mode 7", -1: "mode -1"} {
		if b := (rtnl.Bond{Mode: mode}); b.String() != want || b.One() != (mode == 1) {
			t.Errorf("mode %d is %s, one port: %v", mode, b, b.One())
		}
	}
	loop := rtnl.Stack{{Index: 1, Name: "a", Lower: 2}, {Index: 2, Name: "b", Lower: 1}}
	if got := names(loop.Below(loop[0])); len(got) != 2 {
		t.Errorf("a loop has %v", got)
	}
}

// What the kernel says of a link whose other end is elsewhere is no lower interface; of a
// bridge's port it is. The lab has bonds and VLANs (bench/endpoint).
func TestStackOfKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	err = pair.SUT.Netns.Do(func() error {
		if out, err := exec.Command("sh", "-c", "ip link add br0 type bridge && ip link set "+pair.SUT.Dev+
			" master br0 && ip link add name va type veth peer name vb && ip link add link va name mv0 type macvlan").CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		s, err := rtnl.ReadStack()
		if err != nil {
			return err
		}
		br, _ := s.Named("br0")
		port, _ := s.Named(pair.SUT.Dev)
		a, _ := s.Named("va")
		if got := names(s.Below(br)); !slices.Equal(got, []string{"br0", pair.SUT.Dev}) || br.Kind != "bridge" {
			t.Errorf("the bridge %+v stands on %v", br, got)
		}
		if got := names(s.Above(port)); !slices.Equal(got, []string{pair.SUT.Dev, "br0"}) || port.Lower != 0 ||
			port.LowerElsewhere {
			t.Errorf("on the port %+v stand %v", port, got)
		}
		if got := names(s.Below(a)); !slices.Equal(got, []string{"va"}) || a.LowerElsewhere {
			t.Errorf("an end of a pair within the namespace, %+v, stands on %v", a, got)
		}
		if mv, _ := s.Named("mv0"); !slices.Equal(names(s.Below(mv)), []string{"mv0", "va"}) {
			t.Errorf("the macvlan %+v stands on %v", mv, names(s.Below(mv)))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
