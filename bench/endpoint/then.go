// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/disk"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/judge/end"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// What the receiving application does with the payload (`then`). Passed on, it goes back to the
// sender's host, by a flow of its own for each that came: there another [End] of the sender's
// process receives it, by mode tcp, and verifies it. It measures nothing but its flows, as the
// other way of an end does. The hello names its port. What is written to a file is read back, and
// verified, when everything has been measured.

// sinkBuffer is what a sink receives into: it stays in the cache.
const sinkBuffer = 256 << 10

// sinkSpec makes the spec of what receives, at a sender, what comes back to it.
func sinkSpec(s wire.EndSpec, dev string) (wire.EndSpec, error) {
	b, err := backSpec(s, dev)
	c := &s.Cell
	b.Cell = plan.Cell{RX: "tcp", TX: "tcp", Touch: string(stream.TouchVerify), RXBuffer: sinkBuffer,
		RcvBuf: c.RcvBuf, SndBuf: c.SndBuf, Congestion: c.Congestion, Flows: c.Flows}
	return b, err
}

// passOn opens what payload of a flow that has come goes on to. The path is to move it there.
func (w *worker) passOn(o orders, path stream.Receiver, f *flow, a arrival) error {
	c := &w.end.spec.Cell
	switch {
	case c.WritesTo() != "":
		return w.toFile(path, f, a)
	case !c.PassesOn():
		return nil
	}
	h := stream.Hello{Cookie: w.end.spec.Cookie, TXMode: c.Then, MessageBytes: a.hello.MessageBytes,
		PeriodBytes: a.hello.PeriodBytes, Flow: f.N, Flows: len(w.end.flows)}
	to := net.JoinHostPort(a.conn.Remote.Addr().Unmap().String(), strconv.Itoa(int(a.hello.Back)))
	opts := f.opts.Socket
	opts.ZeroCopy = w.end.path.Has(stream.DMABuf)
	ctx, cancel := o.waits()
	defer cancel()
	out, _, err := stream.Dial(ctx, to, h, opts)
	if err != nil {
		return err
	}
	on, err := stream.NewOnward(a.conn, out, c.Then == plan.ThenSplice)
	f.onward.Store(on) // from now on it is closed, and aborted, with the flow
	if err != nil {
		return err
	}
	if p, ok := forwarder(path); ok {
		return p.PassOn(on, &f.Meter)
	}
	f.Meter.PassOn(on)
	return nil
}

// forwarder returns a path that passes payload on by a way of its own.
func forwarder(path stream.Receiver) (p stream.Forwarder, ok bool) {
	if s, steers := path.(*steered); steers {
		path = s.Receiver
	}
	p, ok = path.(stream.Forwarder)
	return p, ok
}

// makeFiles makes the files that payload is written to. To take their blocks may be a second's
// work: the flows, and their window, do not wait for it.
func (e *End) makeFiles() error {
	dir := e.spec.Cell.WritesTo()
	if dir == "" || e.spec.Role != stream.RX {
		return nil
	}
	files, err := disk.Make(dir, len(e.flows), disk.MostBytes)
	if err != nil {
		return err
	}
	for i, f := range e.flows {
		f.file = files[i]
	}
	return nil
}

// closeFiles closes those that were made.
func (e *End) closeFiles() (err error) {
	for _, f := range e.flows {
		if f.file != nil {
			err = errors.Join(err, f.file.Close())
		}
	}
	return err
}

// toFile has the path write payload of a flow that has come to its file.
func (w *worker) toFile(path stream.Receiver, f *flow, a arrival) error {
	p, ok := forwarder(path)
	if !ok {
		return fmt.Errorf("%s writes to no file", w.end.path.Name)
	}
	on := stream.ToFile(a.conn, f.file)
	f.onward.Store(on)
	f.period = int(a.hello.PeriodBytes)
	return p.PassOn(on, &f.Meter)
}

// readBack compares what the files hold with what was sent, where all flows have ended well.
func (r *run) readBack(ctx context.Context) error {
	if r.end.spec.Role != stream.RX || r.end.spec.Cell.WritesTo() == "" || r.died != nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wire.MostReadBack, &fault.Error{
		Op:  fmt.Sprintf("what was written is not read back within %v", wire.MostReadBack),
		How: "name a folder on a faster disk (--then write:DIR)"})
	defer cancel()
	for _, f := range r.end.flows {
		if err := f.readBack(ctx); err != nil {
			return r.end.named(f, err)
		}
	}
	return nil
}

