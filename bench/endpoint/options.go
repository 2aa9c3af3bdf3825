// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"slices"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

// pathOptions converts a cell's choices to the options of one end's data path.
func pathOptions(s wire.EndSpec, p stream.Mode) stream.Options {
	c := &s.Cell
	o := stream.Options{MessageBytes: cmp.Or(c.MessageBytes, stream.DefaultMessage(p.Kind)), Touch: stream.TouchNone,
		Socket: c.PollOptions(s.Role), TLS: records.How(c.TLS)}
	o.Socket.RcvBuf, o.Socket.SndBuf, o.Socket.Congestion = c.RcvBuf, c.SndBuf, c.Congestion
	o.Socket.ZeroCopy = p.Has(stream.ZeroCopySocket)
	if p.Has(stream.UsesRing) {
		o.UringEngine = c.UringEngine
	}
	if p.Kind == stream.Frame || p.Has(stream.AFXDP) {
		o.Frames = framesOf(c)
	}
	if p.Has(stream.Batches) {
		o.Batch = c.UDPBatch
	}
	if s.Role == stream.TX {
		o.Socket.PaceBitsPS, o.TXArea = uint64(c.PaceBitsPS), c.TXArea
		o.Objects = stream.Objects{Bytes: c.ObjectBytes, Every: c.Every()}
		if p.Has(stream.RoundTrips) {
			o.MessageBytes, o.Trips = tripOptions(c, p.Kind)
		}
		return o
	}
	if p.Has(stream.Buffered) {
		o.BufferBytes = c.RXBuffer
	}
	if c.RoundTrips() {
		o.MessageBytes = requestBytes(c, p.Kind)
	}
	o.ReadBytes, o.Touch = c.ReadBytes, cmp.Or(stream.Touch(c.Touch), stream.TouchNone)
	if c.RoundTrips() {
		o.Touch = stream.TouchVerify // an answer is made of its request's bytes
	}
	if g := c.GatherUs; g != nil {
		o.Gather = time.Duration(*g) * time.Microsecond
	}
	if s.Cell.Steers() {
		o.NIC.Queue = c.Queue
	}
	if p.Has(stream.UsesNICQueue) {
		o.NIC = stream.NICQueue{Queue: c.Queue, Area: c.Area, AreaBytes: c.AreaBytes, AreaStart: c.AreaStart,
			BufLen:        c.RXBufLen,
			RefillEntries: c.RefillEntries, CQEntries: c.CQEntries, HoldBytes: c.HoldBytes, TokenBatch: c.TokenBatch}
	}
	if s.Inside != nil {
		o.NIC.Inside = s.Inside.Netns
	}
	return o
}

// framesOf converts a cell's choices of frames.
func framesOf(c *plan.Cell) stream.Frames {
	f := stream.Frames{Touch: c.XDPTouch, Attach: c.XDPAttach, Redirect: c.XDPRedirect, Tuples: c.Tuples,
		Burst: c.Burst, KeepGRO: c.GRO != nil}
	f.CPUs, _ = cpulist.Parse(c.GenCPUs) // it was read when it was set
	rx, err := modes.Find(stream.RX, c.RX)
	out, toDev := stream.RedirectDev(c.XDPRedirect)
	f.Returns = err == nil && (rx.Has(stream.SendsBack) || rx.Has(stream.Redirects) && toDev && out == "")
	return f
}

// steerTo chooses the queue that a control run steers a flow to, instead of the one that is taken
// over for it; nil: none.
func steerTo(c *plan.Cell, taken *int, beside ...int) *int {
	if c.Control == plan.WrongQueue {
		return otherQueue(taken, beside...)
	}
	return c.SteerTo
}

// otherQueue finds a queue that is not taken over, neither for the flow nor for those beside it;
// nil stands for the last, which is never the first: that one is left to everybody else.
func otherQueue(taken *int, beside ...int) *int {
	for q := 0; ; q++ {
		if (taken == nil || *taken != q) && !slices.Contains(beside, q) {
			return &q
		}
	}
}
