// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
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
}

// On reports whether power is measured.
func (o PowerOptions) On() bool { return len(o.Sources) > 0 || o.Auto || o.Later }

// lengthen makes the ramps of runs no shorter than the guard.
func (o PowerOptions) lengthen(r *Options) {
	r.RampUp, r.RampDown = max(r.RampUp, o.Guard), max(r.RampDown, o.Guard)
}

// PowerMeter samples on both hosts from StartPower until Close. A host's own
// instruments are read by its agent, those on the network by the controller.
type PowerMeter struct {
	opt     PowerOptions
	ends    [2]powerEnd
	common  *power.Sampler // of the controller, for sources that both ends share
	rested  power.Window   // the last idle window, controller's clock; zero after load
	shared  bool           // one instrument is the primary one of both ends
	Sources []string       // what is read where, for the user
}

// powerEnd is one host's instruments.
type powerEnd struct {
	host   *host.Host
	role   string
	order  []string   // sources as the user named them; the first is the primary one
	first  power.Spec // the primary one; without a name it is what auto finds
	inBand bool
	asked  wire.PowerStart // of the agent, where inBand
	local  *power.Sampler  // of the controller, for this end alone
}

// StartPower begins to sample. It lengthens the ramps of the runs to the guard.
func StartPower(ctx context.Context, o PowerOptions, r *Runner) (*PowerMeter, error) {
	if !o.On() {
		return nil, nil
	}
	if o.Interval == 0 {
		o.Interval = power.DefaultInterval
	}
	oneMachine := r.SUT.SameMachine(r.TG)
	if err := o.check(oneMachine); err != nil {
		return nil, err
	}
	m := &PowerMeter{opt: o, ends: [2]powerEnd{{host: r.SUT, role: "sut"}, {host: r.TG, role: "tg"}}}
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
var ErrOneMachine = errors.New("it sees one machine, and the ends are on two")

// check refuses an instrument of one machine that would be read for two.
func (o PowerOptions) check(oneMachine bool) error {
	for _, s := range o.Sources {
		if s.Host == "" && s.OneMachine() && !oneMachine {
			return fmt.Errorf("power source %s: %w: say whose it is, sut:%[1]s or tg:%[1]s", s, ErrOneMachine)
		}
	}
	return nil
}

// open begins to sample the controller's own sources of one role, or those
// without a role, and adds what they are to said; nil where there are none.
func (o PowerOptions) open(role, label string, said *[]string) (*power.Sampler, error) {
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
		*said = append(*said, described(label, i.Name, i.Scope, i.Device))
	}
	return power.Start(sources, o.Interval), nil
}

func described(label, name string, scope power.Scope, device string) string {
	return fmt.Sprintf("%s: %s (%s): %s", label, name, scope, device)
}

func (e *powerEnd) start(ctx context.Context, o PowerOptions) (names []string, err error) {
	req := wire.PowerStart{Auto: o.Auto, IntervalMs: int(o.Interval.Milliseconds())}
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
		if err := e.host.Call(ctx, wire.OpPowerStart, req, &got); err != nil {
			return nil, err
		}
		e.inBand, e.asked = true, req
		for _, s := range got {
			names = append(names, described(e.role, s.Name, s.Scope, s.Device))
			if !slices.Contains(e.order, s.Name) {
				e.order = append(e.order, s.Name) // found by auto
			}
		}
	}
	e.local, err = o.open(e.role, e.role, &names)
	return names, err
}

// again has a host's new agent sample, in the place of one that was lost.
func (m *PowerMeter) again(ctx context.Context, h *host.Host) error {
	if m == nil {
		return nil
	}
	m.rested = power.Window{} // the readings of it are gone
	for i := range m.ends {
		if e := &m.ends[i]; e.host == h && e.inBand {
			var got []wire.PowerSource
			if err := h.Call(ctx, wire.OpPowerStart, e.asked, &got); err != nil {
				return fmt.Errorf("power on host %s: %w", h.Spec.Name, err)
			}
		}
	}
	return nil
}

