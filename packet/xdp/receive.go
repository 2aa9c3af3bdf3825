// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/packet/xsk"
)

// way is what becomes of the frames of a receive mode.
type way struct {
	xdp     bool // an XDP program has them, which does
	action  Action
	filter  func(dev string, t Tuples) (*filter, error) // a program of the stack has them
	program string                                      // that one
	socket  bool                                        // a socket has those that come so far
	read    bool                                        // and is read
}

func atIngress(dev string, t Tuples) (*filter, error)  { return openIngress(dev, t) }
func inPrerouting(_ string, t Tuples) (*filter, error) { return openPrerouting(t) }

// counting is a program that counts frames.
type counting interface {
	io.Closer
	Read() []Counts
}

// sockets of AF_XDP are an [xsk.Set].
type sockets interface {
	io.Closer
	Take(m *stream.Meter) (frames int)
	Wait(limit time.Duration)
	Lost() (xsk.Lost, error)
	Figures(xsk.Lost) []stream.Figure
}

// receiver is a rung as a data path.
type receiver struct {
	way
	o          stream.Options
	frameBytes int // with the flow's headers
	touch      Touch
	at         Attach

	name    string
	counter counting
	rung    *Rung // the counter, where it is XDP's
	sock    *Socket
	sockets sockets // of AF_XDP, where the rung sends frames there
	zero    bool    // these get them without a copy
	out     string  // the interface that the rung sends frames on by; "": none
	sleep   sock.Sleeper
	lease   *lease.Lease // of what a veth needs; nil: nothing

	mu      sync.Mutex // of all below, and of what is read for it
	err     error      // why that could not be read
	closed  bool
	counted Counts   // by the program so far
	came    uint64   // of these, that got where the rung sends them
	after   after    // what became of them
	got     received // by the socket
	dropped uint64   // by it
}

// newReceiver reads the choices: wrong ones are told before a flow is opened.
func newReceiver(mode string, w way) func(stream.Options) (*receiver, error) {
	return func(o stream.Options) (*receiver, error) {
		r := &receiver{way: w, name: mode, o: o}
		if err := r.choose(); err != nil {
			return nil, cannot(mode, err)
		}
		return r, nil
	}
}

func (r *receiver) choose() (err error) {
	f := r.o.Frames
	if r.action == toCPU {
		r.action, r.zero = redirectTo(f.Redirect)
		r.out, _ = stream.RedirectDev(f.Redirect)
	}
	if r.out != "" && r.out == r.o.NIC.Dev {
		return &fault.Error{Op: "redirect to " + r.out + ": that is the interface by which the frames come",
			How: "take xdp_redirect dev, which sends them back"}
	}
	back := Options{Action: r.action, OutDev: r.out}.sendsBack()
	r.touch = TouchRead
	if back {
		r.touch = TouchSwapMACs
	}
	if f.Touch != "" {
		r.touch, err = ParseTouch(f.Touch)
	}
	if f.Attach != "" && err == nil {
		r.at, err = ParseAttach(f.Attach)
	}
	if err == nil && r.xdp {
		err = checkTouch(r.action, r.touch, back)
	}
	if err == nil {
		err = Tuples{}.checkFrameBytes(r.o.MessageBytes+HeaderBytes, maxFrameBytes)
	}
	if err == nil && r.zero && r.at == Generic {
		err = &fault.Error{Op: "zero copy behind generic XDP: the NIC's driver has to do it",
			How: "take xdp_attach native, or xdp_redirect xsk"}
	}
	if err == nil && r.socket && !r.xdp && !r.read && f.Tuples > 1 {
		err = &fault.Error{Op: fmt.Sprintf(
			"%d 5-tuples to a socket that nobody reads: its drops would include other senders' datagrams", f.Tuples),
			How: "use one 5-tuple, or udp-recv"}
	}
	return err
}

