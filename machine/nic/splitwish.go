// SPDX-License-Identifier: MIT

package nic

import (
	"errors"

	"github.com/zcbench/zcbench/machine/driver"
	"golang.org/x/sys/unix"
)

// SplitSetting returns the header split setting that splits off the headers of all packets, or of
// none; "" where there is nothing to set, because the driver splits none.
func (d *Device) SplitSetting(on bool) (string, error) {
	before, err := d.HeaderSplit()
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) && !on:
		return "", nil
	case err != nil:
		return "", err
	}
	if on {
		return SplitAll(before).String(), nil
	}
	return splitNone(d.ways()), nil
}

// splitNone returns off, or what stands for it with drivers that refuse off.
func splitNone(drv driver.Driver) string {
	h := HeaderSplit{State: SplitOff, Threshold: -1}
	if drv.OffIsAuto {
		h.State = SplitUnknown
	}
	return h.String()
}