// carry brings the helper that reads GPUs to the host. Where it is not asked for
// by name, a host without it only lacks its figure.
func (e *powerEnd) carry(ctx context.Context, req wire.PowerStart) error {
	named := power.NeedsNVMLHelper(req.Sources)
	if !named && !req.Auto {
		return nil
	}
	path, err := power.FindNVMLHelper()
	if path != "" && err == nil { // if it is nowhere at all, the agent says so
		err = e.host.Carry(ctx, path)
	}
	if named {
		return err
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

// restTime is how long one rest takes: there is one after each run that counts, and
// one before the first of them and before one that follows a warm-up.
func (m *PowerMeter) restTime() time.Duration {
	if m == nil || m.opt.Idle <= 0 {
		return 0
	}
	return m.opt.Guard + m.opt.Idle
}

// before rests and measures the idle power before a run, unless the rest after
// the last run serves for this one too.
func (m *PowerMeter) before(ctx context.Context, warmup bool) {
	if m != nil && !warmup && m.rested.Zero() {
		m.rest(ctx)
	}
}

// rest lets the guard pass and then the idle window.
func (m *PowerMeter) rest(ctx context.Context) {
	m.rested = power.Window{}
	if m.opt.Idle <= 0 || !pause(ctx, m.opt.Guard) {
		return
	}
	from := counter.Monotonic()
	if pause(ctx, m.opt.Idle) {
		m.rested = power.Window{FromNs: from, ToNs: counter.Monotonic()}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// after rests after a run and enters the figures of it. A warm-up has none.
func (m *PowerMeter) after(ctx context.Context, rec *results.Record, out outcome) {
	if m == nil {
		return
	}
	idleBefore := m.rested
	m.rested = power.Window{} // there was load
	if rec.Warmup || out.sut.ToNs == 0 && out.tg.ToNs == 0 {
		return
	}
	m.rest(ctx)
	old := int64(math.MaxInt64) // readings of sources that both share, which no later run needs
	for i, res := range []wire.EndResult{out.sut, out.tg} {
		e, h := &m.ends[i], &rec.SUT
		if i == 1 {
			h = &rec.TG
		}
		if res.ToNs == 0 {
			continue
		}
		off := e.host.OffsetNs
		at := power.Times{Load: power.Window{FromNs: res.FromNs, ToNs: res.ToNs}, IdleBefore: idleBefore.Add(off), IdleAfter: m.rested.Add(off),
			GuardNs: int64(m.opt.Guard), SkewNs: e.host.UncertaintyNs}
		began := time.Now().UnixNano() - (counter.Monotonic() - e.onOurClock(at).Load.FromNs) // by the wall clock
		h.Metrics = append(h.Metrics, at.Metrics(began-out.startUTCNs)...)
		if len(e.order) == 0 {
			continue
		}
		warnings, flags, err := e.fill(h, at, m.common)
		distrust(rec, ends[i], err)
		old = min(old, forget(e.onOurClock(at)))
		rec.Warnings = append(rec.Warnings, named(ends[i], warnings)...)
		flag(rec, flags...)
	}
	if m.common != nil && old != math.MaxInt64 {
		m.common.Forget(old)
	}
	m.markShared(rec)
	markMixed(rec)
}

// ends are what the hosts are called in reasons and warnings.
var ends = [2]string{"SUT", "TG"}

// distrust makes a run failed whose agent, asked for its power, answered nonsense:
// its other figures are worth no more.
func distrust(rec *results.Record, end string, err error) {
	if n := (*wire.NonsenseError)(nil); errors.As(err, &n) && rec.Verdict != results.Failed {
		rec.Verdict, rec.Reason, rec.Fix = results.Failed, end+": "+err.Error(), n.Fix()
	}
}

// markShared says that one instrument saw both ends.
func (m *PowerMeter) markShared(rec *results.Record) {
	if m.shared && rec.SUT.PowerW != nil && rec.TG.PowerW != nil {
		rec.Flags = append(rec.Flags, results.FlagSharedPower)
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("one instrument (%s) sees both ends: power is that of both together, in each row", rec.SUT.PowerSource))
	}
}

// markMixed says why the two ends' power has no sum, if so.
func markMixed(rec *results.Record) {
	if rec.MixedScopes() {
		flag(rec, results.FlagMixedScopes)
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("the ends' power is not of the same scope, SUT %s, TG %s: it has no total", rec.SUT.Instrument(), rec.TG.Instrument()))
	}
}

// fill enters one host's figures, with those of the sources that both share; at
// is on the agent's clock.
func (e *powerEnd) fill(h *results.Host, at power.Times, common *power.Sampler) (warnings, flags []string, err error) {
	var all []power.Figure
	if e.inBand {
		var r wire.PowerReading
		// Also when the run was called off.
		if err = e.host.CallWithin(context.Background(), powerReadTime, wire.OpPowerRead, wire.PowerRead{Times: at, Forget: forget(at)}, &r); err != nil {
			warnings = append(warnings, "power: "+err.Error())
		}
		all = append(all, r.Figures...)
		h.Metrics = append(h.Metrics, r.Cost...)
	}
	figures, cost := e.measureOurs(e.onOurClock(at), common)
	all = append(all, figures...)
	h.Metrics = append(h.Metrics, cost...)
	slices.SortStableFunc(all, func(a, b power.Figure) int { return slices.Index(e.order, a.Source) - slices.Index(e.order, b.Source) })
	if len(all) == 0 || all[0].Source != e.order[0] {
		all = slices.Insert(all, 0, power.Figure{Source: e.order[0], Why: "not read", Flags: []string{power.FlagMissing}})
	}
	w, flags := power.Fill(h, all)
	return append(warnings, w...), flags, err
}

// powerReadTime is how long an agent may take to tell what it has read.
const powerReadTime = 15 * time.Second

// measureOurs are the figures of the controller's own sources, and what sampling
// them costs; at is on the controller's clock.
func (e *powerEnd) measureOurs(at power.Times, common *power.Sampler) (figures []power.Figure, cost []results.Metric) {
	var sum results.Metric
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
		e.local.Forget(forget(at))
	}
	if sum.Name != "" {
		cost = append(cost, sum)
	}
	return figures, cost
}

// metricControllerCores is what the controller's own sampling for a host costs.
const metricControllerCores = "power_controller_sampler_cores"

// forget is the moment before which no later run needs readings: the rest after
// this run is the next one's before.
func forget(at power.Times) int64 {
	if at.IdleAfter.Zero() {
		return at.Load.ToNs
	}
	return at.IdleAfter.FromNs - int64(2*time.Second)
}

// onOurClock moves times from the agent's clock to the controller's.
func (e *powerEnd) onOurClock(at power.Times) power.Times {
	off := -e.host.OffsetNs
	at.Load, at.IdleBefore, at.IdleAfter = at.Load.Add(off), at.IdleBefore.Add(off), at.IdleAfter.Add(off)
	return at
}