// readBack compares what the flow's file holds, and adds what is known of it to the evidence.
func (f *flow) readBack(ctx context.Context) error {
	file := f.file
	var m stream.Meter
	look := stream.NewToucher(stream.TouchVerify, f.period)
	held, err := file.ReadBack(ctx, func(pos uint64, p []byte) { look.At(pos, p, &m) })
	if err != nil {
		return err
	}
	c, e := m.Snapshot(), &f.result.evidence
	f.kept = &end.Kept{Bytes: held, Mismatches: c.Mismatches, First: c.FirstMismatch}
	figure := func(name string, v uint64) {
		e.Figures = append(e.Figures, stream.Figure{Name: name, Unit: "bytes", Value: float64(v)})
	}
	figure("then_file_bytes", file.Bytes())
	figure("then_verified_bytes", held)
	figure("then_overwritten_bytes", file.Written()-held)
	if note := f.aboutCopies(file); note != "" {
		e.Notes = append(e.Notes, note)
	}
	return nil
}

// aboutCopies says why payload was copied into the page cache; "": none was, but for its end.
func (f *flow) aboutCopies(file *disk.File) string {
	grain, why := file.Grain()
	c := f.onward.Load().Meter.Snapshot()
	switch {
	case grain == 0:
		return "then: write: " + why
	case float64(c.CopiedBytes) > end.DefaultMaxCopied*float64(c.Bytes):
		return fmt.Sprintf("then: write: %.1f %% was copied into the page cache: what the device is to read itself "+
			"must come in pieces of %d bytes and begin at their multiples, in the flow and in memory (docs/then.md)",
			100*float64(c.CopiedBytes)/float64(c.Bytes), grain)
	}
	return ""
}

// passedOn ends the flow that goes on, when the one that came has ended, and takes the account of
// who received it.
func (f *flow) passedOn(sch wire.Schedule) (*stream.Farewell, error) {
	on := f.onward.Load()
	if on == nil || on.File != nil {
		return nil, nil
	}
	if err := on.Conn.EndOfSend(); err != nil {
		return nil, err
	}
	peer, err := on.Conn.ReadFarewell(graceEnd(sch))
	return &peer, err
}

// unpassed returns the error of the first of the flows that could not be passed on.
func (w *worker) unpassed() error {
	for _, f := range w.own {
		if err := f.onward.Load().Err(); err != nil {
			return stream.OfFlow(f.N, err)
		}
	}
	return nil
}

// closeOnward closes the flow that goes on, and frees what answers were sent from.
func (f *flow) closeOnward() {
	f.Meter.Answers().Close()
	if on := f.onward.Load(); on != nil && on.Conn != nil {
		on.Conn.Close()
	}
}

// onward sums what was passed on of all flows, or answered without a copy.
func (e *End) onward() (c stream.Counters) {
	for _, f := range e.flows {
		if on := f.onward.Load(); on != nil {
			c = c.Add(on.Meter.Snapshot())
		}
		if a := f.Meter.Answers(); a != nil {
			c = c.Add(a.Sent.Snapshot())
		}
	}
	return c
}

// fillThen fills what was passed on in the window. What splice copies nobody tells.
func (r *run) fillThen(h *results.Host, seconds float64) {
	c := &r.end.spec.Cell
	if r.end.spec.Role != stream.RX || c.Then == "" {
		return
	}
	w := r.to.onward.Sub(r.from.onward)
	h.Then = &results.Way{Bytes: w.Bytes, ThroughputGbps: float64(w.Bytes) * 8 / 1e9 / seconds}
	if c.Then != plan.ThenSplice {
		h.Then.ZeroCopyBytes, h.Then.CopiedBytes = &w.ZeroCopyBytes, &w.CopiedBytes
	}
	h.Metrics = append(h.Metrics, r.unread.metrics()...)
}

// knownOnward is what is known of how a flow was passed on; nil: it was not.
func (f *flow) knownOnward() *end.Onward {
	on := f.onward.Load()
	if on == nil {
		return nil
	}
	return &end.Onward{Sent: on.Meter.Snapshot(), Peer: f.result.onward, ToFile: on.File != nil, Kept: f.kept}
}
