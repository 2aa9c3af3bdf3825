// SPDX-License-Identifier: MIT

package lease

import (
	"net/netip"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Changes are what a data path sets on the interface whose queue it takes over: a
// lease with names for what such a path needs. The zero value has none.
type Changes struct{ lease *Lease }

// apply applies what wants finds out: after what dead processes left is restored.
func (c *Changes) apply(d *nic.Device, wants func() ([]Want, error)) error {
	if c.lease == nil {
		c.lease = New(Options{})
	}
	if err := c.lease.Start(); err != nil {
		return err
	}
	w, err := wants()
	if err != nil {
		return err
	}
	c.lease.Use(d)
	return c.lease.Apply(w...)
}

// SplitHeaders switches header split on for packets of every size.
func (c *Changes) SplitHeaders(d *nic.Device) error {
	return c.apply(d, func() ([]Want, error) {
		before, err := d.HeaderSplit()
		return []Want{{d.Name, "header-split", nic.SplitAll(before).String()}}, err
	})
}

// AllowRules switches ntuple rules on. bnxt opens all queues anew for it
// (bnxt_reinit_features of bnxt.c, Linux 7.3.4), so it must come before a queue is bound.
func (c *Changes) AllowRules(d *nic.Device) error {
	all, err := d.Features()
	if f := all[nic.FeatureNTuple]; err == nil && f.Known && !f.Active && !f.Hard {
		return &fault.Error{Op: "switch ntuple rules of " + d.Name + " on: they are off, and fixed so", Err: unix.EOPNOTSUPP, How: "use a NIC that has rules"}
	}
	return c.Set(d, "feature "+nic.FeatureNTuple, "on")
}

// KeepFree takes an RX queue out of receive-side scaling, so that only flows
// steered to it arrive there. The device needs at least two queues.
func (c *Changes) KeepFree(d *nic.Device, queue int) error {
	return c.apply(d, func() ([]Want, error) {
		table, err := d.TableWithout(queue)
		return []Want{{d.Name, "rss", table}}, err
	})
}

// Steer delivers the TCP flow from remote to local, of this host, to a queue by
// an ntuple rule, switching rules on if they are off.
func (c *Changes) Steer(d *nic.Device, local, remote netip.AddrPort, queue int) error {
	return c.apply(d, func() ([]Want, error) {
		return []Want{{d.Name, "feature " + nic.FeatureNTuple, "on"}, {d.Name, nic.RuleName(local, remote, queue), "present"}}, nil
	})
}

// Set sets other settings of the device, see [nic.Device.Setting].
func (c *Changes) Set(d *nic.Device, name, value string) error {
	return c.apply(d, func() ([]Want, error) { return []Want{{d.Name, name, value}}, nil })
}

// Undo takes everything back, the last change first, and goes on after a failure.
// It must come before the device is closed. Undoing again does nothing.
func (c *Changes) Undo() error {
	if c.lease == nil {
		return nil
	}
	return c.lease.Restore()
}

// List says what was changed, in order.
func (c *Changes) List() []string {
	if c.lease == nil {
		return nil
	}
	return c.lease.Changes()
}
