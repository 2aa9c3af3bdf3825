// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/wire"
)

// link is the conversation with one agent, from its start to its end. It is given
// up once, for one reason, and then every call ends with that.
type link struct {
	name, spec string // the host's, for errors
	by         string // the program that leads to it; "": it is here
	limits     Limits
	proc       *process
	enc        *wire.Encoder
	heard      atomic.Int64 // reads of its output that had something

	mu      sync.Mutex
	nextID  int
	waiting map[int]chan wire.Response
	holds   map[hold]bool // by these it may hold something that it must take back

	closing chan struct{} // closed when its input is ended
	endOnce sync.Once
	ending  chan struct{} // it says that it is about to end
	gone    chan struct{} // closed with dead set: nothing that it says counts any more
	dead    error
	exit    error         // of its process: how it ended
	itself  bool          // it ended before it was given up
	done    chan struct{} // closed with exit and itself set
}

// hold is a request by which an agent may hold something.
type hold struct {
	op  wire.Op
	end int // of [wire.OpOpen]
}

func (h *Host) newLink(p *process) *link {
	far, by := h.Spec.Far(), ""
	if far {
		by = h.Spec.by()
	}
	l := &link{name: h.Spec.Name, spec: h.spec, by: by, limits: h.opt.Limits.orUsual(far, h.Spec.Patient), proc: p,
		enc:     wire.NewEncoder(p.stdin),
		waiting: map[int]chan wire.Response{}, holds: map[hold]bool{}, closing: make(chan struct{}),
		ending: make(chan struct{}, 1),
		gone:   make(chan struct{}), done: make(chan struct{})}
	go l.read(p.stdout)
	return l
}

// call makes a request and waits for its answer. One that takes longer than limit
// is never waited for again: nobody knows what that agent is about to do.
func (l *link) call(ctx context.Context, limit time.Duration, op wire.Op, params, result any) error {
	answer, id, err := l.send(op, params)
	if err != nil {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-answer:
		return l.take(op, r, params, result)
	case <-l.gone:
		return l.dead
	case <-ctx.Done():
		l.forget(id)
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	case <-timer.C:
		l.giveUp(l.lost(fmt.Sprintf("it did not answer %q within %v", op, limit.Round(time.Millisecond))), false)
		return l.dead
	}
}

// take gives the caller what the agent said, once it makes sense.
func (l *link) take(op wire.Op, r wire.Response, params, result any) error {
	if r.Error != nil {
		return r.Error
	}
	l.settle(op, params)
	if result == nil {
		return nil
	}
	if err := r.Decode(result); err != nil {
		if n := (*fault.NonsenseError)(nil); errors.As(err, &n) {
			err = n.Err
		}
		l.giveUp(l.nonsense(fmt.Errorf("%s: %w", op, err)), false)
		return l.dead
	}
	return nil
}

func (l *link) send(op wire.Op, params any) (<-chan wire.Response, int, error) {
	req := wire.Request{Op: op}
	if params != nil {
		b, err := json.Marshal(params)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", op, err)
		}
		req.Params = b
	}
	answer := make(chan wire.Response, 1)
	l.mu.Lock()
	l.nextID++
	req.ID = l.nextID
	l.waiting[req.ID] = answer
	l.owe(op, params)
	l.mu.Unlock()
	if err := l.enc.Encode(req); err != nil {
		select { // the agent's last words say more than our broken pipe, and may take as long as an answer
		case <-l.gone:
			return nil, 0, l.dead
		case <-time.After(l.limits.Silence):
			return nil, 0, fmt.Errorf("%s: %w", op, err)
		}
	}
	return answer, req.ID, nil
}

// forget leaves a question to its late answer, which goes nowhere.
func (l *link) forget(id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.waiting[id]; ok {
		l.waiting[id] = make(chan wire.Response, 1)
	}
}

// owe notes that the agent may from now on hold what it must take back at its end.
func (l *link) owe(op wire.Op, params any) {
	switch op {
	case wire.OpSet:
		if s, ok := params.(plan.Settings); !ok || !s.IsZero() {
			l.holds[hold{op: op}] = true
		}
	case wire.OpOpen:
		s, _ := params.(wire.EndSpec)
		l.holds[hold{op, s.End}] = true
	case wire.OpFinish, wire.OpRestore:
		l.holds[hold{op: op}] = true
	}
}

// settle notes that it has answered well, and so holds it no more. That a lease is
// back is noted by [Host.CallWithin], which knows what was asked for.
func (l *link) settle(op wire.Op, params any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch op {
	case wire.OpClose:
		of, _ := params.(wire.EndRef)
		delete(l.holds, hold{wire.OpOpen, of.End})
	case wire.OpFinish, wire.OpRestore:
		delete(l.holds, hold{op: op})
	}
}

func (l *link) owes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.holds) > 0
}

// counted counts the reads that brought something.
type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if n > 0 {
		c.n.Add(1)
	}
	return n, err
}

