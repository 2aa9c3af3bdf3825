// SPDX-License-Identifier: MIT

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/machine/ssh"
)

// Host is a running agent.
type Host struct {
	Spec Spec
	Info wire.HelloResult
	cpus *place.Topology // of Info, once it is there
	spec string          // as it was dialed
	opt  Options         // likewise
	// OffsetNs is the agent's CLOCK_MONOTONIC minus the controller's, known to
	// within UncertaintyNs (half the fastest round trip).
	OffsetNs, UncertaintyNs int64
	// Start is how long it took the last time until the agent was there, without what was copied
	// there before.
	Start time.Duration

	syncedNs, syncedBound int64 // when the offset was measured, and how well

	link atomic.Pointer[link] // to the agent of now
}

// Options of [Dial].
type Options struct {
	Binary      string // the agent's program; "": this one
	ToolVersion string // must be the agent's
	Name        string // what results call the host; "": the spec
	Session     string // what others are told who want what the agent has leased; "": none
	// KeepLeases is for who only looks: what dead processes have set on the host
	// stays, and so do programs there that were not used for long. Otherwise it is
	// restored, and said to Notices, and they are removed.
	KeepLeases bool
	Notices    io.Writer // nil: nobody is told
	Limits     Limits    // of the controller's patience
	// SharedWithSSH lets the flow share the interface by which the host is reached, and
	// what is set there take it away for up to a minute.
	SharedWithSSH bool
	// Patient only bears the silence.
	Patient bool
}

