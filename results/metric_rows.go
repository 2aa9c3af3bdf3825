// SPDX-License-Identifier: MIT

package results

import (
	"math"
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

// Value looks up a metric's value; NaN if it was not measured.
func (h *Host) Value(name string) float64 {
	i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == name && len(m.Of) == 0 })
	if i < 0 {
		return math.NaN()
	}
	return h.Metrics[i].Value
}

// Counted returns the value of a counter whose name has no number; 0 if it was read and did not
// move, NaN if it was not read.
func (h *Host) Counted(name string) float64 {
	if v := h.Value(name); !math.IsNaN(v) || !slices.Contains(h.Idle, name) {
		return v
	}
	return 0
}
