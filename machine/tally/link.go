// SPDX-License-Identifier: MIT

package tally

import (
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
)

// readLink reads the interface's counters. In a run they are what rates per packet are of: the rows
// are those of the snapshots.
func readLink(r *Reader, x *Reading) ([]measure.Count, error) {
	l, err := counter.ReadLink(r.cfg.Dev)
	if x.Link = l; err != nil || !r.cfg.Host {
		return nil, err
	}
	return counter.LinkCounts(l), nil
}
