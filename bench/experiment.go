// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Experiment plays an experiment file.
type Experiment struct {
	Spec        *matrix.Spec
	Dir         string // for the results; "": no journal is kept
	ToolVersion string
	Progress    Progress

	// StartPower begins to measure power; nil: it is not measured.
	StartPower func(*Runner) (*PowerMeter, error)
	Power      PowerOptions // of StartPower, for DryRun's estimate and the journal's header

	// TrustFile is the user's word that they have read the file. Without it a file
	// whose hosts or power sources lead to a program, an address or a path is not run.
	TrustFile bool

	// RequireVerdict refuses a plan whose comparisons no data could give a verdict.
	RequireVerdict bool

	AbortOnCancel bool // the end of the context calls the run under way off, instead of waiting for it
	// windows are so short that the whole fits into [DemoTime], as far as the plan does not say;
	// no more than a quarter of its runs is made again
	Fit  bool
	Fold bool // a mode that cannot run is one cell, and not one with each mode of the other end
	// so is a mode that cannot but copy on this path, and it is run once, unless Gates let copied
	// payload count
	FoldCopied bool
	SayFolded  bool // which cells that left out is said: the user named their modes
	NoteMTU    bool // the records have the path's MTU, where their cells say nothing of it

	Resume bool // go on where the journal in Dir ends
	Force  bool // also where plan, program or hosts are not those of the journal
	Note   func(format string, args ...any)

	// Before is the results folder of the experiment that this one makes again: in what it
	// differs is noted. "": of none.
	Before string
	// InterruptsLeft tells that interrupts of Before's plan are not moved: their numbers are of
	// another boot.
	InterruptsLeft bool

	// Until is when all has to be over but for the restoring: no run begins that would not be, and
	// the end is [ErrTime]; a search under way is given up, which its run says. Zero: whenever.
	Until time.Time
	// InOrder plays the cells in their order, as often as they are repeated, and not in one that
	// chance has made.
	InOrder bool
	// TGAddr is an address that the TG must have on the interface by which it reaches the SUT; "":
	// any.
	TGAddr string

	Notices io.Writer // what agents say of leases that they finished; nil: nowhere

	// Kept is the folder Dir in which the journal was written, still open, for [DeriveIn]; nil: Run
	// did not come so far.
	Kept *results.Folder
}

// leave closes a journal and keeps its folder.
func (e *Experiment) leave(w *results.Writer) error {
	e.Kept = w.Folder()
	return w.Leave()
}

// FolderError is a folder that does not take results.
type FolderError struct{ Err error }

func (e *FolderError) Error() string { return e.Err.Error() }
func (e *FolderError) Unwrap() error { return e.Err }

// stage is an experiment on its hosts, ready to run.
type stage struct {
	*hosts
	opt     Options
	support Support
	spec    *matrix.Spec
}

// open reaches the hosts for a session; keep leaves what dead processes have set
// there.
func (e *Experiment) open(ctx context.Context, session string, keep bool) (_ *stage, err error) {
	s := e.Spec
	h, err := openHosts(ctx, s.SUT.Host, s.TG.Host, e.linkMTU(), host.Options{ToolVersion: e.ToolVersion,
		Notices: e.Notices, KeepLeases: keep, Session: session,
		SharedWithSSH: s.SharedWithSSH})
	if err != nil {
		return nil, err
	}
	st := &stage{hosts: h, spec: s, opt: options(s)}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := st.checkPaths(ctx); err != nil {
		return nil, err
	}
	if err := e.leaveInterrupts(h.SUT, h.TG); err != nil {
		return nil, err
	}
	if err := st.opt.FindPath(ctx, h.SUT, h.TG, s.SUT.Addr, s.SUT.Dev, s.TG.Dev, s.IPv6); err != nil {
		return nil, err
	}
	if err := e.checkTGAddr(ctx, st); err != nil {
		return nil, err
	}
	if err := st.opt.PlaceCPUs(ctx, h.SUT, h.TG); err != nil {
		return nil, err
	}
	e.noteNotKernels(h.SUT, h.TG)
	st.opt.nameCPUs(s.SUT.ThreadCPUs(), s.TG.ThreadCPUs())
	st.opt.NoteMTU = e.NoteMTU
	if st.support, err = AskSupport(ctx, h.SUT, h.TG, st.opt.SUTDev, st.opt.TGDev, s.Cells); err != nil {
		return nil, err
	}
	for _, line := range st.support.doubts(h.SUT.Spec.Name, h.TG.Spec.Name) {
		e.note(line)
	}
	if e.Fold {
		s.Cells = st.support.fold(s.Cells, st.prepared)
	}
	if e.foldsCopied(st) {
		all := s.Cells
		s.Cells = foldCopied(all)
		if line := leftOut(all, s.Cells); line != "" && e.SayFolded {
			e.note(line)
		}
	}
	if e.Fit {
		st.opt.fit(s.Duration, e.plan(st), st.missing)
	}
	return st, nil
}

