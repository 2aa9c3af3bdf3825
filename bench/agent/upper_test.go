// SPDX-License-Identifier: MIT

package agent

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/plan"
)

// What a setting means to the interfaces from the port up to the one with the address.
func TestDevWants(t *testing.T) {
	path := func(portMTU int, kinds ...string) (out []rtnl.Link) {
		out = []rtnl.Link{{Name: "eth0", MTU: portMTU}}
		for _, k := range kinds {
			out = append(out, rtnl.Link{Name: k + "0", Kind: k, MTU: 1500})
		}
		return out
	}
	for _, x := range []struct {
		path        []rtnl.Link
		name, value string
		want        string
	}{
		{path(1500, "vlan"), "mtu", "4148", "eth0=4148 vlan0=4148"},
		{path(9000, "vlan"), "mtu", "4148", "eth0=9000 vlan0=4148"},
		{path(1500, "bond"), "mtu", "4148", "bond0=4148"}, // the bond tells its ports
		{path(1500, "bond", "vlan"), "mtu", "4148", "bond0=4148 vlan0=4148"},
		{path(1500, "bridge"), "mtu", "9000", "eth0=9000 bridge0=9000"},
		{path(1500, "vlan"), "gso-max-size", "131072", "eth0=131072 vlan0=131072"},
		{path(1500, "bond"), "gso-ipv4-max-size", "131072", "eth0=131072 bond0=131072"},
	} {
		wants, err := new(leased).pathWants(x.path, plan.Settings{Dev: "eth0", Upper: "x"},
			plan.Setting{Name: x.name, Value: x.value})
		if err != nil {
			t.Error(err)
		}
		var got []string
		for _, w := range wants {
			if got = append(got, w.Dev+"="+w.Value); w.Name != x.name {
				t.Errorf("%+v", w)
			}
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s %s is set on %v, want %s", x.name, x.value, got, x.want)
		}
	}
	for _, name := range []string{"ring rx", "gro-max-size", "feature rx-gro", "header-split"} {
		got, err := new(leased).devWants(plan.Settings{Dev: "eth0", Upper: "vlan0"},
			plan.Setting{Name: name, Value: "1"})
		if err != nil || len(got) != 1 || got[0].Dev != "eth0" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// What the lease itself has set is not taken for what was found.
	l := &leased{}
	for _, p := range [][]rtnl.Link{path(1500, "vlan"), path(6000, "vlan"), path(6000, "vlan")} {
		for value, want := range map[string]string{"6000": "6000", "1400": "1500"} {
			if got, err := l.pathWants(p, plan.Settings{}, plan.Setting{Name: "mtu", Value: value}); err != nil ||
				len(got) != 2 || got[0].Value != want || got[1].Value != value {
				t.Errorf("%s on a port that has %d now: %+v, %v", value, p[0].MTU, got, err)
			}
		}
	}
	if _, err := l.pathWants(nil, plan.Settings{Dev: "eth0", Upper: "vlan0"},
		plan.Setting{Name: "mtu", Value: "1500"}); err == nil ||
		!strings.Contains(err.Error(), "vlan0 is no longer on top of eth0") {
		t.Error(err)
	}
}
