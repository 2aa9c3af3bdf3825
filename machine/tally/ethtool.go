// SPDX-License-Identifier: MIT

package tally

import (
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
)

const sourceStats = "ethtool -S"

func readStats(r *Reader, x *Reading) (_ []measure.Count, err error) {
	x.Stats, err = r.dev.StatList()
	return statCounts(x.Stats), err
}

// statCounts are the driver's own counters. Whether one counts or is a level only its name says.
func statCounts(stats []nic.Stat) (out []measure.Count) {
	for _, s := range stats {
		w := word(s.Name)
		out = append(out, measure.Count{Name: s.Name, Metric: "ethtool_" + w, Unit: unitOf(w), Source: sourceStats,
			Value: s.Value})
	}
	return out
}

var ethtoolMetrics = []measure.MetricDoc{
	{Names: "ethtool_NAME", Units: "*", Source: sourceStats,
		Meaning: "the driver's own, as it calls them"},
}
