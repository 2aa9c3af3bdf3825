// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// generates is what makes frames: a [Generator], or a [kernelGenerator].
type generates interface {
	Peer() net.HardwareAddr
	Read() (generated, error)
	Extend(time.Duration) error
	Stop()
	link() linkCounts
	Close() error
}

// maker makes one of a mode, and says how it is run on the thread that called it.
type maker struct {
	mode string
	make func(o GeneratorOptions, cpus []int) (generates, func() error, error)
}

var xdpMaker = maker{pktgen, func(o GeneratorOptions, cpus []int) (generates, func() error, error) {
	if o.CPUs = cpus; len(cpus) > 0 {
		g, err := NewGenerator(o)
		return g, func() error { return g.Run() }, err
	}
	cpu, err := boundTo()
	if err != nil {
		return nil, nil, err
	}
	o.CPUs = []int{cpu}
	g, err := NewGenerator(o)
	return g, func() error { return g.RunHere() }, err
}}

// sender is a generator as a data path.
type sender struct {
	maker
	o    stream.Options
	back *Rung // takes frames that come back
	g    generates

	done   generated
	before linkCounts
}

func newSender(by maker) func(stream.Options) (*sender, error) {
	return func(o stream.Options) (*sender, error) {
		if err := (Tuples{}).checkFrameBytes(o.MessageBytes+HeaderBytes, maxFrameBytes); err != nil {
			return nil, err
		}
		return &sender{maker: by, o: o}, nil
	}
}

// leash is how long frames go on when nobody looks after them any more.
const leash = 2 * time.Second

// Send sends frames until c.Stopping.
func (s *sender) Send(c *stream.Conn, _ *stream.Payload, m *stream.Meter) (err error) {
	t := TuplesOf(c.Local, c.Remote, s.o.Frames.Tuples)
	n := s.o.MessageBytes + t.HeaderBytes()
	if s.o.Frames.Returns {
		// A veth takes frames only where a program or GRO gives it NAPI; this one also counts them.
		if s.back, err = OpenRung(Options{Dev: s.o.NIC.Dev, Tuples: t, FrameBytes: n, Action: Drop,
			Touch: TouchRead}); err != nil {
			return cannot(s.mode, err)
		}
	}
	g, run, err := s.make(GeneratorOptions{Dev: s.o.NIC.Dev, Tuples: t, FrameBytes: n, Tag: uint32(c.Key),
		Rate: float64(s.o.Socket.PaceBitsPS) / 8 / float64(s.o.MessageBytes), Burst: s.o.Frames.Burst, Limit: leash},
		s.o.Frames.CPUs)
	if err != nil {
		return cannot(s.mode, err)
	}
	s.g = g
	far, err := openFarEnd(s.o.NIC.Dev, t, g.Peer(), c.Words)
	if err != nil {
		return err
	}
	defer far.close()
	s.before = g.link()
	over, watched := make(chan struct{}), make(chan error)
	go func() { watched <- s.watch(c, m, far, over) }()
	err = run()
	close(over)
	err = errors.Join(err, <-watched)
	c.Sent = s.done.Sent
	if err == nil {
		err = c.Aborted()
	}
	if err == nil && s.back != nil {
		err = s.awaitReturns()
	}
	if err == nil && !c.Stopping() {
		err = &fault.Error{Op: fmt.Sprintf("the generator was not attended for %v, so it stopped", leash),
			How: "this process got no CPU time: give its threads a CPU other than the generator's, which never rests"}
	}
	return err
}

// awaitReturns waits for frames that are still on their way back.
func (s *sender) awaitReturns() error {
	var last uint64
	since := time.Now()
	for end := since.Add(settleLimit); ; time.Sleep(lookEvery) {
		now := time.Now()
		if n := Sum(s.back.Read()).Frames; n != last {
			last, since = n, now
		}
		if last >= s.done.Sent || now.Sub(since) > quiet || now.After(end) {
			return nil
		}
	}
}

