// SPDX-License-Identifier: MIT

package nic

import (
	"errors"

	"golang.org/x/sys/unix"
)

// SplitSetting is the header split setting that has the headers of all packets split off, or of
// none; "" where there is nothing to set, because the driver splits none.
//
// bnxt refuses off (bnxt_set_ringparam of bnxt_ethtool.c, Linux 7.3.4): left to itself it does
// not split, and says on all the same where it aggregates.
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
	drv, _ := d.Driver() // one without a name is not bnxt
	return splitNone(drv.Model()), nil
}

func splitNone(model string) string {
	h := HeaderSplit{State: SplitOff, Threshold: -1}
	if model == "bnxt_en" {
		h.State = SplitUnknown
	}
	return h.String()
}
