package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

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

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	enc    *wire.Encoder
	stderr *tail

	mu      sync.Mutex
	nextID  int
	waiting map[int]chan wire.Response
	dead    error         // why the agent no longer answers
	done    chan struct{} // closed with dead set
}

// Options of [Dial].
type Options struct {
	Binary      string // the agent's program; "": this one
	ToolVersion string // must be the agent's
	Name        string // what results call the host; "": the spec
	// KeepLeases leaves what dead processes have set on the host; otherwise it is
	// restored, and said to Notices.
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
	h := &Host{Spec: s, spec: spec, opt: o, waiting: map[int]chan wire.Response{}, done: make(chan struct{}), stderr: &tail{}}
	if err := h.start(o); err != nil {
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
	for _, l := range h.Info.Finished {
		if o.Notices != nil {
			fmt.Fprintf(o.Notices, "host %s: finished %s\n", s.Name, l)
		}
	}
	return h, nil
}

// Again starts another agent on the same host, as one that died needs: the new one
// finishes its leases.
func (h *Host) Again(ctx context.Context) (*Host, error) { return Dial(ctx, h.spec, h.opt) }

func (h *Host) start(o Options) error {
	bin := o.Binary
	if bin == "" {
		var err error
		if bin, err = os.Executable(); err != nil {
			return err
		}
	}
	h.cmd = exec.Command(bin, "agent")
	h.cmd.Stderr = h.stderr
	// The agent must outlive a Ctrl-C at the terminal by the moment that it
	// takes the controller to end the run: it gets no signal of its own.
	h.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	h.cmd.WaitDelay = time.Second // for a child of the agent's that holds its output
	stdin, err := h.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := startIn(h.Spec, h.cmd); err != nil {
		return err
	}
	h.stdin, h.enc = stdin, wire.NewEncoder(stdin)
	go h.readLoop(bufio.NewReader(stdout))
	return nil
}

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

// endTime is how long an agent may take to end after its input has.
const endTime = 5 * time.Second

func (h *Host) greet(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, greetTime, fmt.Errorf("the agent did not answer within %v", greetTime))
	defer cancel()
	if err := h.Call(ctx, wire.OpHello, wire.Hello{Version: wire.Version, ToolVersion: o.ToolVersion, KeepLeases: o.KeepLeases}, &h.Info); err != nil {
		return err
	}
	return h.syncClock(ctx)
}

// syncClock measures the offset of the agent's clock as NTP does: the fastest
// of some round trips bounds the error by half its length.
func (h *Host) syncClock(ctx context.Context) error {
	best := int64(-1)
	for range 16 {
		var c wire.Clock
		t0 := Monotonic()
		if err := h.Call(ctx, wire.OpClock, nil, &c); err != nil {
			return err
		}
		t1 := Monotonic()
		if rtt := t1 - t0; best < 0 || rtt < best {
			best = rtt
			h.OffsetNs = c.MonotonicNs - (t0 + rtt/2)
			h.UncertaintyNs = rtt / 2
		}
	}
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
	h.stdin.Close()
	// One that speaks nonsense may not care for its input either.
	killer := time.AfterFunc(endTime, h.kill)
	werr := h.cmd.Wait()
	killer.Stop()
	if errors.Is(err, io.EOF) {
		err = errors.New("the agent ended")
		if werr != nil {
			err = fmt.Errorf("the agent ended: %w", werr)
		}
	}
	if s := h.stderr.String(); s != "" {
		err = fmt.Errorf("%w; its last words: %s", err, s)
	}
	h.mu.Lock()
	h.dead = fmt.Errorf("host %s: %w", h.Spec.Name, err)
	h.mu.Unlock()
	close(h.done)
}

// Close ends the agent: it aborts what runs and exits at the end of its input.
// One that does not is killed.
func (h *Host) Close() error {
	h.stdin.Close()
	select {
	case <-h.done:
	case <-time.After(endTime):
		h.kill()
		<-h.done
		return fmt.Errorf("host %s: the agent did not end by itself and was killed", h.Spec.Name)
	}
	return nil
}

// kill ends the agent and what it has started.
func (h *Host) kill() { unix.Kill(-h.cmd.Process.Pid, unix.SIGKILL) }

// PID is the agent's process.
func (h *Host) PID() int { return h.cmd.Process.Pid }

// SameMachine reports whether two agents share a kernel, and so its CPUs.
func (h *Host) SameMachine(o *Host) bool {
	return h.Info.Env.BootID != "" && h.Info.Env.BootID == o.Info.Env.BootID
}

// tail keeps the last lines written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 4096
	t.b = append(t.b, p...)
	if len(t.b) > most {
		t.b = append(t.b[:0], t.b[len(t.b)-most:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
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
