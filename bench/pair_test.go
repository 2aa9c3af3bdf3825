// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
)

// The other end's interface is told where it is on the same machine: of a link between the two,
// and of any other way.
func TestPairOf(t *testing.T) {
	of := func(boot string, index, peer int) (*host.Host, port) {
		h := &host.Host{}
		h.Info.Env.BootID, h.Info.NetNS = boot, "4:4026531840"
		return h, port{index: index, peer: peer}
	}
	for _, x := range []struct {
		name                string
		boot                string
		peer, theirs, peer2 int
		want                *wire.Pair
	}{
		{"a veth link", "a", 3, 3, 2, &wire.Pair{Linked: true, Index: 3, Netns: 4026531840}},
		{"two ports", "a", 0, 3, 0, &wire.Pair{Index: 3, Netns: 4026531840}},
		{"no interface", "a", 0, 0, 0, nil},
		{"elsewhere", "b", 0, 3, 0, nil},
	} {
		r := &Runner{}
		r.SUT, r.Opt.found[0] = of("a", 2, x.peer)
		r.TG, r.Opt.found[1] = of(x.boot, x.theirs, x.peer2)
		got := r.pairOf(stream.RX, r.Opt.found[0], r.Opt.found[1])
		if (got == nil) != (x.want == nil) || got != nil && *got != *x.want {
			t.Errorf("%s: %+v", x.name, got)
		}
	}
}
