// SPDX-License-Identifier: MIT

package doctor

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
)

func TestEveryModeHasALadder(t *testing.T) {
	for _, dev := range []string{"", "lo", "no-such-if"} {
		for _, l := range Ladders(dev) {
			complete(t, l.Rungs)
			last := l.Rungs[len(l.Rungs)-1]
			if last.Name != "attempt" || (last.Status == "ok") != l.Supported {
				t.Errorf("%s on %q ends with %+v, supported %v", l.Name, dev, last, l.Supported)
			}
			if i := slices.IndexFunc(l.Rungs,
				func(c wire.Check) bool {
					return c.Name == string(stream.NeedInterface) &&
						c.Status == "lacking"
				}); i >= 0 && i != len(l.Rungs)-2 {
				t.Errorf("%s on %q goes on without an interface: %+v", l.Name, dev, l.Rungs)
			}
		}
	}
}
