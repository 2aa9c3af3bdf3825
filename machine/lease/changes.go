// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"net/netip"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Changes are what a data path sets on the interface whose queue it takes over: its part of a
// lease that it has in common with the other paths of this process, with names for what such a
// path needs. The zero value has none. Each belongs to one path, and one thread at a time;
// those of several paths may be used at the same time, and undone in any order.
type Changes struct {
	common *common
	rules  []Want // of this path alone, and contexts
}

// apply does f with the common lease, in the calling thread's network namespace.
func (c *Changes) apply(d *nic.Device, f func(*common) error) (err error) {
	if c.common == nil {
		if c.common, err = join(d); err != nil {
			c.common = nil
			return err
		}
	}
	c.common.mu.Lock()
	defer c.common.mu.Unlock()
	return f(c.common)
}

// SplitHeaders switches header split on for packets of every size.
func (c *Changes) SplitHeaders(d *nic.Device) error {
	return c.apply(d, func(in *common) error {
		return in.add(func() ([]Want, error) {
			before, err := d.HeaderSplit()
			return []Want{{d.Name, "header-split", nic.SplitAll(before).String()}}, err
		})
	})
}

// AllowRules switches ntuple rules on. bnxt opens all queues anew for it
// (bnxt_reinit_features of bnxt.c, Linux 7.3.4), so it must come before a queue is bound.
func (c *Changes) AllowRules(d *nic.Device) error {
	all, err := d.Features()
	if f := all[nic.FeatureNTuple]; err == nil && f.Known && !f.Active && !f.Hard {
		return rulesFixed(d.Name)
	}
	return c.Set(d, "feature "+nic.FeatureNTuple, "on")
}

func rulesFixed(dev string) error {
	return &fault.Error{Op: "turn on ntuple rules of " + dev +
		": they are off, and its driver does not let them be turned on", Err: unix.EOPNOTSUPP,
		How: "use a NIC whose driver steers flows by ntuple rules (bnxt, mlx5, gve, ice, idpf, fbnic)"}
}

// KeepFree takes RX queues out of receive-side scaling, so that only flows steered to them arrive
// there. Queues that other paths of this process have taken out stay out; one queue must be left.
// It is called before a queue is bound, with all queues that will be: bnxt opens all queues anew
// for a new table (bnxt_set_rxfh of bnxt_ethtool.c, Linux 7.3.4). So they come back into the
// table together, with the last path's Undo.
func (c *Changes) KeepFree(d *nic.Device, queues ...int) error {
	return c.apply(d, func(in *common) error { return in.keepFree(d, queues) })
}

// Steer delivers the TCP flow from remote to local, of this host, to a queue by
// an ntuple rule, or all to local where no remote is given, switching rules on if they are off.
// Rules of several paths are made one after the other: where the driver leaves the place to us, as
// mlx5, two at once would find the same, and the second rule replace the first (see
// [nic.Device.Steer]).
func (c *Changes) Steer(d *nic.Device, local, remote netip.AddrPort, queue int) error {
	return c.own(d, nic.RuleName(local, remote, queue))
}

// Spread makes an RSS context over some queues, by which nothing comes before [Changes.SteerPort].
func (c *Changes) Spread(d *nic.Device, queues []uint32) error {
	return c.own(d, nic.ContextName(queues))
}

// SteerPort sends all TCP flows to local, of this host, into the context that [Changes.Spread] has
// made over some queues, by one ntuple rule. It goes before the context does.
func (c *Changes) SteerPort(d *nic.Device, local netip.AddrPort, queues []uint32) error {
	return c.own(d, nic.PortRuleName(local, queues))
}

// own makes what goes with this path, with rules on.
func (c *Changes) own(d *nic.Device, name string) error {
	want := Want{d.Name, name, "present"}
	err := c.apply(d, func(in *common) error {
		return in.add(func() ([]Want, error) {
			return []Want{{d.Name, "feature " + nic.FeatureNTuple, "on"}, want}, nil
		})
	})
	if err == nil {
		c.rules = append(c.rules, want)
	}
	return err
}

// Set sets other settings of the device, see [nic.Device.Setting].
func (c *Changes) Set(d *nic.Device, name, value string) error {
	return c.apply(d, func(in *common) error {
		return in.add(func() ([]Want, error) { return []Want{{d.Name, name, value}}, nil })
	})
}

// Undo takes this path's rules back, and with the last path's everything, the last change first,
// and goes on after a failure. Undoing again does nothing.
func (c *Changes) Undo() error {
	in := c.common
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	var err error
	if in.users > 1 { // else they go with the rest
		err = in.lease.Withdraw(c.rules...)
	}
	c.common, c.rules = nil, nil
	return errors.Join(err, in.exit())
}

// List words what was changed, in order, by all paths.
func (c *Changes) List() []string {
	if c.common == nil {
		return nil
	}
	return c.common.lease.Changes()
}
