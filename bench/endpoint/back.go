// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// The other way (`both: true`): while an end receives, or sends, another one of its process does
// the opposite, with as many flows on the same CPUs. It is an [End] of its own, that measures
// nothing but its flows: counters and CPU time are those of the first, which hold both. The host
// that sends in the first place listens, and its hello names the port.

// backAddr is where the other way of a receiver's flows goes: known when its sender has said so.
type backAddr struct {
	once  sync.Once
	known chan struct{} // closed: addr is there
	addr  string
}

func (b *backAddr) set(addr string) {
	b.once.Do(func() {
		b.addr = addr
		close(b.known)
	})
}

// wait returns the address, or why there is none.
func (b *backAddr) wait(ctx context.Context) (string, error) {
	select {
	case <-b.known:
		return b.addr, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// backSpec makes the spec of the other way of an end.
func backSpec(s wire.EndSpec, dev string) (b wire.EndSpec, err error) {
	b = wire.EndSpec{EndRef: s.EndRef, Cell: s.Cell, Dev: cmp.Or(s.Dev, dev), Upper: s.Upper, Cookie: s.Cookie,
		Addr: s.Addr}
	c := &b.Cell
	c.Both, c.Probe, c.CPULayout, c.TGCPULayout, c.SteerTo, c.Path = nil, "", "", "", nil, ""
	// Of an end that runs on its own nobody says by which modes the other way goes.
	c.RX, c.TX = cmp.Or(c.RX, "tcp"), cmp.Or(c.TX, "tcp")
	for _, f := range s.Flows {
		b.Flows = append(b.Flows, wire.FlowSpec{CPU: f.CPU})
	}
	if s.Role == stream.RX {
		b.Role = stream.TX
		host, _, err := net.SplitHostPort(s.Addr)
		if err != nil {
			return b, &UsageError{err}
		}
		b.Addr = net.JoinHostPort(cmp.Or(host, "localhost"), "1") // the hello says where it really goes
		return b, nil
	}
	b.Role = stream.RX
	from, err := sourceTo(s.Addr)
	b.Addr = net.JoinHostPort(from, "0")
	return b, err
}

// sourceTo finds the address of this host by which another one is reached. It sends nothing.
func sourceTo(addr string) (string, error) {
	c, err := net.Dial("udp", addr)
	if err != nil {
		return "", fmt.Errorf("find the address by which %s comes back: %w", addr, err)
	}
	defer c.Close()
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	return host, err
}

// openBack opens the other way, if one is asked for.
func (e *End) openBack(s wire.EndSpec) error {
	var spec wire.EndSpec
	var err error
	switch c := &s.Cell; {
	case c.BothWays():
		spec, err = backSpec(s, e.opts.NIC.Dev)
	case c.PassesOn() && s.Role == stream.TX:
		spec, err = sinkSpec(s, e.opts.NIC.Dev)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	back, err := openWay(spec, true)
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
		own := *u
		own.Op = e.otherWay() + ": " + u.Op
		return &own
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.otherWay(), err)
	}
	if e.back = back; s.Role == stream.RX {
		back.goesTo = &backAddr{known: make(chan struct{})}
	}
	return nil
}

// otherWay names the other way for people.
func (e *End) otherWay() string {
	switch {
	case e.spec.Cell.PassesOn():
		return "what was passed on, as the TG receives it"
	case e.spec.Role == stream.RX:
		return "the other way, from the SUT to the TG"
	}
	return "the other way, as the TG receives it"
}

// backPort returns the port to which the other way comes; 0: there is none, or it goes out.
func (e *End) backPort() uint16 {
	if e.back == nil || e.back.port == nil {
		return 0
	}
	a, err := netip.ParseAddrPort(e.back.Addr().String())
	if err != nil {
		return 0
	}
	return a.Port()
}

// meetBack tells the other way of a receiver where to go.
func (e *End) meetBack(a arrival) error {
	switch port := a.hello.Back; {
	case e.spec.Cell.PassesOn() && port == 0:
		return fmt.Errorf("the receiver was started with --then %[1]s, and the sender was not, so it waits for "+
			"nothing that comes back: start it with --then %[1]s, too", e.spec.Cell.Then)
	case port != 0 && e.spec.Cell.WritesTo() != "":
		return fmt.Errorf("the receiver was started with --then %s, and the sender waits for what comes back: it was "+
			"started with --then %s or %s, or --both, and wants none of them", e.spec.Cell.Then, plan.ThenForward,
			plan.ThenSplice)
	case e.spec.Cell.PassesOn():
	case (port != 0) != (e.back != nil):
		return errors.New(
			"one end sends and receives at once, and the other does not: give both ends the same --both and --then")
	case port != 0:
		e.back.goesTo.set(net.JoinHostPort(a.conn.Remote.Addr().Unmap().String(), strconv.Itoa(int(port))))
	}
	return nil
}

// runBoth runs both ways; one that fails ends the other.
func (e *End) runBoth(ctx context.Context, sch wire.Schedule) wire.EndResult {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run := func(end *End) (res wire.EndResult) {
		if res = end.run(ctx, sch); res.Verdict == results.Failed || res.Verdict == results.Unsupported {
			cancel(stream.ErrAborted)
		}
		return res
	}
	theirs := make(chan wire.EndResult, 1)
	go func() { theirs <- run(e.back) }()
	res := run(e)
	return e.withBack(res, <-theirs)
}

// withBack adds the other way to an end's result.
func (e *End) withBack(res, back wire.EndResult) wire.EndResult {
	if h := &back.Host; h.Bytes != nil {
		way := results.Way{Bytes: *h.Bytes, ThroughputGbps: *h.ThroughputGbps, ZeroCopyBytes: h.ZeroCopyBytes,
			CopiedBytes: h.CopiedBytes, Mismatches: h.Mismatches, Transactions: h.Transactions}
		if e.spec.Cell.PassesOn() {
			res.Host.Then = &way
		} else {
			res.Host.AddBack(way, h.RoundTrip)
		}
	}
	if !e.spec.Cell.PassesOn() {
		res.BackBytes, res.BackNs = back.Total.Bytes, back.FlowNs
	}
	res.Strangers += back.Strangers
	for _, w := range back.Warnings {
		res.Warnings = append(res.Warnings, e.otherWay()+": "+w)
	}
	if back.Verdict != results.OK && (res.Verdict == results.OK || res.BlamesPeer && !back.BlamesPeer) {
		res.Verdict, res.Fix, res.Expected, res.BlamesPeer = back.Verdict, back.Fix, back.Expected, back.BlamesPeer
		res.Reason = e.otherWay() + ": " + back.Reason
	}
	return res
}

// ofFlows fills what an end measures that is the other way of one: its flows alone.
func (r *run) ofFlows(h *results.Host) {
	w := sum(r.to.flows).Sub(sum(r.from.flows))
	seconds := float64(r.to.atNs-r.from.atNs) / 1e9
	gbps := float64(w.Bytes) * 8 / 1e9 / seconds
	h.DurationS, h.Bytes, h.ThroughputGbps = &seconds, &w.Bytes, &gbps
	if r.end.path.SortsBytes() {
		h.ZeroCopyBytes, h.CopiedBytes = &w.ZeroCopyBytes, &w.CopiedBytes
	}
	if r.end.opts.Touch == stream.TouchVerify {
		h.Mismatches = &w.Mismatches
	}
	r.countTrips(h, w)
}
