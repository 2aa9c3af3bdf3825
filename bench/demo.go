package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zcbench/zcbench/host"
	"github.com/zcbench/zcbench/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/veth"
	"github.com/zcbench/zcbench/wire"
)

// DemoOptions are the choices of [Demo].
type DemoOptions struct {
	Dir          string // for the results
	ToolVersion  string
	Repetitions  int
	Duration     time.Duration
	MTU          int // of the link that the demo makes
	MessageBytes int
	Seed         uint64
	Only         func(results.Cell) bool // nil: all cells
	Progress     Progress
	Notices      io.Writer // what agents say of leases that they finished; nil: nowhere

	// Base has the factors of every cell beside its modes; the settings are set on
	// the hosts for the whole demo.
	Base                    results.Cell
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
	names := [2]string{}
	if o.SUT == "" && o.TG == "" {
		pair, err := veth.New(veth.Options{MTU: o.MTU})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, pair.Close()) }()
		o.SUT, o.TG = "netns:"+pair.SUT.Netns.Path(), "netns:"+pair.TG.Netns.Path()
		names = [2]string{"sut", "tg"}
	}
	sut, err := host.Dial(ctx, o.SUT, host.Options{ToolVersion: o.ToolVersion, Name: names[0], Notices: o.Notices})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sut.Close()) }()
	tg, err := host.Dial(ctx, o.TG, host.Options{ToolVersion: o.ToolVersion, Name: names[1], Notices: o.Notices})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tg.Close()) }()
	return demoRuns(ctx, o, sut, tg)
}

func demoRuns(ctx context.Context, o DemoOptions, sut, tg *host.Host) ([]results.Record, error) {
	opt := Options{Duration: o.Duration, WarmupDuration: min(o.Duration, max(300*time.Millisecond, o.Duration/3)),
		RampUp: max(200*time.Millisecond, o.Duration/4), RampDown: 50 * time.Millisecond, SampleInterval: 100 * time.Millisecond}
	if err := opt.FindPath(ctx, sut, tg, "", o.Dev, "", false); err != nil {
		return nil, err
	}
	opt.SUTCPU, opt.TGCPU = DefaultCPUs(sut, tg)
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
	session := NewSession()
	journal, err := results.Create(o.Dir, results.Header{ToolVersion: o.ToolVersion, SessionID: session, Cells: cells})
	if err != nil {
		return nil, err
	}
	s := &Session{Runner: &Runner{SUT: sut, TG: tg, Session: session, Opt: opt}, Journal: journal, Progress: o.Progress, Missing: support.Missing}
	recs, err := s.Play(ctx, planOnce(matrix.Interleave(cells, o.Repetitions, true, o.Seed), support.Missing))
	return recs, errors.Join(err, journal.Close())
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

// DefaultCPUs chooses the CPUs of the data-path threads: on one machine two
// different ones, as far apart as they are numbered; on two machines the last
// of each, which is least likely to serve interrupts.
func DefaultCPUs(sut, tg *host.Host) (sutCPU, tgCPU int) {
	last := func(h *host.Host) int { return h.Info.OnlineCPUs[len(h.Info.OnlineCPUs)-1] }
	if sut.SameMachine(tg) {
		return last(sut), tg.Info.OnlineCPUs[0]
	}
	return last(sut), last(tg)
}

// NewSession names a session after the time, to the millisecond, in UTC.
func NewSession() string {
	now := time.Now().UTC()
	return fmt.Sprintf("%s%03d", now.Format("20060102-150405"), now.Nanosecond()/1e6)
}
