// SPDX-License-Identifier: MIT

package results

import (
	"math"
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
)

// CPUNetU computes the standard uncertainty of CPUNetCores.
func (h *Host) CPUNetU() *float64 {
	if h.CPUNetCores() == nil || h.CPUBusyU == nil || h.CPUIdleU == nil {
		return nil
	}
	return new(math.Hypot(*h.CPUBusyU, *h.CPUIdleU))
}

// JoulePerGBU and NetJoulePerGBU are the standard uncertainties of both. The window and
// its bytes are exact beside the power.
func (h *Host) JoulePerGBU() *float64 { return h.joulePerGB(h.PowerU) }

// NetJoulePerGBU computes the standard uncertainty of NetJoulePerGB.
func (h *Host) NetJoulePerGBU() *float64 { return h.joulePerGB(h.PowerNetU) }

// costU returns the standard uncertainty of a host's cost.
func (h *Host) costU(c Cost) *float64 {
	switch c {
	case CostPower:
		return h.PowerU
	case CostNetPower:
		return h.PowerNetU
	}
	return h.CPUBusyU
}

// ROIU computes the standard uncertainty of [Record.ROI] with n = 2 and m = 1: the return's
// relative uncertainty is the cost's. Throughput is exact by comparison. Nil if the cost's is not
// known.
func (r *Record) ROIU(side Side, cost Cost) *float64 {
	v, c := r.ROI(side, cost, 2, 1), r.SUT.cost(cost)
	u := r.SUT.costU(cost)
	switch side {
	case Sender:
		c, u = r.TG.cost(cost), r.TG.costU(cost)
	case Total:
		shared := cost != CostCPU && slices.Contains(r.Flags, FlagSharedPower)
		c = sumCost(c, r.TG.cost(cost), shared)
		if !shared {
			u = r.sumU(cost)
		}
	}
	if v == nil || c == nil || u == nil {
		return nil
	}
	return finite(*v * *u / *c)
}

// sumU computes the standard uncertainty of the sum of both hosts' costs. Two instruments of one
// make err alike: the part that each shares with its like adds up in full.
func (r *Record) sumU(cost Cost) *float64 {
	a, b := r.SUT.costU(cost), r.TG.costU(cost)
	if a == nil || b == nil {
		return nil
	}
	sa, sb := r.SUT.PowerSharedU, r.TG.PowerSharedU
	if cost == CostCPU || sa == nil || sb == nil || r.SUT.Instrument() != r.TG.Instrument() {
		return new(math.Hypot(*a, *b))
	}
	rest := func(u, shared float64) float64 { return math.Sqrt(max(u*u-shared*shared, 0)) }
	return new(math.Hypot(*sa+*sb, math.Hypot(rest(*a, *sa), rest(*b, *sb))))
}

// uncertaintyColumns lists the columns of gross and net costs with their uncertainties.
func uncertaintyColumns() []column {
	total := func(name string, cost Cost) column {
		return recordCol(name, func(r *row) *float64 { return r.rec.ROIU(Total, cost) })
	}
	own := func(name string, cost Cost) column {
		return recordCol(name, func(r *row) *float64 {
			if r.role == ends.TG {
				return r.rec.ROIU(Sender, cost)
			}
			return r.rec.ROIU(Receiver, cost)
		})
	}
	return []column{
		floatCol("cpu_busy_uncertainty_cores", func(r *row) **float64 { return &r.host.CPUBusyU }),
		floatCol("cpu_idle_cores", func(r *row) **float64 { return &r.host.CPUIdleCores }),
		floatCol("cpu_idle_uncertainty_cores", func(r *row) **float64 { return &r.host.CPUIdleU }),
		computedCol("cpu_net_cores", (*Host).CPUNetCores),
		floatCol("cpu_poller_cores", func(r *row) **float64 { return &r.host.CPUPollerCores }),
		floatCol("power_uncertainty_w", func(r *row) **float64 { return &r.host.PowerU }),
		floatCol("power_shared_uncertainty_w", func(r *row) **float64 { return &r.host.PowerSharedU }),
		floatCol("power_net_uncertainty_w", func(r *row) **float64 { return &r.host.PowerNetU }),
		floatCol("power_idle_drift", func(r *row) **float64 { return &r.host.PowerIdleDrift }),
		computedCol("joule_per_gb_uncertainty", (*Host).JoulePerGBU),
		computedCol("net_joule_per_gb", (*Host).NetJoulePerGB),
		computedCol("net_joule_per_gb_uncertainty", (*Host).NetJoulePerGBU),
		own("roi_cpu_uncertainty", CostCPU),
		own("roi_power_uncertainty", CostPower),
		total("roi_cpu_total_uncertainty", CostCPU),
		total("roi_power_total_uncertainty", CostPower),
	}
}