// noteNotKernels warns before the first run of files of the hosts that are a container's, and of
// what follows.
func (e *Experiment) noteNotKernels(ends ...*host.Host) {
	for i, h := range ends {
		// Docker hides /proc/interrupts always: who needs it, to place them, hears of it then.
		files := slices.DeleteFunc(slices.Clone(h.Info.NotKernels), func(f string) bool {
			return f == "/proc/interrupts"
		})
		lost := doctor.WithoutKernels(files)
		if lost == "" || i > 0 && h.SameMachine(ends[0]) && slices.Equal(files, ends[0].Info.NotKernels) {
			continue
		}
		e.note(fmt.Sprintf("%s%s: %s: %s are not the kernel's, but a container's: measure on the host", warns,
			h.Spec.Name,
			lost, strings.Join(files, ", ")))
	}
}

// checkCPUs refuses CPUs of the file that a host does not have.
func (st *stage) checkCPUs() error {
	for i, x := range []struct {
		name string
		end  matrix.End
		h    *host.Host
	}{{"sut", st.spec.SUT, st.SUT}, {"tg", st.spec.TG, st.TG}} {
		check := func(what string, cpu int) error {
			if cpu == -1 || slices.Contains(x.h.Info.OnlineCPUs, cpu) || onlineUnsure(x.h.Info) {
				return nil
			}
			return inputErrorf("%s: CPU %d is not online on %s; online are %s", st.spec.Called(x.name+"."+what), cpu,
				x.h.Spec.Name, counter.FormatCPUList(x.h.Info.OnlineCPUs))
		}
		// A thread can be bound to a CPU of the agent's cpuset; interrupts go to any.
		pinned := func(what string, cpu int) error {
			err := check(what, cpu)
			if pin := x.h.Info.PinCPUs; err == nil && cpu != -1 && len(pin) > 0 && !slices.Contains(pin, cpu) {
				err = inputErrorf("%s: no thread can be bound to CPU %d on %s: the cpuset of its cgroup allows "+
					"CPUs %s (cpuset.cpus.effective below /sys/fs/cgroup): name one of these, or run outside of it",
					st.spec.Called(x.name+"."+what), cpu, x.h.Spec.Name, counter.FormatCPUList(pin))
			}
			return err
		}
		for _, c := range x.end.ThreadCPUs() {
			if err := pinned("cpu", c); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(x.end.Layouts)) {
			l := x.end.Layouts[name]
			if err := cmp.Or(pinned("layouts."+name+".app", l.App), check("layouts."+name+".irq", l.IRQ)); err != nil {
				return err
			}
		}
		if err := st.checkTopology(x.name, x.end, x.h, st.opt.near[i]); err != nil {
			return err
		}
	}
	return st.checkApart()
}

// onlineUnsure reports whether a container's list stands in place of the list of online CPUs: there
// may be others than its agent knows.
func onlineUnsure(h wire.HelloResult) bool {
	return slices.Contains(h.NotKernels, "/sys/devices/system/cpu/online")
}

// linkMTU chooses the MTU of a link of our own: what all cells ask for, if they agree.
func (e *Experiment) linkMTU() int {
	mtu := e.Spec.Cells[0].MTU
	for _, c := range e.Spec.Cells {
		if c.MTU != mtu {
			return veth.DefaultMTU
		}
	}
	if mtu < 1280 { // IPv6 takes no less; a lease may set it later
		return veth.DefaultMTU
	}
	return mtu
}

func options(s *matrix.Spec) Options {
	rest := autoRest(s.Duration)
	if s.Rest != nil {
		rest = *s.Rest
	}
	return Options{Duration: s.Duration, Rest: rest, WarmupDuration: s.WarmupDuration, RampUp: s.RampUp,
		RampDown: s.RampDown, Port: s.Port,
		SampleInterval: s.Common.SampleInterval, Stall: s.Common.Stall, MaxCopied: s.Gates.Copied,
		IdleDrift:   s.Gates.IdleDrift,
		SUTSettings: s.SUT.Settings, TGSettings: s.TG.Settings, SharedWithSSH: s.SharedWithSSH,
		nodes: [2]*int{s.SUT.Node, s.TG.Node}}
}

// forCell applies a cell's own wishes to the options of its runs.
func (st *stage) forCell(c plan.Cell, o Options) Options {
	if l, ok := st.spec.SUT.Layouts[c.CPULayout]; ok {
		o.SUTFlows, o.layoutNamed[0] = []place.CPUs{{App: l.App, Softirq: l.IRQ}}, true
	}
	if l, ok := st.spec.TG.Layouts[c.TGLayout()]; ok {
		o.TGFlows, o.layoutNamed[1] = []place.CPUs{{App: l.App, Softirq: l.IRQ}}, true
	}
	if c.MTU != 0 && o.SUTDev != "" {
		o.MTU = c.MTU
	}
	return o
}

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
		Ports: func() *Missing { return r.Opt.portless(c, sut, tg) },
		Features: func() *Missing {
			if st.prepared(c) {
				return nil
			}
			return st.support.Missing(c)
		},
		Placement: func() *Missing { return r.crammed(c) }})
}

