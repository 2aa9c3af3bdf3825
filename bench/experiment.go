// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Experiment plays an experiment file.
type Experiment struct {
	Spec        *matrix.Spec
	Dir         string // for the results; "": no journal is kept
	Below       string // a folder of Dir that has the journal, and is no link; "": Dir itself
	ToolVersion string
	Progress    Progress
	Policy
	OrderLine string // says which order the plan has, and why, for DryRun; "": nobody chose
	// OrderChosen: turns were chosen, and asked for by nobody; where a host cannot have them, runs
	// follow one another.
	OrderChosen bool

	// StartPower begins to measure power; nil: it is not measured.
	StartPower func(*Runner) (*PowerMeter, error)
	Power      PowerOptions // of StartPower, for DryRun's estimate and the journal's header

	Note    func(format string, args ...any)
	Notices io.Writer // what agents say of leases that they finished; nil: nowhere

	// Kept is the folder Dir in which the journal was written, still open, for [DeriveIn]; nil: Run
	// did not come so far.
	Kept *results.Folder
}

// Run plays the experiment and returns the records of this session. When ctx ends
// the run under way is finished first. Each replay has hosts of its own: agents, ports, memory,
// and the link, where that is ours.
func (e *Experiment) Run(ctx context.Context) (recs []results.Record, err error) {
	if err := e.mayBegin(); err != nil {
		return nil, err
	}
	p, err := e.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := e.checkPlan(p); err != nil {
		return nil, err
	}
	plan := e.plan(p.stage)
	if err := e.start(p); err != nil {
		return nil, err
	}
	s := e.session(p, plan)
	first := calibration(e.Spec, remembered(p.missing))
	s.rates.want(first)
	if plan, err = e.openJournal(s, p, plan); err != nil {
		return nil, err
	}
	if s.Journal != nil {
		defer func() { err = errors.Join(err, e.leave(s.Journal)) }()
	}
	for i, part := range replays(plan) {
		if i == 0 {
			part = calibratedFirst(s.rates.left(first, plan), part)
		} else if err := e.anew(ctx, p); err != nil {
			return recs, err
		}
		made, err := e.replay(ctx, s, p, part)
		if recs = append(recs, made...); err != nil {
			return recs, err
		}
	}
	return recs, nil
}

// mayBegin refuses a file that nobody has read, and a folder that has results, before anything is
// asked of the hosts.
func (e *Experiment) mayBegin() error {
	if err := e.Spec.Untrusted(); err != nil && !e.TrustFile {
		return &inputError{err}
	}
	if err := e.turnsFit(); err != nil {
		return &inputError{err}
	}
	if _, err := containerOf(e.Spec); err != nil {
		return err
	}
	return e.vacant()
}

// turnsFit refuses turns that are too short for what is measured in them.
func (e *Experiment) turnsFit() error {
	usual := e.Spec.TurnLength()
	if usual == 0 {
		return nil
	}
	for i := range e.Spec.Cells {
		if err := e.Power.InTurns(e.Spec.Cells[i].TurnLength(usual)); err != nil {
			return err
		}
	}
	return nil
}

// vacant refuses a folder that has results, where a new journal is to be begun.
func (e *Experiment) vacant() error {
	if e.Dir == "" || e.Begin != fresh {
		return nil
	}
	if err := results.VacantBelow(e.Dir, e.Below); err != nil {
		return &FolderError{err}
	}
	return nil
}

// prepared is a session that may begin.
type prepared struct {
	*stage    // nil: it was given back
	name      string
	snapshots *hostSnapshots
	head      results.Header
	runner    *Runner // nil until it is started
}

// prepare reaches the hosts for a new session, and looks what they are like.
func (e *Experiment) prepare(ctx context.Context) (_ *prepared, err error) {
	p := &prepared{name: newSession()}
	if p.stage, err = e.open(ctx, p.name, false); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := p.stage.checkCPUs(); err != nil {
		return nil, err
	}
	if p.snapshots, err = p.stage.survey(ctx); err != nil {
		return nil, err
	}
	if e.Dir != "" || e.Before != nil { // else nobody reads it
		p.head, err = e.header(ctx, p.stage, p.snapshots, p.name)
	}
	return p, err
}

// stage is an experiment on its hosts, ready to run.
type stage struct {
	*hosts
	opt     Options
	support support
	spec    *matrix.Spec
	asking  time.Duration // how long it took to ask the hosts what they can, when their agents were there
}