// redirectTo parses where xdp-redirect sends frames, and whether AF_XDP sockets get them without a
// copy.
func redirectTo(word string) (a Action, zero bool) {
	if _, to := stream.RedirectDev(word); to {
		return toDev, false
	}
	switch word {
	case "xsk":
		return ToSocket, false
	case "xsk-zc":
		return ToSocket, true
	}
	return toCPU, false
}

// Attach puts the rung where it belongs, for this flow's frames.
func (r *receiver) Attach(c *stream.Conn, h stream.Hello) (err error) {
	if h.MessageBytes != uint64(r.o.MessageBytes) {
		return &fault.Error{Op: fmt.Sprintf("the sender sends packets of %d bytes, but %d are expected", h.MessageBytes,
			r.o.MessageBytes), How: "give both ends the same --message-size"}
	}
	t := TuplesOf(c.Remote, c.Local, r.o.Frames.Tuples)
	r.frameBytes = r.o.MessageBytes + t.HeaderBytes()
	if err := r.giveNAPI(); err != nil {
		return cannot(r.name, err)
	}
	if r.socket {
		if r.sock, err = OpenSocket(t, r.frameBytes, r.o.Socket.RcvBuf,
			payloadOf(h.TXMode, uint32(c.Key))); err != nil {
			return cannot(r.name, err)
		}
	}
	return cannot(r.name, r.place(t))
}

// giveNAPI sees that a veth has NAPI, without which it takes no frames: a native program brings
// it, and else GRO does, which is put back when the path is closed.
func (r *receiver) giveNAPI() error {
	l, err := rtnl.LinkNamed(r.o.NIC.Dev)
	if err != nil || l.Kind != "veth" || r.xdp && r.at == Native {
		return err
	}
	d, err := nic.Open(l.Name)
	if err != nil {
		return err
	}
	defer d.Close()
	if f, err := d.Feature("rx-gro"); err != nil || f.Active {
		return err
	}
	if r.o.Frames.KeepGRO {
		return &fault.Error{Op: l.Name + " has no NAPI with GRO off, so it accepts no frames", Err: unix.EOPNOTSUPP,
			How: "--gro on, or leave out --gro"}
	}
	r.lease = lease.New(lease.Options{})
	return r.lease.Apply(lease.Want{Dev: l.Name, Name: "feature rx-gro", Value: "on"})
}

// place attaches the program, if the way has one.
func (r *receiver) place(t Tuples) error {
	switch {
	case r.xdp:
		cpu, err := boundTo()
		if err != nil {
			return err
		}
		queues, err := r.queues()
		if err != nil {
			return err
		}
		r.rung, err = OpenRung(Options{Dev: r.o.NIC.Dev, Tuples: t, FrameBytes: r.frameBytes, Action: r.action,
			Touch: r.touch, Attach: r.at, CPU: cpu, OutDev: r.out})
		if err != nil {
			return err
		}
		r.counter = r.rung
		if r.action == ToSocket {
			set, err := xsk.OpenSet(xsk.Options{Dev: r.o.NIC.Dev, ZeroCopy: r.zero, Longest: r.frameBytes}, queues,
				r.rung)
			if err != nil {
				return err
			}
			r.sockets = set
			return nil
		}
		return r.after.open(r.rung)
	case r.filter != nil:
		f, err := r.filter(r.o.NIC.Dev, t)
		if err != nil {
			return err
		}
		r.counter = f
	}
	return nil
}

// queues returns how many AF_XDP sockets the rung wants.
func (r *receiver) queues() (int, error) {
	if r.action != ToSocket {
		return 0, nil
	}
	return xsk.Queues(r.o.NIC.Dev)
}

// boundTo returns the CPU that the calling thread is bound to; of several, the first.
func boundTo() (int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, fmt.Errorf("find the CPU of this thread: sched_getaffinity: %w", err)
	}
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			return cpu, nil
		}
	}
	return 0, errors.New("this thread may use no CPU")
}

