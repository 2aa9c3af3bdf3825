// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
)

// Turns that were chosen are not taken where a host's agent may not set what they need: runs follow
// one another, and a line says so. Those that somebody asked for are refused by that host.
func TestBlocksAfterAll(t *testing.T) {
	for _, x := range []struct {
		chosen, may, turns bool
	}{{true, true, true}, {true, false, false}, {false, false, true}} {
		s := sharesSpec(t, "name: x\nfactors: {rx: [tcp, uring], tx: tcp}\norder: turns\nturn: 100ms\n")
		var said []string
		e := &Experiment{Spec: s, OrderChosen: x.chosen,
			Note: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
		e.blocksAfterAll(&host.Host{}, &host.Host{Spec: host.Spec{Name: "ssh:me@b"},
			Info: wire.HelloResult{NoTurns: !x.may}})
		if (s.TurnLength() > 0) != x.turns || s.TurnsFit() != nil || (len(said) > 0) == x.turns ||
			!x.turns && !strings.Contains(said[0], "takes root (CAP_NET_ADMIN), which the agent on ssh:me@b has not") {
			t.Errorf("%+v: turns of %v, %q", x, s.TurnLength(), said)
		}
	}
}
