// SPDX-License-Identifier: MIT

package results

import (
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
)

// Rows lists the host's rows of metrics.csv, including those of what probes saw.
func (h *Host) Rows() []measure.Metric {
	out := make([]measure.Metric, 0, len(h.Metrics))
	for _, m := range slices.Concat(h.Metrics, h.Packets.rows(), h.Path.rows(), h.Probes.rows()) {
		m.Name, m.Of = m.Named(), nil
		out = append(out, m)
	}
	return out
}
