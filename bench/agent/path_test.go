// SPDX-License-Identifier: MIT

package agent

import (
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/hops"
)

// An agent reads the interfaces that it was told, until it is told of others, or of none; what it
// cannot find it says with its place in the user's list.
func TestPath(t *testing.T) {
	c := greeted(t)
	c.refused(wire.OpPathRead, nil, "no interfaces of a path are open")
	c.refused(wire.OpPathOpen, wire.PathParams{Places: []wire.PathPlace{{Host: "tg", Dev: "lo", Item: 1, At: 1},
		{Host: "tg", Dev: "nosuch9", Item: 3, At: 12}}},
		`interface 3, "tg:nosuch9", at byte 12: no such interface there`)
	c.refused(wire.OpPathRead, nil, "no interfaces of a path are open")
	var o wire.PathOpened
	c.ok(wire.OpPathOpen, wire.PathParams{Places: []wire.PathPlace{{Host: "tg", Dev: "lo", Item: 1, At: 1}}}, &o)
	if len(o.Hops) != 1 || o.Hops[0].Index != 1 { // the first of each namespace (net/core/dev.c)
		t.Errorf("%+v", o)
	}
	var a, b wire.PathReading
	c.ok(wire.OpPathRead, nil, &a)
	c.ok(wire.OpPathRead, nil, &b)
	if len(a.Hops) != 1 || len(b.Hops) != 1 || b.Hops[0].First.RxPackets < a.Hops[0].Again.RxPackets ||
		a.Hops[0].Again.RxBytes < a.Hops[0].First.RxBytes {
		t.Errorf("%+v, and then %+v", a, b)
	}
	c.ok(wire.OpPathOpen, wire.PathParams{}, nil)
	c.refused(wire.OpPathRead, nil, "no interfaces of a path are open")
	// its end closes it
	c.ok(wire.OpPathOpen, wire.PathParams{Places: []wire.PathPlace{{Host: "tg", Dev: "lo", Item: 1, At: 1}}}, nil)
}

// A reading that the kernel holds up does not hold up an abort, nor what else is asked meanwhile.
func TestPathReadIsNotWaitedFor(t *testing.T) {
	held := make(chan struct{})
	readHops = func(p *hops.Path) (hops.Reading, error) { <-held; return p.Read() }
	defer func() { readHops = (*hops.Path).Read }()
	c := greeted(t)
	c.ok(wire.OpPathOpen, wire.PathParams{Places: []wire.PathPlace{{Host: "tg", Dev: "lo", Item: 1, At: 1}}}, nil)
	reading := c.send(wire.OpPathRead, nil)
	c.ok(wire.OpAbort, nil, nil)
	c.ok(wire.OpClock, nil, nil)
	close(held)
	var r wire.PathReading
	if a := c.answer(reading); a.Error != nil || a.Decode(&r) != nil || len(r.Hops) != 1 {
		t.Errorf("%s %v", a.Result, a.Error)
	}
	c.ok(wire.OpPathOpen, wire.PathParams{}, nil)
}
