// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/tune"
	"github.com/zcbench/zcbench/plan/matrix"
)

// Settings returns what a cell needs set on the hosts: the settings of the options, and the cell's
// own factors. GRO is the receiver's.
func (r *Runner) Settings(c plan.Cell) (sut, tg plan.Settings) {
	sut, tg = settingsOf(r.Opt, c)
	tg.OnlyNamespace = !tg.IsZero() && r.SUT.SameMachine(r.TG)
	if r.loopback() && r.Opt.Turn > 0 { // one namespace, whose sysctl one end sets
		tg.Values = slices.DeleteFunc(slices.Clone(tg.Values), func(x plan.Setting) bool { return x == goesOn })
	}
	return sut, tg
}

// goesOn lets TCP go on after others' turns where it was.
var goesOn = plan.Setting{Name: "sysctl " + wire.TurnsNeed, Value: "0"}

// MayTakeTurns reports whether this process may set on its own host what cells in turns need.
func MayTakeTurns() bool { return tune.MaySetSysctl(wire.TurnsNeed) }

// blocksAfterAll lets runs follow one another where turns were chosen, and a host turns out not to
// allow them.
func (e *Experiment) blocksAfterAll(sut, tg *host.Host) {
	if !e.OrderChosen || e.Spec.TurnLength() == 0 {
		return
	}
	if strings.Contains(e.Spec.SUT.Dev+e.Spec.TG.Dev, ",") {
		e.Spec.InBlocks()
		e.OrderLine = "order: blocks, because the counters of one interface are read in turns, and an end has several"
		e.note(e.OrderLine)
		return
	}
	for _, h := range []*host.Host{sut, tg} {
		if h.Info.NoTurns {
			e.Spec.InBlocks()
			e.OrderLine = fmt.Sprintf("order: blocks, because %s=0 takes root (CAP_NET_ADMIN), which the agent on %s "+
				"has not", wire.TurnsNeed, h.Spec.Name)
			e.note(e.OrderLine)
			return
		}
	}
}

func settingsOf(o Options, c plan.Cell) (sut, tg plan.Settings) {
	of := func(role stream.Role, s matrix.Settings, dev string, upper *Upper) plan.Settings {
		if dev == "" && c.MTU == o.MTU {
			c.MTU = 0 // loopback has it, and takes no other
		}
		w := s.Of(role, c)
		if o.Turn > 0 && !slices.ContainsFunc(w.Values, func(x plan.Setting) bool { return x.Name == goesOn.Name }) {
			w.Values = append(slices.Clip(w.Values), goesOn)
		}
		if role == stream.RX && o.container != nil {
			w.Values = append(slices.Clip(w.Values), o.container.setting())
			w.Inside = o.container.netns
		}
		if !w.IsZero() {
			w.Dev, w.Upper = dev, upper.name()
			for _, l := range o.lanes {
				x := plan.Link{Dev: l.devs[index(role)], Upper: l.uppers[index(role)].name()}
				if x != (plan.Link{Dev: w.Dev, Upper: w.Upper}) && !slices.Contains(w.More, x) {
					w.More = append(w.More, x)
				}
			}
		}
		return w
	}
	return of(stream.RX, o.SUTSettings, o.SUTDev, o.SUTUpper), of(stream.TX, o.TGSettings, o.TGDev, o.TGUpper)
}

// common returns the settings that all runs of a plan need, of those that are made.
func (s *Session) common(plan []matrix.Run) (sut, tg plan.Settings) {
	first := true
	for _, p := range plan {
		if s.missing(p.Cell) != nil {
			continue
		}
		r := *s.Runner
		r.Opt = r.optionsOf(p.Cell)
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
func (r *Runner) apply(ctx context.Context, c plan.Cell) (sutErr, tgErr error) {
	sut, tg := r.Settings(c)
	return r.set(ctx, sut, tg)
}

func (r *Runner) set(ctx context.Context, sut, tg plan.Settings) (sutErr, tgErr error) {
	if !r.now.some && sut.IsZero() && tg.IsZero() {
		return nil, nil
	}
	r.now.some = true
	want := inForce{sut: sut, tg: tg, some: true}
	if r.now.unsure || !r.now.same(want) {
		r.forgetRest()
	}
	r.now.unsure = true // until both have it
	// Both ends first change the MTU, then talk.
	if sutErr = r.SUT.Call(ctx, wire.OpSet, sut, nil); sutErr != nil {
		return sutErr, nil
	}
	if tgErr = r.TG.Call(ctx, wire.OpSet, tg, nil); tgErr != nil {
		return nil, tgErr
	}
	r.now = want
	return nil, nil
}

// inForce are the settings that the hosts have.
type inForce struct {
	sut, tg plan.Settings
	some    bool // any may be set at all
	unsure  bool // some could not be set, or an agent was lost with them
}

func (a inForce) same(b inForce) bool { return a.sut.Equal(b.sut) && a.tg.Equal(b.tg) }

// restoreTime is how long hosts may take to restore their settings: links may have
// to come back, and queues to lose their memory.
const restoreTime = 2 * time.Minute

// slowRestore is how long people wait without a word.
var slowRestore = 3 * time.Second

// Restore takes back what runs have set on the hosts, on both at once. Where an
// agent was lost, another one is started, which finishes its leases; the host's
// owner closes it like the first.
func (r *Runner) Restore() error {
	ctx, cancel := context.WithTimeout(context.Background(), restoreTime)
	defer cancel()
	hosts := []*host.Host{r.TG, r.SUT}
	errs := make([]error, len(hosts))
	var both sync.WaitGroup
	for i, h := range hosts {
		if h != nil {
			both.Go(func() { errs[i] = restoreHost(ctx, h, r.now.some) })
		}
	}
	both.Wait()
	if r.now.some {
		r.forgetRest()
	}
	r.now = inForce{}
	return errors.Join(errs...)
}

// restoreHost takes back what runs have set on a host, where something may be.
func restoreHost(ctx context.Context, h *host.Host, some bool) error {
	defer time.AfterFunc(slowRestore, func() {
		h.Notice("still restoring settings there, for up to %v; another Ctrl-C stops waiting, then run: zcbench "+
			"restore --host %s", restoreTime, host.Shell(h.Spec.Name))
	}).Stop()
	if h.Err() != nil {
		if err := h.Revive(ctx); err != nil {
			return &fault.Error{Op: fmt.Sprintf("restore host %s after losing its agent", h.Spec.Name), Err: err,
				How: "zcbench restore --host " + host.Shell(h.Spec.Name)}
		}
		return nil
	}
	if !some {
		return nil
	}
	if err := h.Call(ctx, wire.OpSet, plan.Settings{}, nil); err != nil {
		if h.Err() != nil {
			return err // it says which host
		}
		return fmt.Errorf("host %s: %w", h.Spec.Name, err)
	}
	return nil
}