// Dial starts an agent where spec says and greets it.
func Dial(ctx context.Context, spec string, o Options) (*Host, error) {
	s, err := ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if o.Name != "" {
		s.Name = o.Name
	}
	s.Patient = o.SharedWithSSH || o.Patient
	h := &Host{Spec: s, spec: spec, opt: o}
	if err := h.begin(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

// begin starts an agent, greets it and has restored what dead processes left.
func (h *Host) begin(ctx context.Context) error {
	if err := h.connect(ctx); err != nil || h.opt.KeepLeases {
		return err
	}
	if h.Spec.Far() && !h.Spec.Patient {
		var owed wire.Owed
		if err := h.orEnd(h.Call(ctx, wire.OpOwed, nil, &owed)); err != nil {
			return err
		}
		if owed.SSH {
			return h.finishPatiently(ctx)
		}
	}
	return h.orEnd(h.finish(ctx))
}

// connect starts an agent and greets it.
func (h *Host) connect(ctx context.Context) error {
	p, err := h.start(ctx, h.opt)
	if err != nil {
		return fmt.Errorf("host %s: start the agent: %w", h.Spec.Name, err)
	}
	h.link.Store(h.newLink(p))
	err = h.orEnd(h.hello(ctx, h.opt))
	h.Start = time.Since(p.begun)
	return err
}

// orEnd ends an agent with which err befell.
func (h *Host) orEnd(err error) error {
	if err == nil {
		return nil
	}
	dead := h.Err()
	h.Close()
	if dead != nil {
		return dead
	}
	return fmt.Errorf("host %s: %w", h.Spec.Name, err)
}

// finishPatiently restores what dead processes left on an interface that ssh, or a command,
// needs, by a connection that bears the silence: ssh's own patience is set when it starts. What
// it could not restore the usual connection does not try again, which would not bear it: it says
// so, and whoever comes next tries, as patiently.
func (h *Host) finishPatiently(ctx context.Context) error {
	h.Notice("a killed run left settings on the interface that carries %s: restoring them first, and tolerating "+
		"%v of silence", h.Spec.by(), silenceShared)
	if err := h.Close(); err != nil {
		return err
	}
	p := &Host{Spec: h.Spec, spec: h.spec, opt: h.opt}
	p.Spec.Patient = true
	if err := p.begin(ctx); err != nil {
		return err
	}
	if err := p.Close(); err != nil {
		return err
	}
	if err := h.connect(ctx); err != nil {
		return err
	}
	var left wire.Owed
	if err := h.orEnd(h.Call(ctx, wire.OpOwed, nil, &left)); err != nil {
		return err
	}
	if left.SSH {
		h.Notice("settings of the killed run are still on the interface that carries %s: they could not be "+
			"restored, and this session will not try again; once what holds them is gone: %s", h.Spec.by(),
			h.link.Load().restore())
	}
	return nil
}

func (h *Host) start(ctx context.Context, o Options) (p *process, err error) {
	bin := o.Binary
	if bin == "" {
		if bin, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	if h.Spec.Far() {
		return startFar(ctx, h.Spec, bin, !o.KeepLeases)
	}
	return startProcess(exec.Command(bin, "agent"), func(cmd *exec.Cmd) error { return startIn(h.Spec, cmd) })
}

func startHere(cmd *exec.Cmd) error { return cmd.Start() }

// startIn starts cmd where the spec says on this machine.
func startIn(s Spec, cmd *exec.Cmd) error {
	if start := s.way().start; start != nil {
		return start(s, cmd)
	}
	return cmd.Start()
}

// greetTime is how long an agent may take to start and answer.
const greetTime = 20 * time.Second

// finish restores what dead processes left. That may take longer than a hello: it brings links back
// up and waits for queues.
func (h *Host) finish(ctx context.Context) error {
	var finished []string
	if err := h.Call(ctx, wire.OpFinish, nil, &finished); err != nil {
		return err
	}
	for _, l := range finished {
		h.Notice("%s", l)
	}
	return nil
}

// Notice informs the user about the host, if there is a writer for notices.
func (h *Host) Notice(format string, args ...any) {
	if h.opt.Notices != nil {
		fmt.Fprintf(h.opt.Notices, "host %s: %s\n", h.Spec.Name, fmt.Sprintf(format, args...))
	}
}

func (h *Host) hello(ctx context.Context, o Options) error {
	hello := wire.Hello{Version: wire.Version, ToolVersion: o.ToolVersion, Session: o.Session,
		Command: cmdline.Public(os.Args)}
	if h.Spec.Far() {
		hello.SilenceNs = int64(h.link.Load().limits.Silence)
		hello.SSH, hello.SharedWithSSH = h.Spec.Kind == "ssh", o.SharedWithSSH
	}
	if h.Spec.Kind == "exec" {
		hello.Exec = ssh.Self()
	}
	if err := h.Call(ctx, wire.OpHello, hello, &h.Info); err != nil {
		return err
	}
	t := h.Info.Topology()
	h.cpus = &t
	if h.Info.Version != wire.Version || h.Info.ToolVersion != o.ToolVersion {
		h.Distrust(fmt.Errorf("hello: it calls itself %q, protocol %d", h.Info.ToolVersion, h.Info.Version))
		return h.Err()
	}
	go h.link.Load().watch()
	return h.SyncClock(ctx)
}

// Topology returns how its CPUs share cores and memory. Each run asks for it; the agent's lists are
// parsed once, when it is greeted.
func (h *Host) Topology() place.Topology {
	if h.cpus == nil {
		return h.Info.Topology() // it was not dialed
	}
	return *h.cpus
}

// Call makes a request and waits for its answer, which it decodes into result
// unless that is nil. An agent that does not answer in time (see [Limits]), or
// answers nonsense, is given up: then it is ended, and [Host.Err] says why.
func (h *Host) Call(ctx context.Context, op wire.Op, params, result any) error {
	return h.CallWithin(ctx, 0, op, params, result)
}

// CallWithin does what Call does, within a limit of its own; 0: the default limit of the request.
func (h *Host) CallWithin(ctx context.Context, limit time.Duration, op wire.Op, params, result any) error {
	l := h.link.Load()
	err := l.call(ctx, cmp.Or(limit, l.limits.of(op)), op, params, result)
	if s, ok := params.(plan.Settings); ok && op == wire.OpSet && err == nil && s.IsZero() {
		l.mu.Lock()
		delete(l.holds, hold{op: op})
		l.mu.Unlock()
	}
	return err
}

// GiveUp ends the agent because of why: it is not heard any more, its input ends,
// and it is killed unless it then ends soon.
func (h *Host) GiveUp(why string) {
	l := h.link.Load()
	l.giveUp(l.lost(why), false)
}

// Distrust does what GiveUp does, for an answer that the caller, who knows more than the wire does,
// finds impossible.
func (h *Host) Distrust(err error) {
	l := h.link.Load()
	l.giveUp(l.nonsense(err), false)
}

// Revive starts another agent in the place of one that is gone: it finishes what
// that one has leased. The figures of h are then the new agent's, and no call may
// be under way.
func (h *Host) Revive(ctx context.Context) error {
	l := h.link.Load()
	select {
	case <-l.gone:
	default:
		return nil
	}
	<-l.done // soon: it is killed
	before := h.Info
	h.syncedNs = 0
	if err := h.begin(ctx); err != nil {
		return err
	}
	if now := h.Info; now.Env.Kernel != before.Env.Kernel || !slices.Equal(now.OnlineCPUs, before.OnlineCPUs) {
		return &fault.Error{Op: fmt.Sprintf(
			"host %s has changed since its agent was lost: kernel %s, %d CPUs; was %s, %d", h.Spec.Name,
			now.Env.Kernel, len(now.OnlineCPUs), before.Env.Kernel, len(before.OnlineCPUs)), How: "begin anew"}
	}
	return nil
}

// Close ends the agent: it aborts what runs, takes back what it has set, and exits
// at the end of its input. One that says nothing meanwhile is killed, and so is one
// that says for too long that it is about to end. Who holds nothing that would have
// to be taken back is not waited for.
//
// An agent that fails at its end, which is when it restores, is an error with its
// last words. One that was dead before, or is killed, is none: [Host.Err] tells.
func (h *Host) Close() error { return h.link.Load().close() }

// CloseAll closes hosts at once, so that the slowest decides.
func CloseAll(hosts ...*Host) error {
	errs := make([]error, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		if h != nil {
			all.Go(func() { errs[i] = h.Close() })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

// PID returns the process on this machine through which the agent is reached: the agent's own, or
// that of ssh or the command.
func (h *Host) PID() int { return h.link.Load().proc.cmd.Process.Pid }

// SameMachine reports whether two agents share a kernel, and so its CPUs.
func (h *Host) SameMachine(o *Host) bool {
	return h.Info.Env.BootID != "" && h.Info.Env.BootID == o.Info.Env.BootID
}

// Err returns why the agent no longer answers, nil while it does.
func (h *Host) Err() error {
	l := h.link.Load()
	select {
	case <-l.gone:
		return l.dead
	default:
		return nil
	}
}
