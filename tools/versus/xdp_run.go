// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/packet/xdp"
)

// xdpCase is what becomes of the frames.
type xdpCase struct {
	action xdp.Action
	attach xdp.Attach
	touch  xdp.Touch
}

func (c xdpCase) String() string { return fmt.Sprintf("%v %v %v", c.action, c.attach, c.touch) }

// xdpReceiver is a tool whose program is at the receiver's interface.
type xdpReceiver interface {
	end() (uint64, error) // takes the program away: how many frames the tool has counted
	close() error
}

// xdpSample is one run. The interface's counters decide, and not what a tool says of itself.
type xdpSample struct {
	PerSecond float64 `json:"per_second"`    // frames that the receiver took
	NsEach    float64 `json:"ns_each"`       // time of the NAPI thread for each
	Cores     float64 `json:"cores"`         // that it kept busy
	Lost      float64 `json:"lost"`          // share of the generator's frames that found no room
	Frames    uint64  `json:"frames"`        // that came in all, by the interface, and by the tool
	Others    float64 `json:"foreign_cores"` // of ticks of 10 ms: rounding may make it a little less than 0
	Stolen    float64 `json:"stolen_cores"`
}

const (
	xdpRamp  = 300 * time.Millisecond
	xdpSlack = 5 * time.Second // a generator that nobody stops
	settles  = 5 * time.Second
)

// run makes the generator send while a tool's program is there, and reads the counters at the edges
// of a window of length d, and before and after all.
func (l *xdpLink) run(ctx context.Context, c xdpCase, start func(context.Context, *xdpLink, xdpCase) (xdpReceiver,
	error), d time.Duration) (s xdpSample, err error) {
	g, err := l.generator(xdpRamp + d + xdpSlack)
	if err != nil {
		return s, err
	}
	defer g.Close()
	end, err := l.beyond(c)
	if err != nil {
		return s, err
	}
	defer end.Close()
	r, err := start(ctx, l, c)
	if err != nil {
		return s, err
	}
	defer r.close()
	before, err := l.edges()
	if err != nil {
		return s, err
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Run() }()
	s, err = l.window(ctx, d)
	g.Stop()
	if err = errors.Join(err, <-ended); err != nil {
		return s, err
	}
	if s.Frames, s.Lost, err = l.account(g, before); err != nil {
		return s, err
	}
	counted, err := r.end()
	if err == nil && counted != s.Frames {
		err = fmt.Errorf("it counted %d frames, the interface %d", counted, s.Frames)
	}
	return s, err
}

// edges are the counters of both interfaces.
type edges struct{ sent, received rtnl.Stats }

func (l *xdpLink) edges() (e edges, err error) {
	if e.sent, err = l.sent(); err == nil {
		e.received, err = l.received()
	}
	return e, err
}

// account waits until what was sent has come or was dropped, to the last frame.
func (l *xdpLink) account(g *xdp.Generator, before edges) (frames uint64, lost float64, err error) {
	did, err := g.Read()
	if err != nil {
		return 0, 0, err
	}
	for end := time.Now().Add(settles); ; time.Sleep(time.Millisecond) {
		now, err := l.edges()
		if err != nil {
			return 0, 0, err
		}
		came := now.received.RxPackets - before.received.RxPackets
		dropped := now.sent.TxDropped - before.sent.TxDropped
		if came+dropped == did.Sent && did.Refused == 0 {
			return came, float64(dropped) / float64(did.Sent), nil
		}
		if time.Now().After(end) {
			return 0, 0, fmt.Errorf("of %d frames sent %d came and %d were dropped, %d were refused", did.Sent, came,
				dropped, did.Refused)
		}
	}
}

// moment is the state of link and machine.
type moment struct {
	at     time.Time
	frames uint64
	thread time.Duration // of NAPI
	ours   time.Duration // CPU time of this process
	tasks  time.Duration // of all
	cpu    counter.CPUSnapshot
}

func (l *xdpLink) moment() (m moment, err error) {
	if m, err = l.instant(); err != nil {
		return m, err
	}
	if m.cpu, err = counter.ReadCPU(counter.FS{}); err != nil {
		return m, err
	}
	m.ours = ownTime()
	m.tasks, err = tasksTime("/proc")
	return m, err
}

// instant reads the state of the link alone, which is sooner done.
func (l *xdpLink) instant() (m moment, err error) {
	m.at = time.Now()
	s, err := l.received()
	if err != nil {
		return m, err
	}
	m.frames = s.RxPackets
	threads, err := l.threads.Read()
	for _, t := range threads {
		m.thread += time.Duration(t.RunNs)
	}
	return m, err
}

func ownTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) // cannot fail
	return time.Duration(ts.Nano())
}

// window measures while frames come.
func (l *xdpLink) window(ctx context.Context, d time.Duration) (s xdpSample, err error) {
	if err := pause(ctx, xdpRamp); err != nil {
		return s, err
	}
	a, err := l.moment()
	if err != nil {
		return s, err
	}
	if err := pause(ctx, d); err != nil {
		return s, err
	}
	b, err := l.moment()
	if err != nil {
		return s, err
	}
	return between(a, b)
}

// between computes the figures of a window. Time of the other tool's process, which looks at its
// counters once a second, counts as others': it is next to nothing.
func between(a, b moment) (s xdpSample, err error) {
	frames, wall := float64(b.frames-a.frames), b.at.Sub(a.at)
	if frames == 0 {
		return s, errors.New("no frame came")
	}
	u := counter.Usage(a.cpu, b.cpu, nil)
	thread := b.thread - a.thread
	s = xdpSample{PerSecond: frames / wall.Seconds(), NsEach: float64(thread) / frames,
		Cores:  thread.Seconds() / wall.Seconds(),
		Others: ((b.tasks - a.tasks) - (b.ours - a.ours) - thread).Seconds() / wall.Seconds()}
	if u.StealCores != nil {
		s.Stolen = *u.StealCores
	}
	return s, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ourRung is the program that the modes of zcbench use. Nothing else of them runs while frames
// come: their thread sleeps, and whoever wants to know maps the counters.
type ourRung struct{ rung *xdp.Rung }

func startOurs(_ context.Context, l *xdpLink, c xdpCase) (xdpReceiver, error) {
	r, err := l.attachOurs(c)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (l *xdpLink) attachOurs(c xdpCase) (*ourRung, error) {
	r := &ourRung{}
	return r, l.pair.SUT.Netns.Do(func() (err error) {
		r.rung, err = xdp.OpenRung(xdp.Options{Dev: l.pair.SUT.Dev, Tuples: l.tuples, FrameBytes: xdp.MinFrameBytes,
			Action: c.action, Touch: c.touch, Attach: c.attach})
		return err
	})
}

func (r *ourRung) end() (uint64, error) {
	n := xdp.Sum(r.rung.Read())
	return n.Frames + n.Others, r.rung.Close()
}

func (r *ourRung) close() error { return r.rung.Close() }
