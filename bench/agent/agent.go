// SPDX-License-Identifier: MIT

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/endpoint"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/ssh"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// agent serves one controller.
type agent struct {
	enc   *wire.Encoder
	inbox *inbox

	greeted  bool
	running  sync.WaitGroup
	replying sync.WaitGroup // to runs that have ended
	power    *power.Sampler // nil until asked for
	resting  resting
	path     followed    // for packets
	leased   leased      // what is set on the host
	ways     []*ssh.Link // by which the controller came, or may have; nil: not by a network
	links    linkChecks  // of the interface of the end
	shared   bool        // what they need may be set and flooded, too

	processes survey.Processes // of the host, when the agent was greeted
	began     time.Time        // then

	mu   sync.Mutex
	ends map[int]*heldEnd // that are open, by their numbers
}

// heldEnd is an end that is open.
type heldEnd struct {
	*endpoint.End
	cancel context.CancelCauseFunc // of the run under way; nil when there is none
	used   bool                    // the end has run
	off    bool                    // the end was called off before its run
}

// Serve answers requests from in on out until in ends, the controller is silent
// for longer than it promised, or ctx ends. A message that is none is an error
// with its position. Whatever is set on the host is restored before it returns;
// what could not be is an error.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return (&agent{enc: wire.NewEncoder(out)}).serve(ctx, in)
}

// serve does what Serve does, once the agent has its output.
func (a *agent) serve(ctx context.Context, in io.Reader) (err error) {
	a.inbox = openInbox(in, a.enc)
	defer lease.OnPanic()
	defer func() { err = errors.Join(err, a.shutdown()) }()
	for {
		req, err := a.inbox.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := a.handle(ctx, req); err != nil {
			return err
		}
	}
}

// shutdown ends what runs, waits for it, and restores the host. An answer that
// nobody takes does not hold it up.
func (a *agent) shutdown() error {
	a.abort(nil)
	a.running.Wait()
	done := make(chan struct{})
	defer close(done)
	go a.sayEnding(done)
	err := errors.Join(a.closeEnds(), a.leased.restore(), a.path.close())
	a.inbox.close()
	answered := make(chan struct{})
	go func() { a.replying.Wait(); close(answered) }()
	select {
	case <-answered:
	case <-time.After(replyTime):
	}
	a.endRest()
	a.stopPower()
	return err
}

// sayEnding lets the controller know that the agent is about to take back what it
// has set, until done: it would kill one that does not answer.
func (a *agent) sayEnding(done <-chan struct{}) {
	tick := time.NewTicker(wire.EndingEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if a.enc.Encode(wire.Response{ID: wire.Ending, Result: []byte("{}")}) != nil {
				return
			}
		}
	}
}

// replyTime is how long the last answers may take once the agent ends.
const replyTime = 2 * time.Second

// handle answers one request. Its error is a broken output.
func (a *agent) handle(ctx context.Context, req wire.Request) error {
	if req.Op != wire.OpHello && !a.greeted {
		return a.refuse(req, errors.New("hello must come first"))
	}
	if req.Op == wire.OpRun {
		return a.startRun(ctx, req)
	}
	if req.Op == wire.OpPathRead {
		a.startPathRead(req)
		return nil
	}
	result, err := a.answer(req)
	if err != nil {
		return a.refuse(req, err)
	}
	return a.reply(req, result)
}

func (a *agent) answer(req wire.Request) (any, error) {
	switch req.Op {
	case wire.OpHello:
		return a.hello(req)
	case wire.OpClock:
		return wire.Clock{MonotonicNs: counter.Monotonic()}, nil
	case wire.OpModes:
		return a.modes(req)
	case wire.OpCheck:
		return a.checks(req)
	case wire.OpLadders:
		var p wire.ModesParams
		if err := req.Decode(&p); err != nil {
			return nil, err
		}
		return doctor.Ladders(p.Dev), nil
	case wire.OpRecord:
		var p wire.ModesParams
		if err := req.Decode(&p); err != nil {
			return nil, err
		}
		return doctor.Record(p.Dev)
	case wire.OpAddrs:
		return a.interfaces()
	case wire.OpSurvey:
		return a.survey(req)
	case wire.OpSet:
		return a.set(req)
	case wire.OpOwed:
		return wire.Owed{SSH: a.owesSSH()}, nil
	case wire.OpFinish:
		return finishDead()
	case wire.OpRestore:
		return restore(req)
	case wire.OpRoute:
		var p wire.RouteParams
		if err := req.Decode(&p); err != nil {
			return nil, err
		}
		return route(p.Addr)
	case wire.OpOpen:
		return a.open(req)
	case wire.OpPowerStart:
		return a.startPower(req)
	case wire.OpPowerRead:
		return a.readPower(req)
	case wire.OpRestBegin:
		return a.beginRest(req)
	case wire.OpRestEnd:
		return a.takeRest()
	case wire.OpPathOpen:
		return a.path.open(req)
	case wire.OpAbort, wire.OpClose:
		return a.leave(req)
	}
	return nil, fmt.Errorf("unknown request %q", req.Op)
}

func (a *agent) modes(req wire.Request) (any, error) {
	var p wire.ModesParams
	if len(req.Params) > 0 {
		if err := req.Decode(&p); err != nil {
			return nil, err
		}
	}
	return doctor.Modes(p), nil
}