const (
	// lookEvery is how often it is looked whether a flow has ended that is being read, or
	// whether frames still come.
	lookEvery = 5 * time.Millisecond
	// settleLimit is how long frames are waited for that were sent and did not come; those that
	// still come have come when nothing did for quiet.
	settleLimit = time.Second
	quiet       = 150 * time.Millisecond // a thread of NAPI that shares its CPU may wait for it
	// readsBetween is how many datagrams are read before the flow's end is looked for.
	readsBetween = 256
)

// Receive reads what is to be read, until the sender has ended the flow.
func (r *receiver) Receive(c *stream.Conn, m *stream.Meter) error {
	if r.sockets == nil && !r.read {
		return r.watch(c, m)
	}
	var end stream.EndWatch
	for {
		over, err := end.Look(c)
		if err != nil {
			return err
		}
		if over {
			return r.settle(c, m)
		}
		if r.sockets != nil {
			r.takeFrames(m, lookEvery)
		} else if err = r.take(m); err != nil {
			return err
		}
	}
}

// takeFrames takes what waits in the sockets of AF_XDP: the descriptors, and not the bytes. It ends
// also where frames come as fast as they are taken. Where none waits, it waits for limit.
func (r *receiver) takeFrames(m *stream.Meter, limit time.Duration) {
	for range readsBetween {
		n := r.sockets.Take(m)
		if n == 0 {
			if limit > 0 {
				m.Wait()
				r.sockets.Wait(limit)
			}
			return
		}
		r.came += uint64(n)
		r.count(m, uint64(n))
	}
}

func (r *receiver) count(m *stream.Meter, n uint64) {
	m.Packets(int(n))
	m.Bytes(int(n) * r.o.MessageBytes)
}

// take reads some datagrams.
func (r *receiver) take(m *stream.Meter) error {
	for range readsBetween {
		was := r.got
		more, err := r.sock.Take(&r.got, 0)
		if err != nil {
			return err
		}
		if !more {
			m.Wait()
			return nil
		}
		m.Call()
		r.count(m, r.got.Packets-was.Packets)
		if r.got.Corrupted > was.Corrupted {
			m.Corrupted()
		}
	}
	return nil
}

// settle waits for what is still on its way. The sender has said how much it sent.
func (r *receiver) settle(c *stream.Conn, m *stream.Meter) error {
	last, since := m.Snapshot().Packets, time.Now()
	for end := since.Add(settleLimit); ; r.sleep.Sleep(lookEvery) {
		if err := r.rest(m); err != nil {
			return err
		}
		now := time.Now()
		if n := m.Snapshot().Packets; n != last {
			last, since = n, now
		}
		if last >= c.Sent || now.Sub(since) > quiet || now.After(end) || c.Stopping() {
			return nil
		}
	}
}

// rest counts what has come, also what waits in a socket that nobody reads.
func (r *receiver) rest(m *stream.Meter) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sockets != nil {
		r.takeFrames(m, 0) // what is left is for the next look
		r.counted = Sum(r.counter.Read())
		return nil
	}
	if r.counter != nil {
		return r.look(m, r.counted)
	}
	was := r.got
	if err := r.sock.Drain(&r.got); err != nil {
		return err
	}
	r.count(m, r.got.Packets-was.Packets)
	for range r.got.Corrupted - was.Corrupted {
		m.Corrupted()
	}
	if r.read {
		return nil
	}
	return r.look(m, Counts{})
}

