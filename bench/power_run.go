// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// restTime returns how long one rest takes. A rest follows each run that counts, and one comes
// before the first of them and before one that follows a warm-up or has other settings.
func (m *PowerMeter) restTime() time.Duration {
	if m == nil || m.opt.Idle <= 0 {
		return 0
	}
	return m.opt.Guard + m.opt.Idle
}

// forgetRest makes idle power be measured again before the next run.
func (m *PowerMeter) forgetRest() {
	if m != nil {
		m.rested = power.Window{}
	}
}

// before rests and measures the idle power before a run, unless the rest after
// the last run serves for this one too.
func (m *PowerMeter) before(ctx context.Context, warmup bool) {
	switch {
	case m == nil:
	case warmup:
		now := counter.Monotonic()
		m.quiet = power.Window{FromNs: max(m.free, now-int64(m.opt.Guard)), ToNs: now}
	case m.rested.Zero():
		m.rest(ctx)
	}
}

// rest lets the guard pass and then the idle window.
func (m *PowerMeter) rest(ctx context.Context) {
	m.rested = power.Window{}
	if m.opt.Idle <= 0 || !pause(ctx, m.opt.Guard) {
		return
	}
	var from int64
	wait := func() bool {
		from = counter.Monotonic()
		return pause(ctx, m.opt.Idle)
	}
	if m.rests.during(ctx, wait) {
		m.rested = power.Window{FromNs: from, ToNs: from + int64(m.opt.Idle)}
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

// after rests after a run, or after several that took turns, and enters the figures of each. A
// warm-up has none, but its load, perhaps the first, shows how the instruments follow. mostDrift is
// the limit of the run's gate for the drift of idle power; nil: it has none.
func (m *PowerMeter) after(ctx context.Context, recs []results.Record, outs []outcome, mostDrift *float64) {
	if m == nil {
		return
	}
	idleBefore := m.rested
	m.rested, m.free = power.Window{}, counter.Monotonic() // there was load
	if recs[0].Warmup {
		idleBefore = m.quiet
	}
	var load []int // the records of runs that had a window
	for i := range recs {
		if outs[i].sut.ToNs != 0 || outs[i].tg.ToNs != 0 {
			load = append(load, i)
		}
	}
	if len(load) == 0 {
		return
	}
	if !recs[0].Warmup {
		m.rest(ctx)
	}
	old := int64(math.MaxInt64) // readings of sources that both share, which no later run needs
	for n, i := range load {
		old = min(old, m.enter(&recs[i], &outs[i], idleBefore, n == len(load)-1, mostDrift))
	}
	if m.common != nil && old != math.MaxInt64 {
		m.common.Forget(old)
	}
}

// enter enters the figures of a run, and returns before when no later run needs readings. last: nor
// does any other of those that took turns.
func (m *PowerMeter) enter(rec *results.Record, out *outcome, idleBefore power.Window, last bool,
	mostDrift *float64) (old int64) {
	old = math.MaxInt64
	for i, res := range []*wire.EndResult{&out.sut, &out.tg} {
		if res.ToNs == 0 {
			continue
		}
		e := &m.ends[i]
		h := rec.Host(e.role)
		at := power.Times{Load: power.Window{FromNs: res.FromNs, ToNs: res.ToNs}.Add(-e.host.OffsetNs),
			IdleBefore: idleBefore, IdleAfter: m.rested,
			GuardNs: int64(m.opt.Guard), SkewNs: e.host.UncertaintyNs, MostDrift: mostDrift}
		if res.Turns != nil {
			for _, w := range res.Turns.PaceAt {
				at.Turns = append(at.Turns, w.Add(-e.host.OffsetNs))
			}
		}
		began := time.Now().UnixNano() - (counter.Monotonic() - at.Load.FromNs) // by the wall clock
		h.Metrics = append(h.Metrics, at.Metrics(began-out.startUTCNs)...)
		if len(e.order) == 0 {
			continue
		}
		if rec.Warmup {
			h = &results.Host{} // it is not kept
		}
		forgetNs := int64(math.MinInt64 / 2)
		if last {
			forgetNs = forget(at)
		}
		warnings, flags, err := e.fill(h, at, forgetNs, m.common)
		areaPower(h)
		judge.Distrust(rec, e.role.Label(), err)
		old = min(old, forgetNs)
		if rec.Warmup {
			continue
		}
		rec.Warnings = append(rec.Warnings, named(e.role.Label(), warnings)...)
		flag(rec, flags...)
	}
	m.markShared(rec)
	markMixed(rec)
	return old
}

// markShared flags a record where one instrument saw both ends.
func (m *PowerMeter) markShared(rec *results.Record) {
	if m.shared && rec.SUT.PowerW != nil && rec.TG.PowerW != nil {
		rec.Flags = append(rec.Flags, results.FlagSharedPower)
		rec.Warnings = append(rec.Warnings,
			fmt.Sprintf("one instrument (%s) sees both ends: each row has the power of both together",
				rec.SUT.PowerSource))
	}
}

// markMixed flags a record where the two ends' power has no sum, and warns why.
func markMixed(rec *results.Record) {
	if rec.MixedScopes() {
		flag(rec, results.FlagMixedScopes)
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("the ends' power differs in scope (SUT %s, TG %s): no total",
			rec.SUT.Instrument(), rec.TG.Instrument()))
	}
}

// forget returns the moment before which no later run needs readings: the rest after this run
// serves as the rest before the next.
func forget(at power.Times) int64 {
	if at.IdleAfter.Zero() {
		return at.Load.ToNs
	}
	return at.IdleAfter.FromNs - at.GuardNs - int64(2*time.Second) // the guard shows how a meter settles
}