// open reaches the hosts for a session; keep leaves what dead processes have set
// there.
func (e *Experiment) open(ctx context.Context, session string, keep bool) (_ *stage, err error) {
	s := e.Spec
	in, err := containerOf(s)
	if err != nil {
		return nil, err
	}
	sut := s.SUT.Host
	if in != nil {
		if err := in.look(); err != nil {
			return nil, err
		}
		sut = in.agentHost()
	}
	h, err := openHosts(ctx, sut, s.TG.Host, linkMTU(s.Cells), host.Options{ToolVersion: e.ToolVersion,
		Notices: e.Notices, KeepLeases: keep, Session: session,
		SharedWithSSH: s.SharedWithSSH})
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	e.blocksAfterAll(h.SUT, h.TG)
	st := &stage{hosts: h, spec: s, opt: options(s)}
	if st.opt.container = in; in != nil {
		h.SUT.Spec.Name = s.SUT.Host
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := st.checkPaths(ctx); err != nil {
		return nil, err
	}
	if err := e.Before.leaveInterrupts(s, h.SUT, h.TG, e.note); err != nil {
		return nil, err
	}
	if err := st.opt.FindPath(ctx, h.SUT, h.TG, s.SUT.Addr, s.SUT.Dev, s.TG.Dev, s.IPv6); err != nil {
		return nil, err
	}
	if err := st.checkTGAddr(ctx, e.TGAddr); err != nil {
		return nil, err
	}
	if err := st.opt.PlaceCPUs(ctx, h.SUT, h.TG); err != nil {
		return nil, err
	}
	e.noteNotKernels(h.SUT, h.TG)
	st.opt.nameCPUs(s.SUT.ThreadCPUs(), s.TG.ThreadCPUs())
	st.opt.NoteMTU = e.NoteMTU
	tries := st.opt.devs(stream.RX) // the interfaces on which the receive modes are tried
	if in != nil {
		tries = []string{""} // of the NIC itself, a leased queue can do nothing
	}
	if st.support, err = askSupport(ctx, h.SUT, h.TG, tries, st.opt.devs(stream.TX), s.Cells); err != nil {
		return nil, err
	}
	for _, line := range st.support.doubts(h.SUT.Spec.Name, h.TG.Spec.Name) {
		e.note(line)
	}
	e.shape(st)
	st.asking = time.Since(begun)
	return st, nil
}

// checkPlan notes what the plan can show on these hosts, and refuses one that can show nothing
// where verdicts are required.
func (e *Experiment) checkPlan(p *prepared) error {
	if err := e.sayBefore(p); err != nil {
		return err
	}
	preview{spec: e.Spec, missing: remembered(p.missing), stage: p.stage,
		found: p.stage.opt.found}.foretellResets(e.foretold)
	p.foretellShared(p.missing, e.foretold)
	if err := e.foretell(e.uncompared(p.stage), e.foretold); err != nil {
		return err
	}
	e.foretellFew(p.stage, e.uncompared(p.stage), e.foretold)
	e.foretellStarts(p.stage, remembered(p.missing), e.foretold)
	return nil
}

// plan lists the runs to make, in their order.
func (e *Experiment) plan(st *stage) []matrix.Run {
	all := e.Spec.Runs()
	if e.Order != nil {
		e.Order(all, e.Spec.Cells)
	}
	return planTried(planOnce(all, st.missing), e.triedOnce(st))
}

// start makes the session's runner, and begins to measure power.
func (e *Experiment) start(p *prepared) (err error) {
	p.runner = &Runner{SUT: p.SUT, TG: p.TG, Session: p.name, Opt: p.opt, ForCell: p.forCell, env: p.snapshots}
	if e.StartPower != nil {
		p.runner.Power, err = e.StartPower(p.runner)
	}
	return err
}

// session makes what plays the plan.
func (e *Experiment) session(p *prepared, plan []matrix.Run) *Session {
	if line := p.runner.Power.unusedRest(e.Spec.Rest); line != "" {
		e.note(line)
	}
	s := &Session{Runner: p.runner, Missing: p.missing, Progress: e.Progress, Gates: e.Spec.Gates,
		AbortOnCancel: e.AbortOnCancel, Until: e.Until, LossFree: e.Spec.Search(), rates: ratesOf(e.Spec, &p.opt)}
	s.StartsAnew, _ = e.startsAnew(p.stage, s.Missing)
	s.Renewal, s.Asking = renewal(p.SUT, p.TG), p.asking
	s.Again = e.again(s, plan)
	if e.Spec.Adaptive != nil {
		s.Enough = newAdaptive(*e.Spec.Adaptive)
	}
	return s
}

// openJournal opens the journal of a session, where one is kept, and returns what of the plan is
// still to be run.
func (e *Experiment) openJournal(s *Session, p *prepared, plan []matrix.Run) (left []matrix.Run, err error) {
	if e.Begin != fresh {
		return e.resume(s, p, plan)
	}
	if e.Dir == "" {
		return plan, nil
	}
	if s.Journal, err = results.CreateBelow(e.Dir, e.Below, p.head); err != nil {
		return nil, &FolderError{err}
	}
	return plan, nil
}

// replays parts a plan by its replays, in their order.
func replays(plan []matrix.Run) (parts [][]matrix.Run) {
	for from := 0; from < len(plan); {
		to := from
		for to < len(plan) && plan[to].Replay == plan[from].Replay {
			to++
		}
		parts = append(parts, plan[from:to])
		from = to
	}
	if parts == nil {
		parts = [][]matrix.Run{nil} // nothing is left: the session says so
	}
	return parts
}

// replay plays the runs of one replay.
func (e *Experiment) replay(ctx context.Context, s *Session, p *prepared, part []matrix.Run) ([]results.Record,
	error) {
	if err := p.snapshots.keep(s.Journal); err != nil {
		return nil, err
	}
	if n := e.Spec.Replays(); n > 1 && len(part) > 0 {
		// a calibration's runs before it are of none
		e.note(fmt.Sprintf("replay %d of %d", part[len(part)-1].Replay+1, n))
	}
	s.Runner, s.Missing = p.runner, p.missing
	return s.Play(ctx, part)
}

// anew gives the hosts back and reaches them again, for the next replay.
func (e *Experiment) anew(ctx context.Context, p *prepared) error {
	if err := p.close(); err != nil {
		return err
	}
	next, err := e.prepare(ctx)
	if err == nil {
		*p = *next
		err = e.start(p)
	}
	if err != nil {
		return fmt.Errorf("start the next replay: %w", err)
	}
	return nil
}

// leave closes a journal and keeps its folder.
func (e *Experiment) leave(w *results.Writer) error {
	e.Kept = w.Folder()
	return w.Leave()
}

// close ends what was begun, the hosts' agents last.
func (p *prepared) close() error {
	if p.runner != nil && p.runner.Power != nil {
		p.runner.Power.Close()
	}
	st := p.stage
	if p.runner, p.stage = nil, nil; st == nil {
		return nil
	}
	return st.Close()
}

// FolderError is a folder that does not take results.
type FolderError struct{ Err error }

func (e *FolderError) Error() string { return e.Err.Error() }
func (e *FolderError) Unwrap() error { return e.Err }

// note passes one line to the user.
func (e *Experiment) note(line string) {
	if e.Note != nil {
		e.Note("%s", line)
	}
}

// warns begins what is wrong with what the runs can show.
const warns = "warning: "

// prepared reports whether a cell takes another queue than the attempt of its modes did, or sets
// what they may have lacked: what it meets itself counts.
func (st *stage) prepared(c plan.Cell) bool {
	c = c.Over(st.spec.SUT.Settings.Host).Over(st.spec.TG.Settings.Host)
	return c.Queue != nil || c.Channels != 0 || c.Set != ""
}

// missing explains why a cell cannot run on these hosts: a mode lacks something, or the cell asks
// for what they do not have.
func (st *stage) missing(c plan.Cell) *Missing {
	r := Runner{SUT: st.SUT, TG: st.TG, Opt: st.forCell(c, st.opt)}
	sut, tg := r.Settings(c)
	return plan.CannotRun(&c, &plan.Hosts{SUT: sut, TG: tg, OneMachine: st.SUT.SameMachine(st.TG),
		Loopback: st.opt.SUTDev == "", MTU: st.opt.MTU,
		Ports: func() *Missing { return cmp.Or(r.Opt.unlike(c), r.Opt.portless(c, sut, tg)) },
		Features: func() *Missing {
			if st.prepared(c) {
				return nil
			}
			return st.support.Missing(c)
		},
		Placement: func() *Missing { return r.crammed(c) }})
}
