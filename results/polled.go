// SPDX-License-Identifier: MIT

package results

import (
	"math"

	"github.com/zcbench/zcbench/machine/measure"
)

// polledColumns lists the columns that tell who took packets from the queues, each of a metric of
// its name.
func polledColumns() (out []column) {
	for _, m := range []struct{ name, unit string }{{measure.MetricInterruptRate, "1/s"},
		{measure.MetricPolledByApp, "%"}, {measure.MetricPolledByThread, "%"}, {measure.MetricPolledBySoftirq, "%"},
		{measure.MetricEmptyPolls, "%"}, {measure.MetricSpin, "cores"}, {measure.MetricAsleep, "%"}} {
		out = append(out, optional(column{m.name,
			func(r *row) string {
				if v := r.host.Value(m.name); !math.IsNaN(v) {
					return formatFloat(&v)
				}
				return ""
			},
			func(r *row, s string) error {
				v, err := parseFloat(s)
				r.host.Metrics = append(r.host.Metrics, measure.Metric{Name: m.name, Unit: m.unit, Value: v})
				return err
			}}))
	}
	return out
}

// Spun returns the time that the host's own threads spent on polls that brought nothing, cores: they
// had that time left, though they ran. 0: none, or nobody tells.
func (h *Host) Spun() float64 {
	if v := h.Value(measure.MetricAppSpin); v > 0 {
		return v
	}
	return 0
}
