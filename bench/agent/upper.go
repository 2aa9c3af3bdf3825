// SPDX-License-Identifier: MIT

package agent

import (
	"fmt"
	"strconv"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// devWants are what a setting means to the interfaces of a flow: to the port with the
// queues, and, where address and route are on one that stands on it, to those between
// them, the port first: what stands on another has no larger MTU (net/8021q/vlan_dev.c:
// vlan_dev_change_mtu, Linux 7.3.4). A lease restores them in reverse.
func devWants(s wire.Settings, x wire.Setting) ([]lease.Want, error) {
	if s.Upper == "" || !nic.OfUpper(x.Name) {
		return []lease.Want{{Dev: s.Dev, Name: x.Name, Value: x.Value}}, nil
	}
	stack, err := rtnl.ReadStack()
	if err != nil {
		return nil, err
	}
	port, _ := stack.Named(s.Dev)
	upper, _ := stack.Named(s.Upper)
	return pathWants(stack.Path(port, upper), s, x)
}

// pathWants goes up a path.
func pathWants(path []rtnl.Link, s wire.Settings, x wire.Setting) (out []lease.Want, err error) {
	if path == nil {
		return nil, &fault.Error{Op: fmt.Sprintf("set %s: %s does not stand on %s any more", x.Name, s.Upper, s.Dev), How: "begin anew: the interfaces have changed"}
	}
	for i, l := range path {
		if x.Name == "mtu" && i < len(path)-1 {
			n, err := strconv.Atoi(x.Value)
			if err != nil || l.MTU >= n || path[i+1].Kind == "bond" || path[i+1].Kind == "team" {
				continue // it is large enough, or follows (drivers/net/bonding/bond_main.c: bond_change_mtu)
			}
		}
		out = append(out, lease.Want{Dev: l.Name, Name: x.Name, Value: x.Value})
	}
	return out, nil
}
