// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

func optionsOf(t *testing.T, role stream.Role, c plan.Cell) stream.Options {
	t.Helper()
	p, err := modes.Find(role, c.Mode(role))
	if err != nil {
		t.Fatal(err)
	}
	return pathOptions(wire.EndSpec{Role: role, Cell: c}, p)
}

// The control steers to a queue that the mode does not take.
func TestControlSteers(t *testing.T) {
	first, third := 0, 3
	for _, x := range []struct {
		queue *int
		want  int
	}{{nil, 0}, {&third, 0}, {&first, 1}} {
		c := plan.Cell{RX: "zcrx", TX: "tcp", Control: plan.WrongQueue, Queue: x.queue}
		only := func() *flow {
			return flowsOf(wire.EndSpec{Role: stream.RX, Cell: c, Flows: wire.OneFlow(-1)},
				optionsOf(t, stream.RX, c))[0]
		}
		if to := only().steerTo; to == nil || *to != x.want {
			t.Errorf("queue %v: steered to %v, want %d", x.queue, to, x.want)
		}
		c.Control = ""
		if to := only().steerTo; to != nil {
			t.Errorf("without a control it is steered to %d", *to)
		}
		if c.SteerTo = &third; *only().steerTo != third {
			t.Errorf("it is steered to %d", *only().steerTo)
		}
	}
}

// Every choice gets to the end that it is of, and to no other.
func TestPathOptions(t *testing.T) {
	two, five := 2, 5
	c := plan.Cell{RX: "zcrx", TX: "uring", MessageBytes: 1, ReadBytes: 2, Touch: "verify", Congestion: "cubic",
		RcvBuf: 3, SndBuf: 4, PaceBitsPS: 1e6,
		UringEngine: "native", GatherUs: &five, Queue: &two, Area: "huge", AreaBytes: 32 << 20, RXBufLen: 16 << 10,
		RefillEntries: 64, CQEntries: 128,
		HoldBytes: 1 << 20, TokenBatch: 64}
	rx, tx := optionsOf(t, stream.RX, c), optionsOf(t, stream.TX, c)
	want := stream.NICQueue{Queue: &two, Area: dmabuf.Huge, AreaBytes: 32 << 20, BufLen: 16 << 10,
		RefillEntries: 64, CQEntries: 128, HoldBytes: 1 << 20, TokenBatch: 64}
	if d := cmp.Diff(want, rx.NIC); d != "" {
		t.Error(d)
	}
	if rx.Gather.Microseconds() != 5 || rx.ReadBytes != 2 || rx.Touch != stream.TouchVerify ||
		rx.Socket.PaceBitsPS != 0 || rx.UringEngine != "native" {
		t.Errorf("%+v", rx)
	}
	if tx.Gather != 0 || tx.ReadBytes != 0 || tx.Touch != stream.TouchNone || tx.Socket.PaceBitsPS != 1e6 ||
		!cmp.Equal(tx.NIC, stream.NICQueue{}) {
		t.Errorf("%+v", tx)
	}
	for _, o := range []stream.Options{rx, tx} {
		if s := o.Socket; s.RcvBuf != 3 || s.SndBuf != 4 || s.Congestion != "cubic" || o.MessageBytes != 1 {
			t.Errorf("%+v", o)
		}
	}
	for rx, want := range map[string]int{"tcp": 256 << 10, "uring": 256 << 10, "zcrx": 0, "devmem": 0, "tcp-trunc": 0} {
		if o := optionsOf(t, stream.RX,
			plan.Cell{RX: rx, TX: "tcp", RXBuffer: 256 << 10}); o.BufferBytes != want ||
			o.MessageBytes != stream.DefaultMessageBytes {
			t.Errorf("%s: a buffer of %d bytes for messages of %d", rx, o.BufferBytes, o.MessageBytes)
		}
	}
	if o := optionsOf(t, stream.TX, plan.Cell{TX: "msg-zerocopy"}); !o.Socket.ZeroCopy ||
		o.MessageBytes != stream.DefaultMessageBytes {
		t.Errorf("%+v", o)
	}
}
