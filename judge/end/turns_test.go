// SPDX-License-Identifier: MIT

package end

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

// A run in turns counts where the rate is that of most turns, and nearly nothing came between them.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		turns *Turns
		say   string
	}{
		{nil, ""},
		{&Turns{Turns: 18, Missed: 4, Late: 9}, ""},
		{&Turns{Turns: 18, Missed: 18, Unsettled: 10}, "nothing had come"},
		{&Turns{Turns: 18, Missed: 9, Unsettled: 9}, "edges of 9"},
		{&Turns{Turns: 18, Paced: 1001}, "edges of the window"},
		{&Turns{Turns: 18}, "nothing passed in the parts"},
		{&Turns{Turns: 18, Missed: 5}, "edges of 5 of 18 turns were read late"},
		{&Turns{Turns: 40, LateCPU: 2}, ""},
		{&Turns{Turns: 40, LateCPU: 3}, "CPU time of 3 of 40 turns was read late"},
		{&Turns{Turns: 18, Late: 11}, "1.1 % of the bytes passed after the turn"},
	} {
		if c.turns != nil && c.turns.Paced == 0 && !strings.HasPrefix(c.say, "nothing") {
			c.turns.Paced = 900
		}
		e := Evidence{Turns: c.turns, Window: stream.Counters{Bytes: 1000}}
		x := e.turns(nil)
		if (c.say == "") != (x.Reason == "") || !strings.Contains(x.Reason, c.say) ||
			(x.Reason == "") != (x.Fix == "") ||
			x.Disturbed != (c.say != "" && !strings.HasPrefix(c.say, "nothing")) {
			t.Errorf("%+v: %+v", c.turns, x)
		}
	}
}
