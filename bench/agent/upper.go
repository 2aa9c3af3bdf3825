// SPDX-License-Identifier: MIT

package agent

import (
	"fmt"
	"strconv"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/plan"
)

// devWants spreads a setting to the interfaces of a flow: to the port with the queues, and, where
// address and route are on one that stands on it, to those between them, the port first: what
// stands on another has no larger MTU (net/8021q/vlan_dev.c: vlan_dev_change_mtu, Linux 7.3.4). A
// lease restores them in reverse.
func (l *leased) devWants(s plan.Settings, x plan.Setting) ([]lease.Want, error) {
	if s.Upper == "" || !nic.OfUpper(x.Name) {
		return []lease.Want{{Dev: s.Dev, Name: x.Name, Value: x.Value}}, nil
	}
	stack, err := rtnl.ReadStack()
	if err != nil {
		return nil, err
	}
	port, _ := stack.Named(s.Dev)
	upper, _ := stack.Named(s.Upper)
	return l.pathWants(stack.Path(port, upper), s, x)
}

// pathWants goes up a path. What stands below keeps the MTU that it was found with, where
// that is large enough.
func (l *leased) pathWants(path []rtnl.Link, s plan.Settings, x plan.Setting) (out []lease.Want, err error) {
	if path == nil {
		return nil, &fault.Error{Op: fmt.Sprintf("set %s: %s is no longer on top of %s", x.Name, s.Upper, s.Dev),
			How: "start over: the interfaces have changed"}
	}
	for i, on := range path {
		w := lease.Want{Dev: on.Name, Name: x.Name, Value: x.Value}
		if x.Name == "mtu" && i < len(path)-1 {
			if next := path[i+1].Kind; next == "bond" || next == "team" {
				continue // it follows (drivers/net/bonding/bond_main.c: bond_change_mtu)
			}
			if n, err := strconv.Atoi(x.Value); err == nil {
				w.Value = strconv.Itoa(max(n, l.foundMTU(on)))
			}
		}
		out = append(out, w)
	}
	return out, nil
}

// foundMTU returns the MTU of an interface before the lease set any.
func (l *leased) foundMTU(on rtnl.Link) int {
	if l.mtus == nil {
		l.mtus = map[string]int{}
	}
	if _, ok := l.mtus[on.Name]; !ok {
		l.mtus[on.Name] = on.MTU
	}
	return l.mtus[on.Name]
}