// Evidence reports what else was counted.
func (r *receiver) Evidence() (e stream.Evidence) {
	r.mu.Lock() // somebody may still be reading
	defer r.mu.Unlock()
	add := func(name string, n uint64) {
		e.Figures = append(e.Figures, stream.Figure{Name: name, Unit: "packets", Value: float64(n)})
	}
	if r.counter != nil {
		add("frames_of_others", r.counted.Others)
		add("frames_not_redirected", r.counted.Missed)
		if why := inexactHere(); why != "" {
			e.Notes = append(e.Notes, why)
		}
	}
	if r.rung == nil {
		return e
	}
	lost := func(name string, n uint64) {
		if n > 0 {
			e.Lost = append(e.Lost, stream.Figure{Name: name, Unit: "packets", Value: float64(n)})
		}
	}
	lost("frames_not_redirected", r.counted.Missed)
	sent := r.counted.Redirected()
	switch {
	case r.action == toCPU:
		add("frames_behind_cpumap", r.came)
		add("frames_lost_in_cpumap", sent-min(r.came, sent))
		lost("frames_lost_in_cpumap", sent-min(r.came, sent))
	case r.action == ToSocket:
		r.evidenceOfSockets(&e, lost)
	case r.out != "":
		add("redirect_dev_tx_packets", r.after.left)
		if n := r.after.others(sent); n > 0 {
			add(stream.PacketsOfOthers, n)
		}
		if n := r.after.untold(sent); n > 0 {
			e.Notes = append(e.Notes, fmt.Sprintf("%d frames that were redirected to %s are in none of its "+
				"counters: it did not take them (its peer has no NAPI any more), or several CPUs sent to one of "+
				"its peer's queues, where a veth loses counts", n, r.out))
		}
		lost("redirect_dev_tx_dropped", r.after.refused)
	case r.rung.sendsBack():
		lost("frames_not_sent_back", r.after.refused)
	}
	return e
}

// evidenceOfSockets adds what AF_XDP lost of the frames that were redirected there.
func (r *receiver) evidenceOfSockets(e *stream.Evidence, lost func(string, uint64)) {
	l, err := r.sockets.Lost()
	if err != nil {
		e.Notes = append(e.Notes, "not measured: what AF_XDP lost: "+err.Error())
		return
	}
	for _, x := range l.Lines(r.zero) {
		lost(x.Name, uint64(x.Value))
	}
	e.Figures = append(e.Figures, r.sockets.Figures(l)...)
}

// Close takes the rung away.
func (r *receiver) Close() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.counter != nil {
		err = r.counter.Close()
		r.counter = nil
	}
	if r.sockets != nil {
		err = errors.Join(err, r.sockets.Close())
		r.sockets = nil
	}
	r.after.close()
	if r.sock != nil {
		err = errors.Join(err, r.sock.Close())
	}
	if r.lease != nil {
		err = errors.Join(err, r.lease.Restore())
		r.lease = nil
	}
	return err
}

// ReceiverMetrics describe what became of frames at the receiver.
var ReceiverMetrics = []measure.MetricDoc{
	{Names: "frames_of_others frames_not_redirected",
		Units: "packets", Source: "data path, whole flow",
		Meaning: "frames that were not the generator's, and went on; of the generator's, those that " +
			"the program could not redirect, and dropped"},
	{Names: "redirect_dev_tx_packets",
		Units: "packets", Source: "data path, whole flow",
		Meaning: "for xdp-redirect to dev:NAME: packets that the interface's tx_packets counted " +
			"meanwhile, those of others too"},
	{Names: "redirect_dev_others_packets",
		Units: "packets", Source: "data path, whole flow",
		Meaning: "of these, where the driver does not tell redirected frames from others, as many as " +
			"are more than the frames: packets of others, at least; of as many frames it is not " +
			"known whether they left, so packets_unaccounted is empty. Missing where there are none"},
	{Names: "frames_behind_cpumap frames_lost_in_cpumap",
		Units: "packets", Source: "data path, whole flow",
		Meaning: "for xdp-redirect: frames that arrived on the other CPU, and those that its queue " +
			"had no space for"},
	{Names: "cpumap_thread_cores",
		Units: "cores", Source: "perf_event task-clock; /proc/PID/task/TID/schedstat",
		Meaning: "for xdp-redirect to a CPU: what the kernel thread behind the cpumap used, which " +
			"poller_cores includes, too"},
}
