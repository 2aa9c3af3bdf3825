// SPDX-License-Identifier: MIT

package agent

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/rtnl"
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
		{path(1500, "vlan"), "mtu", "4148", "eth0 vlan0"},
		{path(9000, "vlan"), "mtu", "4148", "vlan0"},
		{path(1500, "bond"), "mtu", "4148", "bond0"}, // the bond tells its ports
		{path(1500, "bond", "vlan"), "mtu", "4148", "bond0 vlan0"},
		{path(1500, "bridge"), "mtu", "9000", "eth0 bridge0"},
		{path(1500, "vlan"), "gso-max-size", "131072", "eth0 vlan0"},
		{path(1500, "bond"), "gso-ipv4-max-size", "131072", "eth0 bond0"},
	} {
		wants, err := pathWants(x.path, wire.Settings{Dev: "eth0", Upper: "x"}, wire.Setting{Name: x.name, Value: x.value})
		if err != nil {
			t.Error(err)
		}
		var got []string
		for _, w := range wants {
			if got = append(got, w.Dev); w.Name != x.name || w.Value != x.value {
				t.Errorf("%+v", w)
			}
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s %s is set on %v, want %s", x.name, x.value, got, x.want)
		}
	}
	for _, name := range []string{"ring rx", "gro-max-size", "feature rx-gro", "header-split"} {
		got, err := devWants(wire.Settings{Dev: "eth0", Upper: "vlan0"}, wire.Setting{Name: name, Value: "1"})
		if err != nil || len(got) != 1 || got[0].Dev != "eth0" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := pathWants(nil, wire.Settings{Dev: "eth0", Upper: "vlan0"}, wire.Setting{Name: "mtu", Value: "1500"}); err == nil || !strings.Contains(err.Error(), "vlan0 does not stand on eth0") {
		t.Error(err)
	}
}
