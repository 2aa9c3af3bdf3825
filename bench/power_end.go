// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/helper"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// powerEnd is one host's instruments.
type powerEnd struct {
	host   *host.Host
	role   ends.Role
	order  []string   // sources as the user named them; the first is the primary one
	left   []string   // what auto found that cannot tell whose turn it was: its figures count nowhere
	first  power.Spec // the primary one; without a name it is what auto finds
	inBand bool
	asked  wire.PowerStart // of the agent, where inBand
	local  *power.Sampler  // of the controller, for this end alone
}

func described(label, name string, scope power.Scope, device string) string {
	return fmt.Sprintf("%s: %s (%s): %s", label, name, scope, device)
}

func (e *powerEnd) start(ctx context.Context, o PowerOptions) (names []string, err error) {
	req := wire.PowerStart{Auto: o.Auto, IntervalMs: int(o.Interval.Milliseconds()), Turns: o.turn > 0}
	for _, s := range o.Sources {
		if s.Host != "" && s.Host != e.role {
			continue
		}
		if e.order = append(e.order, s.String()); e.first.Name == "" {
			e.first = s
		}
		if s.InBand() {
			req.Sources = append(req.Sources, s)
		}
	}
	if req.Auto || len(req.Sources) > 0 {
		var got []wire.PowerSource
		if err := e.carry(ctx, req); err != nil {
			return nil, err
		}
		if err := e.host.CallWithin(ctx, powerStartTime, wire.OpPowerStart, req, &got); err != nil {
			return nil, err
		}
		e.inBand, e.asked = true, req
		found, err := e.fitting(got, o.turn)
		if names = append(names, found...); err != nil {
			return nil, err
		}
	}
	e.local, err = o.open(e.role, string(e.role), &names)
	return names, err
}

// fitting tells which sources an agent reads. One that was named and is too slow for turns of this
// length is an error; one that auto found is left out, unless there is no other.
func (e *powerEnd) fitting(got []wire.PowerSource, turn time.Duration) (names []string, err error) {
	for _, s := range got {
		misfit, named := fitsTurn(s.Name, time.Duration(s.PeriodNs), turn), slices.Contains(e.order, s.Name)
		name := described(string(e.role), s.Name, s.Scope, s.Device)
		switch {
		case misfit != nil && named:
			return nil, misfit
		case misfit != nil:
			e.left, name, err = append(e.left, s.Name), name+", left out: "+misfit.Error(), misfit
		case !named:
			e.order = append(e.order, s.Name) // found by auto
		}
		names = append(names, name)
	}
	if len(e.order) > 0 {
		err = nil
	}
	return names, err
}

// carry brings the helper that reads GPUs to the host. Where it is not asked for
// by name, a host without it only lacks its figure.
func (e *powerEnd) carry(ctx context.Context, req wire.PowerStart) error {
	named := power.NeedsNVMLHelper(req.Sources)
	if !named && !req.Auto {
		return nil
	}
	if err := e.host.Carry(ctx, helper.NVML, helper.Finder(helper.NVML)); named {
		return err
	}
	return nil
}

// fill enters one host's figures, with those of the sources that both share.
// Readings of before forgetNs are dropped then.
func (e *powerEnd) fill(h *results.Host, at power.Times, forgetNs int64, common *power.Sampler) (warnings,
	flags []string, err error) {
	var all []power.Figure
	if e.inBand {
		var r wire.PowerReading
		theirs := at.Add(e.host.OffsetNs)
		// Also when the run was called off.
		if err = e.host.CallWithin(context.Background(), powerReadTime, wire.OpPowerRead,
			wire.PowerRead{Times: theirs, Forget: forgetNs + e.host.OffsetNs}, &r); err != nil {
			warnings = append(warnings, "power: "+err.Error())
		}
		all = append(all, r.Figures...)
		h.Metrics = append(h.Metrics, r.Cost...)
	}
	figures, cost := e.measureOurs(at, forgetNs, common)
	all = append(all, figures...)
	h.Metrics = append(h.Metrics, cost...)
	all = slices.DeleteFunc(all, func(f power.Figure) bool { return slices.Contains(e.left, f.Source) })
	slices.SortStableFunc(all,
		func(a, b power.Figure) int { return slices.Index(e.order, a.Source) - slices.Index(e.order, b.Source) })
	if len(all) == 0 || all[0].Source != e.order[0] {
		all = slices.Insert(all, 0, power.Figure{Source: e.order[0], Why: "not read",
			Flags: []string{power.FlagMissing}})
	}
	w, flags := enterPower(h, all)
	return append(warnings, w...), flags, err
}

// powerStartTime is how long an agent may take to open sources, and to measure how often they have
// a new value.
const powerStartTime = 2 * time.Minute

// powerReadTime is how long an agent may take to tell what it has read.
const powerReadTime = 15 * time.Second

// measureOurs returns the figures of the controller's own sources, and what sampling them costs.
func (e *powerEnd) measureOurs(at power.Times, forgetNs int64, common *power.Sampler) (figures []power.Figure,
	cost []measure.Metric) {
	var sum measure.Metric
	for _, s := range []*power.Sampler{e.local, common} {
		if s == nil {
			continue
		}
		f, c := s.Measure(at)
		figures = append(figures, f...)
		for _, m := range c {
			if m.Name != power.MetricSamplerCores {
				cost = append(cost, m)
				continue
			}
			m.Value += sum.Value
			sum = m
			sum.Name = metricControllerCores // not on this host, if that is another machine
		}
	}
	if e.local != nil {
		e.local.Forget(forgetNs)
	}
	if sum.Name != "" {
		cost = append(cost, sum)
	}
	return figures, cost
}

// metricControllerCores is what the controller's own sampling for a host costs.
const metricControllerCores = "power_controller_sampler_cores"