// interleaved lists the runs to make.
func (e *Experiment) plan(st *stage) []matrix.Run {
	all := e.Spec.Runs()
	if e.InOrder {
		inTurn(all, e.Spec.Cells)
	}
	return planTried(planOnce(all, st.missing), e.triedOnce(st))
}

// note passes one line to the user.
func (e *Experiment) note(line string) {
	if e.Note != nil {
		e.Note("%s", line)
	}
}

// warns begins what is wrong with what the runs can show.
const warns = "warning: "

// foretold notes what the runs can show; of a demo only what is wrong with that.
func (e *Experiment) foretold(line string) {
	if !e.Fit || strings.HasPrefix(line, warns) {
		e.note(line)
	}
}

// Run plays the experiment and returns the records of this session. When ctx ends
// the run under way is finished first. Each replay has hosts of its own: agents, ports, memory,
// and the link, where that is ours.
func (e *Experiment) Run(ctx context.Context) (recs []results.Record, err error) {
	if err := e.Spec.Untrusted(); err != nil && !e.TrustFile {
		return nil, &InputError{err}
	}
	if !e.Resume && e.Dir != "" {
		if err := results.Vacant(e.Dir); err != nil {
			return nil, &FolderError{err}
		}
	}
	p, err := e.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := e.sayBefore(p); err != nil {
		return nil, err
	}
	plan := e.plan(p.stage)
	preview{spec: e.Spec, missing: remembered(p.missing), stage: p.stage,
		found: p.stage.opt.found}.foretellResets(e.foretold)
	p.foretellShared(p.missing, e.foretold)
	if err := e.foretell(e.uncompared(p.stage), e.foretold); err != nil {
		return nil, err
	}
	e.foretellFew(p.stage, e.uncompared(p.stage), e.foretold)
	if err := e.start(p); err != nil {
		return nil, err
	}
	if line := p.runner.Power.unusedRest(e.Spec.Rest); line != "" {
		e.note(line)
	}
	s := &Session{Progress: e.Progress, Gates: e.Spec.Gates, AbortOnCancel: e.AbortOnCancel, Again: true,
		Until: e.Until, LossFree: e.Spec.Search()}
	if e.Fit {
		s.MostAgain = len(plan)/4 + 3 // it is to end in time
		s.AgainFor = againFor(e.Spec.Duration,
			(&Session{Runner: p.runner, Missing: p.missing, LossFree: e.Spec.Search()}).estimate(plan))
	}
	if e.Spec.Adaptive != nil {
		s.Enough = NewAdaptive(*e.Spec.Adaptive)
	}
	first := calibration(e.Spec, remembered(p.stage.missing))
	s.rates = ratesOf(e.Spec, &p.opt)
	s.rates.want(first)
	if e.Resume {
		if plan, err = e.resume(s, p, plan); err != nil {
			return nil, err
		}
	} else if e.Dir != "" {
		if s.Journal, err = results.Create(e.Dir, p.head); err != nil {
			return nil, &FolderError{err}
		}
	}
	if s.Journal != nil {
		defer func() { err = errors.Join(err, e.leave(s.Journal)) }()
	}
	for i, part := range replays(plan) {
		if i == 0 {
			part = slices.Concat(s.rates.left(first, plan), part)
		} else if err := e.anew(ctx, p); err != nil {
			return recs, err
		}
		if err := p.around.keep(s.Journal); err != nil {
			return recs, err
		}
		if n := e.Spec.Replays(); n > 1 && len(part) > 0 {
			// a calibration's runs before it are of none
			e.note(fmt.Sprintf("replay %d of %d", part[len(part)-1].Replay+1, n))
		}
		s.Runner, s.Missing = p.runner, p.missing
		more, err := s.Play(ctx, part)
		if recs = append(recs, more...); err != nil {
			return recs, err
		}
	}
	return recs, nil
}

// prepared is a session that may begin.
type prepared struct {
	*stage // nil: it was given back
	name   string
	around *surroundings
	head   results.Header
	runner *Runner // nil until it is started
}

// prepare reaches the hosts for a new session, and looks what they are like.
func (e *Experiment) prepare(ctx context.Context) (_ *prepared, err error) {
	p := &prepared{name: NewSession()}
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
	if p.around, err = p.stage.survey(ctx); err != nil {
		return nil, err
	}
	if e.Dir != "" || e.Before != "" { // else nobody reads it
		p.head, err = e.header(ctx, p.stage, p.around, p.name)
	}
	return p, err
}

// start makes the session's runner, and begins to measure power.
func (e *Experiment) start(p *prepared) (err error) {
	p.runner = &Runner{SUT: p.SUT, TG: p.TG, Session: p.name, Opt: p.opt, ForCell: p.forCell, env: p.around}
	if e.StartPower != nil {
		p.runner.Power, err = e.StartPower(p.runner)
	}
	return err
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
