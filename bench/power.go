// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power"
)

// PowerOptions say how power is measured beside the runs. Without sources it is
// not.
type PowerOptions struct {
	Sources  []power.Spec
	Auto     bool
	Later    bool          // rest as if, for a log that ImportPower joins
	Interval time.Duration // between readings; 0: the default
	Idle     time.Duration // of rest that is measured before the first run and after each
	Guard    time.Duration // of load on both sides of the window, and of rest before Idle
	turn     time.Duration // of cells that take turns; 0: they take none
}

// On reports whether power is measured.
func (o PowerOptions) On() bool { return len(o.Sources) > 0 || o.Auto || o.Later }

// InTurns refuses to measure power in turns that are too short for any meter, or by a log that
// comes later. How often a meter measures is found when it is opened.
func (o PowerOptions) InTurns(turn time.Duration) error {
	logs := slices.IndexFunc(o.Sources, func(s power.Spec) bool { return s.Every(o.Interval) == 0 })
	switch {
	case !o.On() || turn == 0:
		return nil
	case o.Later || logs >= 0:
		return &fault.Error{Op: "power cannot be measured in turns by a log: it is not known how often its meter " +
			"measures", How: "use order: blocks, or measure no power (--power '')"}
	case turn < power.LeastTurn:
		return &fault.Error{Op: fmt.Sprintf("power cannot be measured in turns of %v: whose turn it was can be told "+
			"of turns of %v and more, and of ten of the meter's periods", turn, power.LeastTurn),
			How: fmt.Sprintf("use turn: %v, order: blocks, or measure no power (--power '')", power.LeastTurn)}
	}
	return nil
}

// fitsTurn refuses turns that are too short for a meter.
func fitsTurn(name string, period, turn time.Duration) error {
	err := power.FitsTurn(name, period, turn)
	if err == nil || turn == 0 {
		return nil
	}
	how := "use order: blocks, or leave it out"
	if least := power.LeastTurnOf(period); period > 0 && least <= longestTurn {
		how = fmt.Sprintf("use turn: %v, order: blocks, or leave it out", (least + 99*time.Millisecond).Truncate(
			100*time.Millisecond))
	}
	return &fault.Error{Op: err.Error(), How: how}
}

// longestTurn is the longest that a plan may have.
const longestTurn = 10 * time.Second

// lengthen makes the ramps of runs no shorter than the guard.
func (o PowerOptions) lengthen(r *Options) {
	if r.Turn > 0 { // a meter's own period is known, and is short beside a turn
		r.guard = o.Guard
		return
	}
	r.RampUp, r.RampDown = max(r.RampUp, o.Guard), max(r.RampDown, o.Guard)
}

// PowerMeter samples on both hosts from StartPower until Close. A host's own
// instruments are read by its agent, those on the network by the controller. All
// times are on the controller's clock, until an agent is asked.
type PowerMeter struct {
	opt     PowerOptions
	ends    [2]powerEnd
	common  *power.Sampler // of the controller, for sources that both ends share
	rested  power.Window   // the last idle window; zero after load
	free    int64          // since when there was no load
	quiet   power.Window   // the end of that before the last warm-up
	rests   *restMeter     // of the CPUs, in the same rests; nil: not measured
	shared  bool           // one instrument is the primary one of both ends
	Sources []string       // what is read where, for the user
}

// StartPower begins to sample. It lengthens the ramps of the runs to the guard.
func StartPower(ctx context.Context, o PowerOptions, r *Runner) (*PowerMeter, error) {
	if !o.On() {
		return nil, nil
	}
	if o.Interval == 0 {
		o.Interval = power.DefaultInterval
	}
	if o.turn = r.Opt.Turn; o.turn > 0 {
		if err := o.InTurns(o.turn); err != nil {
			return nil, err
		}
	}
	oneMachine := r.SUT.SameMachine(r.TG)
	if err := o.check(oneMachine); err != nil {
		return nil, err
	}
	m := &PowerMeter{opt: o, free: counter.Monotonic(), ends: [2]powerEnd{{host: r.SUT, role: ends.SUT},
		{host: r.TG, role: ends.TG}}}
	for i := range m.ends {
		names, err := m.ends[i].start(ctx, o)
		if err != nil {
			m.Close()
			return nil, fmt.Errorf("power on host %s: %w", m.ends[i].host.Spec.Name, err)
		}
		m.Sources = append(m.Sources, names...)
	}
	var err error
	if m.common, err = o.open("", "both", &m.Sources); err != nil {
		m.Close()
		return nil, fmt.Errorf("power of both hosts: %w", err)
	}
	m.shared = oneInstrument(m.ends[0].first, m.ends[1].first, oneMachine)
	o.lengthen(&r.Opt)
	return m, nil
}

// oneInstrument reports whether the primary sources of both ends are one. What an
// agent reads is its own machine's; what the controller reads is one thing,
// wherever the ends are.
func oneInstrument(sut, tg power.Spec, oneMachine bool) bool {
	return sut.SameInstrument(tg) && (oneMachine || sut.Name != "" && !sut.InBand())
}

// ErrOneMachine is a source that sees one machine and is to be read for two.
var ErrOneMachine = errors.New("it sees one machine, but the ends are on two")

// check refuses an instrument of one machine that would be read for two.
func (o PowerOptions) check(oneMachine bool) error {
	for _, s := range o.Sources {
		if s.Host == "" && s.OneMachine() && !oneMachine {
			return fmt.Errorf("power source %s: %w: say whose it is: sut:%[1]s or tg:%[1]s", s, ErrOneMachine)
		}
	}
	return nil
}

// open begins to sample the controller's own sources of one role, or those
// without a role, and adds what they are to said; nil where there are none.
func (o PowerOptions) open(role ends.Role, label string, said *[]string) (*power.Sampler, error) {
	specs := slices.DeleteFunc(slices.Clone(o.Sources), func(s power.Spec) bool { return s.Host != role || s.InBand() })
	if len(specs) == 0 {
		return nil, nil
	}
	sources, err := power.OpenAll(specs, false)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		i := s.Info()
		*said = append(*said, described(label, i.Name, i.Scope, i.Says()))
	}
	if o.turn == 0 {
		return power.Start(sources, o.Interval), nil
	}
	var names []string
	for _, s := range sources {
		names = append(names, s.Info().Name)
	}
	sampler := power.StartTurns(sources, o.Interval)
	for i, period := range sampler.Periods() {
		if err := fitsTurn(names[i], period, o.turn); err != nil {
			return nil, errors.Join(err, sampler.Close())
		}
	}
	return sampler, nil
}

// again makes a host's new agent sample, in place of one that was lost.
func (m *PowerMeter) again(ctx context.Context, h *host.Host) error {
	if m == nil {
		return nil
	}
	m.rested = power.Window{} // the readings of it are gone
	for i := range m.ends {
		if e := &m.ends[i]; e.host == h && e.inBand {
			var got []wire.PowerSource
			if err := h.CallWithin(ctx, powerStartTime, wire.OpPowerStart, e.asked, &got); err != nil {
				return fmt.Errorf("power on host %s: %w", h.Spec.Name, err)
			}
		}
	}
	return nil
}

// Close ends the controller's own sampling; an agent's ends with it.
func (m *PowerMeter) Close() error {
	if m == nil {
		return nil
	}
	var err error
	for _, s := range []*power.Sampler{m.ends[0].local, m.ends[1].local, m.common} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}
