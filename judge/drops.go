// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/results"
)

// markDrops holds what the receiver received against what the sender sent.
func markDrops(rec *results.Record) {
	segments := func(h *results.Host) *results.DropSegments {
		if h.Probes == nil || h.Probes.Drops == nil {
			return nil
		}
		return h.Probes.Drops.Segments
	}
	tx := segments(&rec.TG)
	if tx.Balance(segments(&rec.SUT), slices.Contains(rec.Flags, results.FlagSharedMachine)) {
		return
	}
	rec.Flags = append(rec.Flags, results.FlagDropsUnattributed)
	why := fmt.Sprintf("%.0f segments of the flow were lost; %.0f of them have neither counter nor reason at its "+
		"ends: they were lost between the hosts, or where nothing counts", *tx.Lost, *tx.Unattributed)
	if *tx.Unattributed < 0 {
		why = fmt.Sprintf("%.0f segments of the flow were lost, but %.0f more were dropped: something was "+
			"dropped or counted twice", *tx.Lost, -*tx.Unattributed)
	}
	rec.Warnings = append(rec.Warnings, why)
}
