// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/gpu"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// enterPower enters the figures of one host's sources. The first is the primary one: only it can be
// power_w. Another never takes its place, because what another instrument sees is not comparable.
func enterPower(h *results.Host, figures []power.Figure) (warnings, flags []string) {
	for i := range figures {
		warnings = append(warnings, addPower(h, &figures[i])...)
		if i == 0 {
			leadPower(h, &figures[i])
			flags = figures[i].Flags
		}
	}
	return warnings, flags
}

// addPower enters what a source measured beside the others. It returns why there is no figure, if
// so.
func addPower(h *results.Host, f *power.Figure) (warnings []string) {
	h.Metrics, h.Series = append(h.Metrics, f.Metrics...), append(h.Series, f.Series...)
	h.Metrics = append(h.Metrics, f.PerByte(h.DurationS, h.Bytes)...)
	if f.Why != "" {
		warnings = append(warnings, fmt.Sprintf("power source %s: %s", f.Source, f.Why))
	}
	return warnings
}

// areaPower names the reading of the GPU that has the payload, as the data path says, where a
// source tells whose readings are.
func areaPower(h *results.Host) {
	at := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == measure.MetricAreaDevice })
	if at < 0 {
		return
	}
	pci, _, _ := strings.Cut(h.Metrics[at].Source, " ")
	pci = strings.TrimSuffix(pci, ":")
	for _, m := range h.Metrics {
		if gpu.CheckPCI(pci) == nil && strings.HasSuffix(m.Name, "_w") && strings.HasSuffix(m.Source, " "+pci) {
			m.Name = "power_area_gpu_w"
			h.Metrics = append(h.Metrics, m)
			return
		}
	}
}

// leadPower makes a figure the host's power_w, with or without a value.
func leadPower(h *results.Host, f *power.Figure) {
	h.PowerW, h.PowerIdleW, h.PowerSource, h.PowerScope = f.GrossW, f.IdleW, f.Source, string(f.Scope)
	h.PowerU, h.PowerNetU, h.PowerSharedU, h.PowerIdleDrift = f.GrossU, f.NetU, f.SharedU, f.Drift
}
