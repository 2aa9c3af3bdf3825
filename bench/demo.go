package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/host"
	"github.com/zcbench/zcbench/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/veth"
)

// DemoOptions are the choices of [Demo]; all must be set.
type DemoOptions struct {
	Dir          string // for the results
	ToolVersion  string
	Repetitions  int
	Duration     time.Duration
	MTU          int
	MessageBytes int
	Seed         uint64
	Only         func(results.Cell) bool // nil: all cells
	Progress     Progress
}

// Demo makes two hosts out of network namespaces and runs every receive mode
// against every send mode that this kernel can run. It returns the records.
func Demo(ctx context.Context, o DemoOptions) (recs []results.Record, err error) {
	pair, err := veth.New(veth.Options{MTU: o.MTU})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	sut, err := host.Dial(ctx, "netns:"+pair.SUT.Netns.Path(), host.Options{ToolVersion: o.ToolVersion, Name: "sut"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sut.Close()) }()
	tg, err := host.Dial(ctx, "netns:"+pair.TG.Netns.Path(), host.Options{ToolVersion: o.ToolVersion, Name: "tg"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tg.Close()) }()
	support, err := AskSupport(ctx, sut, tg, pair.SUT.Dev, pair.TG.Dev)
	if err != nil {
		return nil, err
	}
	return demoRuns(ctx, o, pair, sut, tg, support)
}

func demoRuns(ctx context.Context, o DemoOptions, pair *veth.Pair, sut, tg *host.Host, support Support) ([]results.Record, error) {
	var cells []results.Cell
	for _, c := range support.Cells(results.Cell{MTU: o.MTU, MessageBytes: o.MessageBytes, Touch: "none", Congestion: "cubic"}) {
		if o.Only == nil || o.Only(c) {
			cells = append(cells, c)
		}
	}
	session := NewSession()
	journal, err := results.Create(o.Dir, results.Header{ToolVersion: o.ToolVersion, SessionID: session, Cells: cells})
	if err != nil {
		return nil, err
	}
	sutCPU, tgCPU := DefaultCPUs(sut, tg)
	runner := &Runner{SUT: sut, TG: tg, Session: session, Opt: Options{Duration: o.Duration, WarmupDuration: min(o.Duration, 300*time.Millisecond),
		RampUp: 200 * time.Millisecond, RampDown: 50 * time.Millisecond, Addr: pair.SUT.IPv4.String(),
		MTU: o.MTU, SUTDev: pair.SUT.Dev, TGDev: pair.TG.Dev, SUTCPU: sutCPU, TGCPU: tgCPU, SampleInterval: 100 * time.Millisecond}}
	s := &Session{Runner: runner, Journal: journal, Progress: o.Progress, Missing: support.Missing}
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
