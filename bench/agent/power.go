// SPDX-License-Identifier: MIT

package agent

import (
	"errors"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/power"
)

// startPower begins to sample. Like the other requests it is handled one at a
// time, so that the sampler needs no lock.
func (a *agent) startPower(req wire.Request) (any, error) {
	var p wire.PowerStart
	if err := req.Decode(&p); err != nil {
		return nil, err
	}
	if a.power != nil {
		return nil, errors.New("power is already being sampled")
	}
	sources, err := power.OpenAll(p.Sources, p.Auto)
	if err != nil {
		return nil, err
	}
	out := []wire.PowerSource{}
	for _, s := range sources {
		i := s.Info()
		out = append(out, wire.PowerSource{Name: i.Name, Scope: i.Scope, Device: i.Says()})
	}
	start := power.Start
	if p.Turns {
		start = power.StartTurns
	}
	a.power = start(sources, time.Duration(p.IntervalMs)*time.Millisecond)
	for i, period := range a.power.Periods() {
		out[i].PeriodNs = period.Nanoseconds()
	}
	return out, nil
}

func (a *agent) readPower(req wire.Request) (any, error) {
	var p wire.PowerRead
	if err := req.Decode(&p); err != nil {
		return nil, err
	}
	if a.power == nil {
		return nil, errors.New("power is not being sampled: start it first")
	}
	var r wire.PowerReading
	r.Figures, r.Cost = a.power.Measure(p.Times)
	a.power.Forget(p.Forget)
	return r, nil
}

func (a *agent) stopPower() {
	if a.power != nil {
		_ = a.power.Close() // a source that hangs ends with the process
	}
}
