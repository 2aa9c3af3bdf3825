package nic

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Changes are what was set on a device, each with the way back. The zero value
// has none.
type Changes struct{ undo []change }

type change struct {
	what string
	back func() error
}

func (c *Changes) add(what string, back func() error) {
	c.undo = append(c.undo, change{what, back})
}

// Undo takes everything back, the last change first, and goes on after a failure.
// Undoing again does nothing.
func (c *Changes) Undo() error {
	var errs []error
	for i := len(c.undo) - 1; i >= 0; i-- {
		if err := c.undo[i].back(); err != nil {
			errs = append(errs, fmt.Errorf("restore: %s: %w", c.undo[i].what, err))
		}
	}
	c.undo = nil
	return errors.Join(errs...)
}

// List says what was changed, in order.
func (c *Changes) List() []string {
	var out []string
	for _, u := range c.undo {
		out = append(out, u.what)
	}
	return out
}

// SplitHeaders switches header split on for packets of every size, and checks
// that it is.
func (c *Changes) SplitHeaders(d *Device) error {
	before, err := d.HeaderSplit()
	if err != nil {
		return err
	}
	want := HeaderSplit{State: SplitOn, Threshold: min(before.Threshold, 0)} // -1 where the driver has none
	if before == want {
		return nil
	}
	if err := d.SetHeaderSplit(want); err != nil {
		return err
	}
	c.add(fmt.Sprintf("%v was %v", want, before), func() error { return before.restore(d) })
	after, err := d.HeaderSplit()
	if err != nil {
		return err
	}
	if after != want {
		return &Error{Op: d.op("set %v", want), Err: fmt.Errorf("the driver took it but reads back %v", after), How: "the driver cannot split all packets: use another NIC"}
	}
	return nil
}

// restore sets header split to what it was. Not every driver takes off, where
// auto means the same (bnxt).
func (h HeaderSplit) restore(d *Device) error {
	err := d.SetHeaderSplit(h)
	if h.State == SplitOff && errors.Is(err, unix.EINVAL) {
		h.State = SplitUnknown
		if d.SetHeaderSplit(h) == nil {
			return nil
		}
	}
	return err
}

// KeepFree takes an RX queue out of receive-side scaling, so that only flows
// steered to it arrive there. The device needs at least two queues.
func (c *Changes) KeepFree(d *Device, queue int) error {
	queues, err := d.Queues()
	if err != nil {
		return err
	}
	if len(queues) < 2 {
		return &Error{Op: d.op("keep RX queue %d free of other flows", queue), Err: fmt.Errorf("it has only %d RX queue", len(queues)),
			How: "make more: ethtool -L " + d.Name + " combined 2"}
	}
	before, err := d.Indirection()
	if err != nil {
		return err
	}
	table, changed := without(before, queue, len(queues))
	if !changed {
		return nil
	}
	if err := d.SetIndirection(table); err != nil {
		return err
	}
	back := before
	if isDefault(before, len(queues)) {
		back = nil // the driver's own: a table that somebody set would no longer follow the number of queues
	}
	c.add(fmt.Sprintf("RX queue %d taken out of RSS", queue), func() error { return d.SetIndirection(back) })
	return nil
}

// Steer delivers one flow to a queue, see [Device.Steer], switching rules on if
// they are off.
func (c *Changes) Steer(d *Device, local, remote netip.AddrPort, queue int) error {
	on, err := d.NTuple()
	if err != nil {
		return err
	}
	if !on {
		if err := d.SetNTuple(true); err != nil {
			return err
		}
		c.add("feature ntuple was off", func() error { return d.SetNTuple(false) })
	}
	r, err := d.Steer(local, remote, queue)
	if err != nil {
		return err
	}
	c.add(fmt.Sprintf("ntuple rule %d: %v -> %v to RX queue %d", r, remote, local, queue), func() error { return d.DeleteRule(r) })
	return nil
}

// HasXDP reports whether an XDP program is attached to the interface.
func (d *Device) HasXDP() bool {
	l, err := netlink.LinkByIndex(d.Index)
	return err == nil && l.Attrs().Xdp != nil && l.Attrs().Xdp.Attached
}
