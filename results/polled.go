// SPDX-License-Identifier: MIT

package results

import (
	"math"

	"github.com/zcbench/zcbench/machine/measure"
)

// PolledFigures are the metrics that tell who took packets from the queues, each a column, too.
var PolledFigures = []measure.Metric{{Name: measure.MetricInterruptRate, Unit: "1/s"},
	{Name: measure.MetricPolledByApp, Unit: "%"}, {Name: measure.MetricPolledByThread, Unit: "%"},
	{Name: measure.MetricPolledBySoftirq, Unit: "%"}, {Name: measure.MetricEmptyPolls, Unit: "%"},
	{Name: measure.MetricSpin, Unit: "cores"}, {Name: measure.MetricAsleep, Unit: "%"}}

// polledColumns lists their columns.
func polledColumns() (out []column) {
	for _, m := range PolledFigures {
		out = append(out, optional(column{m.Name,
			func(r *row) string {
				if v := r.host.Value(m.Name); !math.IsNaN(v) {
					return formatFloat(&v)
				}
				return ""
			},
			func(r *row, s string) error {
				v, err := parseFloat(s)
				r.host.Metrics = append(r.host.Metrics, measure.Metric{Name: m.Name, Unit: m.Unit, Value: v})
				return err
			}}))
	}
	return out
}

// Spun returns the time that the host's own threads spent on polls that brought nothing, cores:
// they had that time left, though they ran. 0: none, or nobody tells.
func (h *Host) Spun() float64 {
	if v := h.Value(measure.MetricAppSpin); v > 0 {
		return v
	}
	return 0
}
