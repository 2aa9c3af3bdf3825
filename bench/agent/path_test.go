// SPDX-License-Identifier: MIT

package agent

import (
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
)

// An agent reads the interfaces that it was told, until it is told of others, or of none; what it
// cannot find it says with its place in the user's list.
func TestPath(t *testing.T) {
	c := greeted(t)
	c.refused(wire.OpPathRead, nil, "no interfaces of a path are open")
	c.refused(wire.OpPathOpen, wire.PathParams{Places: []wire.PathPlace{{Host: "tg", Dev: "lo", Item: 1, At: 1}, {Host: "tg", Dev: "nosuch9", Item: 3, At: 12}}},
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
	if len(a.Hops) != 1 || len(b.Hops) != 1 || b.Hops[0].First.RxPackets < a.Hops[0].Again.RxPackets || a.Hops[0].Again.RxBytes < a.Hops[0].First.RxBytes {
		t.Errorf("%+v, and then %+v", a, b)
	}
	c.ok(wire.OpPathOpen, wire.PathParams{}, nil)
	c.refused(wire.OpPathRead, nil, "no interfaces of a path are open")
	c.ok(wire.OpPathOpen, wire.PathParams{Places: []wire.PathPlace{{Host: "tg", Dev: "lo", Item: 1, At: 1}}}, nil) // its end closes it
}