// read takes the agent's answers until it ends, or is given up: then what it may
// still say stays in the pipe, and costs nothing.
func (l *link) read(r io.Reader) {
	dec := wire.NewDecoder(counted{r, &l.heard})
	var pace pace
	var err error
	for err == nil {
		var resp wire.Response
		if err = dec.Decode(&resp); err == nil {
			err = l.handle(resp, &pace)
		}
		select {
		case <-l.gone:
			err = io.EOF
		default:
		}
	}
	if cut := (*wire.CutError)(nil); !errors.Is(err, io.EOF) && !errors.As(err, &cut) {
		l.giveUp(l.nonsense(err), false)
	}
	l.exit = l.proc.end()
	l.itself = l.giveUp(l.ended(l.exit), false)
	close(l.done)
}

func (l *link) handle(resp wire.Response, pace *pace) error {
	if resp.ID == wire.Ending {
		if !pace.take(time.Now()) {
			return errors.New("it keeps announcing its end without ending")
		}
		select {
		case l.ending <- struct{}{}:
		default:
		}
		return nil
	}
	l.mu.Lock()
	answer, ok := l.waiting[resp.ID]
	delete(l.waiting, resp.ID)
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("answer %d to no request", resp.ID)
	}
	if err := resp.Vet(); err != nil {
		return err
	}
	answer <- resp
	return nil
}

// pace is how often an agent may say that it is about to end.
type pace struct {
	first time.Time
	n     int
}

// take allows twice as many as agents of ours say, and a few that were held up on
// the way.
func (p *pace) take(now time.Time) bool {
	if p.n++; p.n == 1 {
		p.first = now
	}
	return p.n <= 5+2*int(now.Sub(p.first)/wire.EndingEvery)
}

// giveUp ends the conversation for err. The agent's input ends, so that it takes
// back what it set; it has limits.End for that, and with kill no time at all: one
// that is frozen would do nothing. Whoever comes next there finishes its leases.
// What was given up before stays so, for its first reason.
func (l *link) giveUp(err error, kill bool) (first bool) {
	l.mu.Lock()
	select {
	case <-l.gone:
		l.mu.Unlock()
		return false
	default:
	}
	l.dead = fmt.Errorf("host %s: %w", l.name, err)
	close(l.gone)
	l.mu.Unlock()
	if kill {
		l.proc.kill()
	}
	l.endInput()
	go func() {
		select {
		case <-l.done:
		case <-time.After(l.limits.End):
			l.proc.kill()
		}
	}()
	return true
}

func (l *link) endInput() {
	l.endOnce.Do(func() {
		close(l.closing)
		l.proc.stdin.Close()
	})
}

// ended explains why the agent's process is gone, when nobody sent it away.
func (l *link) ended(exit error) error {
	stderr := l.proc.stderr.String()
	if l.by != "" {
		return farEnd(l.by, stderr, exit, l.heard.Load() > 0, l.limits.Silence, l.restore())
	}
	err := errors.New("the agent ended")
	if exit != nil {
		err = fmt.Errorf("the agent ended: %w", exit)
	}
	if stderr != "" {
		err = fmt.Errorf("%w; its last words: %s", err, stderr)
	}
	return err
}

// nonsense describes an agent that says what none of ours does.
func (l *link) nonsense(err error) error {
	if n := (*fault.NonsenseError)(nil); errors.As(err, &n) {
		err = n.Err
	}
	if stderr := l.proc.stderr.String(); stderr != "" {
		err = fmt.Errorf("%w; its last words: %s", err, stderr)
	}
	return &fault.NonsenseError{Err: err,
		How: "find out what answers there before you trust its host again; to restore what it has not: " +
			l.restore()}
}

// lost describes an agent that says nothing, or not what it was asked.
func (l *link) lost(words string) error {
	if l.by != "" {
		return lostError(words, l.limits.Silence, l.restore())
	}
	return &fault.Error{Op: "the agent is lost: " + words,
		How: "was it stopped (SIGSTOP), or is the machine overloaded? it was killed; to restore what it has not: " +
			l.restore()}
}

// restore formats the command that finishes what an agent left on its host.
func (l *link) restore() string {
	if l.spec == "local" || l.spec == "" || strings.HasPrefix(l.spec, "netns:/proc/") { // which is gone by then
		return "zcbench restore"
	}
	return "zcbench restore --host " + Shell(l.spec)
}

// close ends the agent: see [Host.Close].
func (l *link) close() error {
	select {
	case <-l.gone:
		<-l.done // soon: it is killed
		return nil
	default:
	}
	owes := l.owes()
	l.endInput()
	enough := time.After(l.limits.Change)
	for {
		silent := time.NewTimer(l.limits.End)
		if ended, err := l.awaitEnd(silent.C, enough, owes); ended {
			silent.Stop()
			return err
		}
		silent.Stop()
	}
}

// awaitEnd waits for the agent's end, or a word that it is about to.
func (l *link) awaitEnd(silent, enough <-chan time.Time, owes bool) (ended bool, err error) {
	ending := l.ending
	if !owes {
		ending = nil // nothing that would take it so long
	}
	select {
	case <-ending:
		return false, nil
	case <-l.done:
		if exitedItself(l.by, l.exit) || !l.itself {
			return true, l.dead
		}
		return true, nil
	case <-silent:
	case <-enough:
	}
	l.proc.kill()
	<-l.done
	return true, &fault.Error{Op: fmt.Sprintf("host %s: the agent did not exit by itself and was killed", l.name),
		How: "to restore what it has not: " + l.restore()}
}