// watch counts what was sent while the thread is in the kernel, and lets it go on as long as the
// receiver is there.
func (s *sender) watch(c *stream.Conn, m *stream.Meter, far *farEnd, over <-chan struct{}) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		ended := false
		select {
		case <-over:
			ended = true
		case <-tick.C:
		}
		if err := s.count(m); err != nil || ended {
			s.g.Stop()
			return err
		}
		err := far.look(time.Now())
		if c.Stopping() {
			s.g.Stop()
			continue // who stops may have ended the connection
		}
		if err == nil {
			err = s.g.Extend(leash)
		}
		if err != nil {
			s.g.Stop()
			return err
		}
	}
}

func (s *sender) count(m *stream.Meter) error {
	now, err := s.g.Read()
	if err != nil {
		return err
	}
	n := int(now.Sent - s.done.Sent)
	m.Packets(n)
	m.Bytes(n * s.o.MessageBytes)
	s.done = now
	return nil
}

// Evidence reports what else was counted.
func (s *sender) Evidence() (e stream.Evidence) {
	add := func(name, unit string, v float64) {
		e.Figures = append(e.Figures, stream.Figure{Name: name, Unit: unit, Value: v})
	}
	add("frames_refused", "packets", float64(s.done.Refused))
	if s.o.Socket.PaceBitsPS > 0 {
		add("frames_pace_given_up_us", "us", float64(s.done.Late.Microseconds()))
	}
	if s.g == nil {
		return e
	}
	after := s.g.link()
	if after.countsNotTaken && s.before.countsNotTaken {
		e.Lost = []stream.Figure{{Name: "tx_dropped", Unit: "packets",
			Value: float64(after.notTaken - min(s.before.notTaken, after.notTaken))}}
	}
	if after.countsPassed && s.before.countsPassed {
		add(stream.FramesPassedOn, "packets", float64(after.passed-min(s.before.passed, after.passed)))
	}
	if s.back != nil {
		add(stream.FramesReturned, "packets", float64(Sum(s.back.Read()).Frames))
	}
	return e
}

// linkCounts are what an interface counted of the generator's frames, since it was made.
type linkCounts struct {
	passed, notTaken             uint64 // frames that it passed on; that it did not
	countsPassed, countsNotTaken bool   // it tells
}

// redirected reads what an interface counts of redirected frames, by its driver's own counters:
// tx_packets and tx_dropped have packets of the host's stack, too. Of the drivers, veth's is known
// (drivers/net/veth.c: veth_tq_stats_desc). Of others it is tx_dropped, which need not have them
// all.
func redirected(dev string) (c linkCounts) {
	d, err := nic.Open(dev)
	if err != nil {
		return c
	}
	defer d.Close()
	if c = redirectedBy(d); c.countsNotTaken {
		return c
	}
	l, err := rtnl.LinkNamed(dev)
	if err != nil || l.Stats == nil {
		return linkCounts{}
	}
	return linkCounts{notTaken: l.Stats.TxDropped, countsNotTaken: true}
}

// redirectedBy adds up what a driver's own counters have of redirected frames.
func redirectedBy(d *nic.Device) (c linkCounts) {
	all, _ := d.StatList() // a driver need not have any
	for _, x := range all {
		switch {
		case strings.HasSuffix(x.Name, "_xdp_xmit_errors"):
			c.notTaken, c.countsNotTaken = c.notTaken+x.Value, true
		case strings.HasPrefix(x.Name, "tx_queue_") && strings.HasSuffix(x.Name, "_xdp_xmit"):
			c.passed, c.countsPassed = c.passed+x.Value, true
		}
	}
	return c
}

// Close frees the generator, and what took frames back.
func (s *sender) Close() (err error) {
	if s.back != nil {
		err = s.back.Close()
		s.back = nil
	}
	if s.g != nil {
		err = errors.Join(err, s.g.Close())
	}
	return err
}

// SenderMetrics describe what became of frames at the generator.
var SenderMetrics = []measure.MetricDoc{
	{Names: "frames_refused frames_passed_on frames_returned frames_pace_given_up_us",
		Units: "packets packets packets us", Source: "data path, whole flow",
		Meaning: "of the generator: frames that the kernel refused to redirect; frames that its " +
			"interface counts as passed on (veth: `tx_queue_N_xdp_xmit`); frames returned " +
			"to it; how much of its pace it gave up because it was late"},
}
