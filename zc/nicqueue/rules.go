// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/nic"
)

// RoomForRules refuses a number of flows on interface dev that the driver has no ntuple rules for,
// before anything is changed: each is steered to its queue by a rule of its own.
//
// An RSS context cannot stand in for rules: nothing but a rule sends a flow to one
// (ethtool_set_rxnfc of net/ethtool/ioctl.c, FLOW_RSS, Linux 7.3.4). It saves some, with one rule
// for all flows of a port ([Port]).
func RoomForRules(mode, dev string, flows int) error {
	return On(mode, dev, func(d *nic.Device) error {
		room, known, err := d.RuleRoom()
		switch {
		case errors.Is(err, unix.EOPNOTSUPP):
			return &fault.Unsupported{Mode: mode, Op: fmt.Sprintf("steer flows of %s by %d ntuple rules", dev, flows),
				Err: unix.EOPNOTSUPP,
				How: fault.Fix(err) + "; RSS contexts do not help, since a flow enters one by a rule"}
		case err != nil:
			return Unsupported(mode, err)
		case known:
			return fits(mode, dev, flows, room)
		}
		return nil // the driver says when one is too many
	})
}

// fits refuses more flows than there is room for.
func fits(mode, dev string, flows, room int) error {
	if flows <= room {
		return nil
	}
	return &fault.Unsupported{Mode: mode, Blocked: true,
		Op: fmt.Sprintf("steer %d flows of %s, each by an ntuple rule: its table has room for only %d more", flows, dev,
			room), Err: unix.ENOSPC,
		How: "delete rules that nobody needs (ethtool -n " + dev +
			" shows them; zcbench restore deletes those of a killed run), or use fewer flows: --flows"}
}
