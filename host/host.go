package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/veth"
	"github.com/zcbench/zcbench/wire"
	"golang.org/x/sys/unix"
)

// Host is a running agent.
type Host struct {
	Spec Spec
	Info wire.HelloResult
	spec string  // as it was dialed
	opt  Options // likewise
	// OffsetNs is the agent's CLOCK_MONOTONIC minus the controller's, known to
	// within UncertaintyNs (half the fastest round trip).
	OffsetNs, UncertaintyNs int64

	syncedNs, syncedBound int64 // when the offset was measured, and how well

	proc *process
	enc  *wire.Encoder

	mu      sync.Mutex
	nextID  int
	ending  chan struct{} // the agent says that it is about to end
	waiting map[int]chan wire.Response
	lost    error         // why we gave the link up
	dead    error         // why the agent no longer answers
	exit    error         // of the agent's process: how it ended
	done    chan struct{} // closed with dead and exit set
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
	h := &Host{Spec: s, spec: spec, opt: o, waiting: map[int]chan wire.Response{}, ending: make(chan struct{}, 1), done: make(chan struct{})}
	if err := h.start(ctx, o); err != nil {
		return nil, fmt.Errorf("host %s: start the agent: %w", s.Name, err)
	}
	if err := h.greet(ctx, o); err != nil {
		dead := h.Err()
		h.Close()
		if dead != nil {
			return nil, dead
		}
		return nil, fmt.Errorf("host %s: %w", s.Name, err)
	}
	return h, nil
}

// Again starts another agent on the same host, as one that died needs: the new one
// finishes its leases.
func (h *Host) Again(ctx context.Context) (*Host, error) { return Dial(ctx, h.spec, h.opt) }

func (h *Host) start(ctx context.Context, o Options) (err error) {
	bin := o.Binary
	if bin == "" {
		if bin, err = os.Executable(); err != nil {
			return err
		}
	}
	if h.Spec.Kind == "ssh" {
		h.proc, err = startSSH(ctx, h.Spec, bin, !o.KeepLeases)
	} else {
		h.proc, err = startProcess(exec.Command(bin, "agent"), func(cmd *exec.Cmd) error { return startIn(h.Spec, cmd) })
	}
	if err != nil {
		return err
	}
	h.enc = wire.NewEncoder(h.proc.stdin)
	go h.readLoop(h.proc.stdout)
	return nil
}

func startHere(cmd *exec.Cmd) error { return cmd.Start() }

// startIn starts cmd inside the spec's namespace.
func startIn(s Spec, cmd *exec.Cmd) error {
	if s.Kind != "netns" {
		return cmd.Start()
	}
	ns, err := veth.OpenNetns(s.Netns)
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(cmd.Start)
}

// greetTime is how long an agent may take to start and answer.
const greetTime = 20 * time.Second

// greet says hello and has restored what dead processes left. That may take longer
// than a hello: links come back, queues are waited for.
func (h *Host) greet(ctx context.Context, o Options) error {
	if err := h.hello(ctx, o); err != nil || o.KeepLeases {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, restoreTime, fmt.Errorf("what killed runs left there was not restored within %v", restoreTime))
	defer cancel()
	var finished []string
	if err := h.Call(ctx, wire.OpFinish, nil, &finished); err != nil {
		return err
	}
	for _, l := range finished {
		if o.Notices != nil {
			fmt.Fprintf(o.Notices, "host %s: %s\n", h.Spec.Name, l)
		}
	}
	return nil
}

func (h *Host) hello(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, greetTime, fmt.Errorf("the agent did not answer within %v", greetTime))
	defer cancel()
	hello := wire.Hello{Version: wire.Version, ToolVersion: o.ToolVersion, Session: o.Session, Command: cmdline.Public(os.Args)}
	if h.Spec.Kind == "ssh" {
		hello.SilenceNs = int64(silence)
	}
	if err := h.Call(ctx, wire.OpHello, hello, &h.Info); err != nil {
		return err
	}
	if hello.SilenceNs > 0 {
		go h.stayAlive()
	}
	return h.SyncClock(ctx)
}

// maxDrift is how fast two machines' clocks may part, as a fraction: quartz is
// good to 100 ppm, and NTP, which disciplines the clock, to far less.
const maxDrift = 100e-6

// SyncClock measures the offset of the agent's clock as NTP does: the fastest
// of some round trips bounds the error by half its length. Clocks of two machines
// drift apart: a long session repeats it. An older figure is kept while it is the
// better one. No other call may be under way that needs the figures.
func (h *Host) SyncClock(ctx context.Context) error {
	best, offset, at := int64(-1), int64(0), int64(0)
	for range 16 {
		var c wire.Clock
		t0 := Monotonic()
		if err := h.Call(ctx, wire.OpClock, nil, &c); err != nil {
			return err
		}
		t1 := Monotonic()
		if rtt := t1 - t0; best < 0 || rtt < best {
			best, offset, at = rtt, c.MonotonicNs-(t0+rtt/2), t1
		}
	}
	if old := h.syncedBound + int64(maxDrift*float64(at-h.syncedNs)); h.syncedNs != 0 && old <= best/2 {
		h.UncertaintyNs = old
		return nil
	}
	h.OffsetNs, h.UncertaintyNs = offset, best/2
	h.syncedNs, h.syncedBound = at, best/2
	return nil
}