// checks runs the checks of the host, and of an interface that is named.
func (a *agent) checks(req wire.Request) (any, error) {
	var p wire.ModesParams
	if len(req.Params) > 0 {
		if err := req.Decode(&p); err != nil {
			return nil, err
		}
	}
	out := doctor.Checks()
	if p.Dev == "" {
		return out, nil
	}
	s, err := rtnl.ReadStack()
	if err != nil {
		return nil, err
	}
	return append(append(out, a.checkSSH(s, p.Dev)), doctor.OfInterface(s, p.Dev)...), nil
}

func (a *agent) reply(req wire.Request, result any) error {
	b, err := json.Marshal(result)
	if err != nil {
		return a.refuse(req, fmt.Errorf("%s: encode the answer: %w", req.Op, err))
	}
	return a.enc.Encode(wire.Response{ID: req.ID, Result: b})
}

func (a *agent) refuse(req wire.Request, err error) error {
	e := &wire.Error{Message: fault.Reason(err), How: fault.Fix(err), Verdict: results.Failed}
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
		e.Verdict = results.Unsupported
	}
	return a.enc.Encode(wire.Response{ID: req.ID, Error: e})
}

func (a *agent) hello(req wire.Request) (any, error) {
	var h wire.Hello
	unread := req.Decode(&h)
	if err := json.Unmarshal(req.Params, &h); unread != nil && err != nil {
		return nil, unread
	}
	// First of all, because a controller of another version may say more than this one reads.
	if h.Version != wire.Version || h.ToolVersion != version.Tool() {
		return nil, &fault.Error{Op: fmt.Sprintf("versions differ: controller %s (protocol %d), agent %s (protocol %d)",
			h.ToolVersion, h.Version, version.Tool(), wire.Version),
			How: "use the same zcbench on both hosts"}
	}
	if unread != nil {
		return nil, unread
	}
	a.greeted, a.began = true, time.Now()
	a.processes = survey.ReadProcesses(survey.FS{}, a.began)
	lease.ServeSession(h.Session, h.Command)
	a.learn(h)
	a.inbox.expect(time.Duration(h.SilenceNs))
	return identity()
}

func (a *agent) open(req wire.Request) (any, error) {
	var s wire.EndSpec
	if err := req.Decode(&s); err != nil {
		return nil, err
	}
	if err := a.guardEnd(s); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ends[s.End] != nil:
		return nil, errors.New("an end is already open: close it first")
	case s.End < 0 || s.End >= wire.MostEnds:
		return nil, fmt.Errorf("open: end %d, not 0 to %d", s.End, wire.MostEnds-1)
	}
	end, err := endpoint.Open(s)
	if err != nil {
		return nil, err
	}
	if a.ends == nil {
		a.ends = map[int]*heldEnd{}
	}
	if s.Shares && a.power != nil {
		end.OnEdge = a.power.Now
	}
	a.ends[s.End] = &heldEnd{End: end}
	a.look(s)
	opened := wire.Opened{ReadsNs: end.ReadsNs()}
	if s.Role == stream.RX {
		opened.Addr = end.Addr().String()
	}
	return opened, nil
}

// startRun answers when the run has ended.
func (a *agent) startRun(ctx context.Context, req wire.Request) error {
	var sch wire.Schedule
	err := req.Decode(&sch)
	if err == nil && sch.Turns != nil {
		err = sch.Turns.Check()
	}
	if err != nil {
		return a.refuse(req, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	end := a.ends[sch.End]
	if end == nil || end.used {
		return a.refuse(req, errors.New("run: no open end is left to run"))
	}
	rctx, cancel := context.WithCancelCause(ctx)
	end.cancel, end.used = cancel, true
	if end.off {
		cancel(stream.ErrAborted)
	}
	a.running.Go(func() {
		defer lease.OnPanic()
		res := end.Run(rctx, sch)
		a.warn(&res)
		a.mu.Lock()
		end.cancel = nil
		a.mu.Unlock()
		cancel(nil)
		// A broken output means that the controller is gone; the input ends too.
		a.replying.Go(func() { _ = a.reply(req, res) })
	})
	return nil
}

// leave ends the run of an end, or frees it.
func (a *agent) leave(req wire.Request) (any, error) {
	var of wire.EndRef
	if len(req.Params) > 0 {
		if err := req.Decode(&of); err != nil {
			return nil, err
		}
	}
	if req.Op == wire.OpAbort {
		a.abort(&of.End)
		return struct{}{}, nil
	}
	return struct{}{}, a.closeEnd(of.End)
}

// abort ends the run under way of an end; nil: of all. The abort of an open end may overtake its
// run: then that ends at once.
func (a *agent) abort(only *int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for n, end := range a.ends {
		if only != nil && n != *only {
			continue
		}
		if end.off = true; end.cancel != nil {
			end.cancel(stream.ErrAborted)
		}
	}
}

// closeEnd frees an end, which must not be running.
func (a *agent) closeEnd(n int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	end := a.ends[n]
	switch {
	case end == nil:
		return nil
	case end.cancel != nil:
		return errors.New("close: the flow is still running: abort it first")
	}
	delete(a.ends, n)
	return end.Close()
}

// closeEnds frees all ends, the last first: what it changed stands on what those before it did.
func (a *agent) closeEnds() (err error) {
	for n := wire.MostEnds - 1; n >= 0; n-- {
		err = errors.Join(err, a.closeEnd(n))
	}
	return err
}
