package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/host"
	"github.com/zcbench/zcbench/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/wire"
)

// Settings are what a cell needs set on the hosts: those of the options, and the
// cell's own factors. GRO is the receiver's.
func (r *Runner) Settings(c results.Cell) (sut, tg wire.Settings) {
	sut, tg = settingsOf(r.Opt, c)
	tg.OnlyNamespace = !tg.IsZero() && r.SUT.SameMachine(r.TG)
	return sut, tg
}

func settingsOf(o Options, c results.Cell) (sut, tg wire.Settings) {
	sut, tg = o.SUTSettings, o.TGSettings
	if c.GRO != nil {
		sut.GRO = c.GRO
	}
	if c.HWGRO != nil {
		sut.HWGRO = c.HWGRO
	}
	if c.BigTCPBytes != 0 {
		sut.BigTCPBytes = c.BigTCPBytes
	}
	if c.TGBigTCPBytes != 0 {
		tg.BigTCPBytes = c.TGBigTCPBytes
	}
	for _, x := range []struct {
		s   *wire.Settings
		dev string
	}{{&sut, o.SUTDev}, {&tg, o.TGDev}} {
		if !x.s.IsZero() {
			x.s.Dev = x.dev
		}
	}
	return sut, tg
}

// common is what all runs of a plan need set that are made.
func (s *Session) common(plan []matrix.Run) (sut, tg wire.Settings) {
	first := true
	for _, p := range plan {
		if s.missing(p.Cell) != nil {
			continue
		}
		r := *s.Runner
		if r.ForCell != nil {
			r.Opt = r.ForCell(p.Cell, r.Opt)
		}
		a, b := r.Settings(p.Cell)
		if !first {
			a, b = sut.Common(a), tg.Common(b)
		}
		sut, tg, first = a, b, false
	}
	return sut, tg
}

// applyCommon sets what all runs need, for the whole session: a cell that is
// refused something then costs nothing but that. An error is every run's, which
// meets it again and says so.
func (s *Session) applyCommon(ctx context.Context, plan []matrix.Run) {
	sut, tg := s.common(plan)
	_, _ = s.Runner.set(ctx, sut, tg)
}

// apply sets what a cell needs. A host changes only what it has not set already.
func (r *Runner) apply(ctx context.Context, c results.Cell) (sutErr, tgErr error) {
	sut, tg := r.Settings(c)
	return r.set(ctx, sut, tg)
}

func (r *Runner) set(ctx context.Context, sut, tg wire.Settings) (sutErr, tgErr error) {
	if !r.hasSet && sut.IsZero() && tg.IsZero() {
		return nil, nil
	}
	r.hasSet = true
	// Both ends first change the MTU, then talk.
	if sutErr = r.SUT.Call(ctx, wire.OpSet, sut, nil); sutErr != nil {
		return sutErr, nil
	}
	return nil, r.TG.Call(ctx, wire.OpSet, tg, nil)
}

// restoreTime is how long hosts may take to restore their settings: links may have
// to come back, and queues to lose their memory.
const restoreTime = 2 * time.Minute

// Restore takes back what runs have set on the hosts. Where an agent died, another
// one is started, which finishes its leases.
func (r *Runner) Restore() error {
	ctx, cancel := context.WithTimeout(context.Background(), restoreTime)
	defer cancel()
	var errs []error
	for _, h := range []*host.Host{r.TG, r.SUT} {
		switch {
		case h == nil:
		case h.Err() != nil:
			n, err := h.Again(ctx)
			if err != nil {
				errs = append(errs, &stream.Error{Op: fmt.Sprintf("restore host %s, whose agent died", h.Spec.Name), Err: err, How: "zcbench restore --host " + h.Spec.Name})
				continue
			}
			errs = append(errs, n.Close())
		case r.hasSet:
			if err := h.Call(ctx, wire.OpSet, wire.Settings{}, nil); err != nil {
				errs = append(errs, fmt.Errorf("host %s: %w", h.Spec.Name, err))
			}
		}
	}
	r.hasSet = false
	return errors.Join(errs...)
}
