// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/results"
)

// DemoOptions are the choices of [Demo].
type DemoOptions struct {
	Dir          string // for the results
	ToolVersion  string
	Repetitions  int
	Duration     time.Duration // steady window of each run; 0: what fits, see [DemoTime]
	MTU          int           // of the link that the demo makes
	MessageBytes int
	Seed         uint64
	Only         func(results.Cell) bool // nil: all cells
	UringEngine  string                  // of the modes that use io_uring; "" is the default
	Progress     Progress
	// StartPower begins to measure power; nil: it is not measured.
	StartPower func(*Runner) (*PowerMeter, error)
	Notices    io.Writer // what agents say of leases that they finished; nil: nowhere

	// Base has the factors of every cell beside its modes; the settings are set on
	// the hosts for the whole demo. Place, unless nil, changes the CPUs that were
	// chosen for its layout.
	Base                    results.Cell
	Place                   func(o *Options, sut, tg *host.Host) error
	SUTSettings, TGSettings wire.Settings

	// SUT and TG are hosts with a link between them, and Dev the SUT's
	// interface where it has several. Both empty: the demo makes two hosts out
	// of network namespaces.
	SUT, TG, Dev string
}

// Demo runs every receive mode against every send mode that two hosts can run.
// It returns the records.
func Demo(ctx context.Context, o DemoOptions) (recs []results.Record, err error) {
	if err := results.Vacant(o.Dir); err != nil {
		return nil, err
	}
	session := NewSession()
	hosts, err := openHosts(ctx, o.SUT, o.TG, o.MTU, host.Options{ToolVersion: o.ToolVersion, Notices: o.Notices, Session: session})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hosts.Close()) }()
	return demoRuns(ctx, o, session, hosts.SUT, hosts.TG)
}

func demoRuns(ctx context.Context, o DemoOptions, session string, sut, tg *host.Host) ([]results.Record, error) {
	opt := Options{SampleInterval: 100 * time.Millisecond, UringEngine: o.UringEngine}
	if err := opt.FindPath(ctx, sut, tg, "", o.Dev, "", false); err != nil {
		return nil, err
	}
	if err := opt.PlaceCPUs(ctx, sut, tg); err != nil {
		return nil, err
	}
	if o.Place != nil {
		if err := o.Place(&opt, sut, tg); err != nil {
			return nil, err
		}
	}
	opt.SUTSettings, opt.TGSettings = o.SUTSettings, o.TGSettings
	if m := opt.SUTSettings.MTU; m != 0 {
		opt.MTU = m
	}
	support, err := AskSupport(ctx, sut, tg, opt.SUTDev, opt.TGDev)
	if err != nil {
		return nil, err
	}
	base := o.Base
	base.MTU, base.MessageBytes, base.Touch, base.Congestion = opt.MTU, o.MessageBytes, "none", "cubic"
	var cells []results.Cell
	for _, c := range support.Cells(base) {
		if o.Only == nil || o.Only(c) {
			cells = append(cells, c)
		}
	}
	plan := planOnce(matrix.Interleave(cells, o.Repetitions, true, o.Seed), support.Missing)
	opt.demoTimes(o.Duration, plan, support.Missing)
	runner := &Runner{SUT: sut, TG: tg, Session: session, Opt: opt}
	if o.StartPower != nil {
		if runner.Power, err = o.StartPower(runner); err != nil {
			return nil, err
		}
		defer runner.Power.Close()
	}
	journal, err := results.Create(o.Dir, results.Header{ToolVersion: o.ToolVersion, SessionID: session, Cells: cells, Seed: &o.Seed})
	if err != nil {
		return nil, err
	}
	s := &Session{Runner: runner, Journal: journal, Progress: o.Progress, Missing: support.Missing}
	recs, err := s.Play(ctx, plan)
	return recs, errors.Join(err, journal.Close())
}

// A demo that may choose its windows takes no longer than DemoTime on a machine
// that is not slow, as long as no window falls below minDemoWindow.
const (
	DemoTime      = 130 * time.Second
	maxDemoWindow = 800 * time.Millisecond
	minDemoWindow = 250 * time.Millisecond
	// demoOverhead is what a run takes beside its window: opening, ramps, closing.
	demoOverhead = 450 * time.Millisecond
)

// demoTimes sets the windows of a demo; window 0 lets the number of runs decide.
func (o *Options) demoTimes(window time.Duration, plan []matrix.Run, missing func(results.Cell) *Missing) {
	if window == 0 {
		runs := time.Duration(0)
		for _, p := range plan {
			if missing(p.Cell) == nil {
				runs++
			}
		}
		window = min(max(DemoTime/max(runs, 1)-demoOverhead, minDemoWindow), maxDemoWindow).Round(10 * time.Millisecond)
	}
	o.Duration, o.WarmupDuration = window, min(window, max(300*time.Millisecond, window/3))
	o.RampUp, o.RampDown = max(200*time.Millisecond, window/4), 50*time.Millisecond
}

// planOnce keeps a cell that cannot run once in the plan, as no warm-up: it is
// recorded, not repeated.
func planOnce(plan []matrix.Run, missing func(results.Cell) *Missing) []matrix.Run {
	var out []matrix.Run
	for _, p := range plan {
		switch {
		case missing(p.Cell) == nil:
			out = append(out, p)
		case p.Rep == 0 && !p.Warmup:
			out = append(out, p)
		}
	}
	return out
}

// NewSession names a session after the time, to the millisecond, in UTC.
func NewSession() string {
	now := time.Now().UTC()
	return fmt.Sprintf("%s%03d", now.Format("20060102-150405"), now.Nanosecond()/1e6)
}
