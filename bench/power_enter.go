// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/gpu"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/zc/dmabuf"
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

// areaOf returns the memory that a cell asks for at an end.
func areaOf(c plan.Cell, role ends.Role) string {
	if role == ends.TG {
		return c.TXArea
	}
	return c.Area
}

// areaPower names the reading of the GPU that has the payload, where the area names it by its PCI
// address and a source tells whose readings are.
func areaPower(h *results.Host, area string) {
	_, pci, _ := dmabuf.Find(area)
	if gpu.CheckPCI(pci) != nil {
		return
	}
	for _, m := range h.Metrics {
		if strings.HasSuffix(m.Name, "_w") && strings.HasSuffix(m.Source, " "+strings.ToLower(pci)) {
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