// Monotonic is the controller's CLOCK_MONOTONIC, nanoseconds.
func Monotonic() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	return ts.Nano()
}

// Call makes a request and waits for its answer, which it decodes into result
// unless that is nil.
func (h *Host) Call(ctx context.Context, op wire.Op, params, result any) error {
	ch, err := h.send(op, params)
	if err != nil {
		return err
	}
	select {
	case r := <-ch:
		switch {
		case r.Error != nil:
			return r.Error
		case result == nil:
			return nil
		}
		if err := r.Decode(result); err != nil {
			return fmt.Errorf("%s: the agent's answer: %w", op, err)
		}
		return nil
	case <-h.done:
		return h.dead
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	}
}

func (h *Host) send(op wire.Op, params any) (<-chan wire.Response, error) {
	req := wire.Request{Op: op}
	if params != nil {
		b, err := json.Marshal(params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		req.Params = b
	}
	ch := make(chan wire.Response, 1)
	h.mu.Lock()
	h.nextID++
	req.ID = h.nextID
	h.waiting[req.ID] = ch
	h.mu.Unlock()
	if err := h.enc.Encode(req); err != nil {
		select { // the agent's last words say more than our broken pipe
		case <-h.done:
			return nil, h.dead
		case <-time.After(time.Second):
			return nil, fmt.Errorf("%s: %w", op, err)
		}
	}
	return ch, nil
}

func (h *Host) readLoop(r io.Reader) {
	dec := wire.NewDecoder(r)
	for {
		var resp wire.Response
		err := dec.Decode(&resp)
		if err != nil {
			h.fail(err)
			return
		}
		if resp.ID == wire.Ending {
			select {
			case h.ending <- struct{}{}:
			default:
			}
			continue
		}
		h.mu.Lock()
		ch, ok := h.waiting[resp.ID]
		delete(h.waiting, resp.ID)
		h.mu.Unlock()
		if !ok {
			h.fail(fmt.Errorf("answer %d to no question", resp.ID))
			return
		}
		ch <- resp
	}
}

// fail records why the agent is gone.
func (h *Host) fail(err error) {
	werr := h.proc.end()
	h.mu.Lock()
	lost := h.lost
	h.mu.Unlock()
	stderr := h.proc.stderr.String()
	switch eof := errors.Is(err, io.EOF); {
	case lost != nil:
		err = lost
	case eof && h.Spec.Kind == "ssh":
		err = farEnd(stderr, werr)
	default:
		if eof {
			err = errors.New("the agent ended")
			if werr != nil {
				err = fmt.Errorf("the agent ended: %w", werr)
			}
		}
		if stderr != "" {
			err = fmt.Errorf("%w; its last words: %s", err, stderr)
		}
	}
	h.mu.Lock()
	h.dead, h.exit = fmt.Errorf("host %s: %w", h.Spec.Name, err), werr
	h.mu.Unlock()
	close(h.done)
}

// Close ends the agent: it aborts what runs, takes back what it has set, and exits
// at the end of its input. One that says nothing meanwhile is killed.
//
// An agent that fails at its end, which is when it restores, is an error with its
// last words. One that was dead before, or is killed, is none: [Host.Err] tells.
func (h *Host) Close() error {
	select {
	case <-h.done:
		return nil
	default:
	}
	h.proc.stdin.Close()
	enough := time.After(restoreTime)
	for {
		silent := time.NewTimer(endTime)
		select {
		case <-h.ending:
			silent.Stop()
			continue
		case <-h.done:
			silent.Stop()
			if exitedItself(h.exit) {
				return h.dead
			}
			return nil
		case <-silent.C:
		case <-enough:
		}
		h.proc.kill()
		<-h.done
		return &stream.Error{Op: fmt.Sprintf("host %s: the agent did not end by itself and was killed", h.Spec.Name), How: "what it has not taken back: zcbench restore --host " + h.spec}
	}
}

// PID is the process on this machine through which the agent is reached: the
// agent's own, or that of ssh.
func (h *Host) PID() int { return h.proc.cmd.Process.Pid }

// SameMachine reports whether two agents share a kernel, and so its CPUs.
func (h *Host) SameMachine(o *Host) bool {
	return h.Info.Env.BootID != "" && h.Info.Env.BootID == o.Info.Env.BootID
}

// Err returns why the agent no longer answers, nil while it does.
func (h *Host) Err() error {
	select {
	case <-h.done:
		return h.dead
	default:
		return nil
	}
}
