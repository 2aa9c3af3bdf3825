// SPDX-License-Identifier: MIT

package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// GeneratorOptions of [NewGenerator].
type GeneratorOptions struct {
	Dev        string // that the frames leave by, in the calling thread's network namespace
	Tuples     Tuples
	FrameBytes int
	CPUs       []int         // that make frames, each by itself; one at least
	Rate       float64       // frames per second of all; 0: as fast as it goes
	Burst      int           // frames that leave together at a rate; 0: one
	Batch      int           // frames that the kernel makes at a time; 0: [defaultBatch]
	Limit      time.Duration // after which nothing is sent any more, unless [Generator.Extend] puts it off
	Frames     uint64        // to be sent by each CPU; 0: no end before Limit
	Tag        uint32        // stands in each frame, behind its number
	// frames begin at a line of the cache, as a NIC's do; that costs the generator a fifth of its
	// rate
	AtLine bool
}

// Limits of [GeneratorOptions].
const (
	// defaultBatch is good for veth, whose queue has 256 frames: one at a time costs three times
	// as much, and 256 overflow it.
	defaultBatch = 64
	maxBatch     = 256 // net/bpf/test_run.c: TEST_XDP_MAX_BATCH, 6.18
	maxLimit     = 24 * time.Hour
)

// most is how many frames one call of the kernel makes: each costs it some 25 ms to prepare.
const most = 1 << 26

// Generator sends frames to one peer, as fast as the kernel can: a program on live copies of a
// frame (BPF_PROG_TEST_RUN, 5.18), which writes them anew and redirects them to the interface.
// Whoever holds it is asked by the kernel for each call, and a call ends with any signal: what is
// killed or stopped sends nothing more.
type Generator struct {
	GeneratorOptions
	c     *ebpf.Collection
	frame []byte // behind what does not leave
	peer  net.HardwareAddr

	stopping atomic.Bool
	mu       sync.Mutex
	threads  map[int]bool // that run the program now
	end      *time.Timer
}

// lineState is struct line of frames.bpf.c.
type lineState struct {
	Sent, Refused, Looks        uint64
	Most, DueNs, LateNs, Number uint64
	Left, Port                  uint32
}

// generated is what a generator has done.
type generated struct {
	Sent    uint64        // frames handed to the interface
	Refused uint64        // that the kernel would not redirect
	Late    time.Duration // of the pace, given up: the CPUs' sum
}

// NewGenerator finds the peer, and loads the program. Frames go to a host on the interface's own
// link alone: a router would have to carry them on. It needs root.
func NewGenerator(o GeneratorOptions) (_ *Generator, err error) {
	o.CPUs = slices.Clone(o.CPUs)
	if err := o.check(); err != nil {
		return nil, err
	}
	g := &Generator{GeneratorOptions: o, threads: map[int]bool{}}
	if err := g.open(); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (o *GeneratorOptions) check() error {
	if err := o.Tuples.check(); err != nil {
		return err
	}
	if o.Batch == 0 {
		o.Batch = defaultBatch
	}
	if o.Burst == 0 {
		o.Burst = 1
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("generate frames: %w", err)
	}
	slices.Sort(o.CPUs)
	switch {
	case len(o.CPUs) == 0 || o.CPUs[0] < 0 || o.CPUs[len(o.CPUs)-1] >= cpus ||
		len(slices.Compact(slices.Clone(o.CPUs))) != len(o.CPUs):
		return fmt.Errorf("CPUs %v to generate frames: want one or more of 0 to %d, each once", o.CPUs, cpus-1)
	case o.Batch < 1 || o.Batch > maxBatch:
		return fmt.Errorf("batches of %d frames: want 1 to %d", o.Batch, maxBatch)
	case o.Burst < 1 || o.Burst > stream.MaxBurst:
		return fmt.Errorf("bursts of %d frames: want 1 to %d", o.Burst, stream.MaxBurst)
	case !(o.Rate >= 0 && o.Rate <= 1e9) || o.Rate > 0 && o.Rate < 1:
		return fmt.Errorf("%v frames a second: want 1 to 1e9, or 0 for as many as possible", o.Rate)
	case o.Limit <= 0 || o.Limit > maxLimit:
		return fmt.Errorf("frames for %v: must be above 0 and at most %v", o.Limit, maxLimit)
	}
	return nil
}

func (g *Generator) open() error {
	dev, err := rtnl.LinkNamed(g.Dev)
	if err != nil {
		return err
	}
	source, err := sourceMAC(g.Dev, dev)
	if err != nil {
		return err
	}
	if err := g.Tuples.checkFrameBytes(g.FrameBytes, dev.MTU); err != nil {
		return err
	}
	if g.peer, err = resolve(dev, g.Tuples); err != nil {
		return err
	}
	if err := transmits("generate frames on", g.Dev); err != nil {
		return err
	}
	frame := g.Tuples.frame(source, g.peer, g.FrameBytes, g.Tag)
	var header [8]uint64
	for i := range min(len(header), len(frame)/8) { // of the shortest the rest is number and tag
		header[i] = binary.NativeEndian.Uint64(frame[8*i:])
	}
	tag := frame[g.Tuples.HeaderBytes()+8:]
	ahead := 0
	if g.AtLine {
		if ahead, err = beforeLine(); err != nil {
			return err
		}
	}
	g.frame = append(make([]byte, ahead), frame...)
	c := map[string]any{framesVarHeader: header, framesVarBaseSum: g.Tuples.baseSum(frame),
		framesVarTag: binary.NativeEndian.Uint32(tag), framesVarBurst: uint32(g.Burst), framesVarAhead: uint32(ahead)}
	if g.Rate > 0 {
		c[framesVarBurstNs] = max(uint64(float64(g.Burst)*1e9*float64(len(g.CPUs))/g.Rate), 1)
	}
	if g.c, err = load(with(g.Tuples.constants(), c), nil, framesProgGenerate); err != nil {
		return err
	}
	if err := g.c.Maps[framesMapOut].Put(uint32(0), uint32(dev.Index)); err != nil {
		return &fault.Error{Op: "redirect frames to " + g.Dev, Err: err,
			How: "its driver must accept frames redirected by XDP"}
	}
	return nil
}

// Run sends, each CPU on a thread of its own, until Limit has passed, each CPU has sent Frames, or
// Stop is called. It, or RunHere, may be called once.
func (g *Generator) Run() error {
	if err := g.arm(); err != nil {
		return err
	}
	errs := make([]error, len(g.CPUs))
	var wait sync.WaitGroup
	for i, cpu := range g.CPUs {
		wait.Go(func() {
			runtime.LockOSThread() // never unlocked: its CPU is nobody else's
			if errs[i] = g.bind(cpu); errs[i] == nil {
				errs[i] = g.run(cpu)
			}
			if errs[i] != nil {
				g.Stop()
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// RunHere runs a generator with one CPU as Run does, on the calling thread, which is bound to that
// CPU.
func (g *Generator) RunHere() error {
	if err := g.arm(); err != nil {
		return err
	}
	return g.run(g.CPUs[0])
}

// arm sets what the program is to send, and until when.
func (g *Generator) arm() error {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return err
	}
	frames := g.Frames
	if frames == 0 {
		frames = math.MaxUint64
	}
	now := uint64(monotonic())
	states := make([]lineState, cpus)
	for i, cpu := range g.CPUs {
		// The first byte of a number tells the CPUs apart.
		states[cpu] = lineState{Most: frames, DueNs: now, Number: uint64(i) << 56}
	}
	if err := g.c.Maps[framesMapLines].Put(uint32(0), states); err != nil {
		return fmt.Errorf("tell the generator what to send: %w", err)
	}
	g.mu.Lock()
	g.end = time.AfterFunc(g.Limit, g.Stop)
	g.mu.Unlock()
	return g.Extend(g.Limit)
}

// Extend lets it go on for so long from now.
func (g *Generator) Extend(d time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end != nil {
		g.end.Reset(d)
	}
	if err := g.c.Maps[framesMapUntil].Put(uint32(0), uint64(monotonic()+int64(d))); err != nil {
		return fmt.Errorf("tell the generator when to end: %w", err)
	}
	return nil
}

// bind binds the calling thread to a CPU.
func (g *Generator) bind(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return &fault.Error{Op: fmt.Sprintf("generate frames on CPU %d", cpu), Err: err,
			How: "name a CPU that this process may use (taskset -p)"}
	}
	return nil
}

// run sends one CPU's part, on a thread that is bound to it.
func (g *Generator) run(cpu int) error {
	tid := unix.Gettid()
	g.enter(tid, true)
	defer g.enter(tid, false)
	for !g.stopping.Load() {
		left, err := g.left(cpu)
		if err != nil || left == 0 {
			return err
		}
		repeat := min(left, most)
		if g.Rate > 0 {
			repeat = most // most of them are not yet due
		}
		switch errno := runLive(g.c.Programs[framesProgGenerate].FD(), g.frame, uint32(repeat),
			uint32(g.Batch)); errno {
		case 0, unix.EINTR:
		default:
			return liveError(errno)
		}
	}
	return nil
}

// left returns how many frames a CPU has yet to send.
func (g *Generator) left(cpu int) (uint64, error) {
	states, err := g.states()
	if err != nil {
		return 0, err
	}
	s := states[cpu]
	return s.Most - min(s.Sent, s.Most), nil
}

func (g *Generator) states() (of []lineState, err error) {
	if err := g.c.Maps[framesMapLines].Lookup(uint32(0), &of); err != nil {
		return nil, fmt.Errorf("read what the generator has sent: %w", err)
	}
	return of, nil
}

func (g *Generator) enter(tid int, in bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if in {
		g.threads[tid] = true
	} else {
		delete(g.threads, tid)
	}
}

// Stop ends Run. It may be called at any time, and does not wait.
func (g *Generator) Stop() {
	if g.stopping.Swap(true) {
		return
	}
	go func() { // a signal before the call is none in it: again, until all are out
		for g.interrupt() {
			time.Sleep(time.Millisecond)
		}
	}()
}

// interrupt ends the kernel's part, and reports whether there was any. The signal is one that the
// Go runtime sends itself, and makes nothing of.
func (g *Generator) interrupt() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for tid := range g.threads {
		_ = unix.Tgkill(unix.Getpid(), tid, unix.SIGURG)
	}
	return len(g.threads) > 0
}

// Peer returns the receiver's address on the link.
func (g *Generator) Peer() net.HardwareAddr { return g.peer }

func (g *Generator) link() linkCounts { return redirected(g.Dev) }

// Read adds up what was done so far.
func (g *Generator) Read() (all generated, err error) {
	states, err := g.states()
	if err != nil {
		return all, err
	}
	for _, s := range states {
		all.Sent += s.Sent
		all.Refused += s.Refused
		all.Late += time.Duration(s.LateNs)
	}
	return all, nil
}

// Close unloads the program. Run must have ended. It may be called twice.
func (g *Generator) Close() error {
	if g.end != nil {
		g.end.Stop()
	}
	if g.c != nil {
		g.c.Close()
	}
	g.c = nil
	return nil
}

func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail
	return ts.Nano()
}

func liveError(errno unix.Errno) error {
	return remedy.Error(remedy.XDPLive, "generate frames (BPF_PROG_TEST_RUN)", errno, remedy.On{})
}
