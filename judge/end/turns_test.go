// SPDX-License-Identifier: MIT

package end

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

// A run in turns counts where most turns do, and so many that they tell of all.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		turns *Turns
		say   string
	}{
		{nil, ""},
		{&Turns{Turns: 18, LeftOut: 4, Missed: 4}, ""},
		{&Turns{Turns: 18, LeftOut: 4, LateCPU: 2, Crowded: 3, Unsettled: 9}, ""},
		{&Turns{Turns: 18, LeftOut: 5, Missed: 2, LateCPU: 3}, "5 of 18 turns cannot count: the rate of 2"},
		{&Turns{Turns: 18, LeftOut: 5, Crowded: 5}, "in 5 came bytes of other"},
		{&Turns{Turns: 4}, ""},
		{&Turns{Turns: 4, LeftOut: 1, LateCPU: 1}, "1 of 4 turns cannot count"},
		{&Turns{Turns: 2}, ""},
		{&Turns{Turns: 18, Unsettled: 10}, "nothing had come"},
		{&Turns{Turns: 18}, "nothing passed in the parts"},
		{&Turns{Turns: 18, Paced: 500}, ""},
		{&Turns{Turns: 18, Paced: 499}, "only 50 % of the bytes"},
	} {
		if c.turns != nil && c.turns.Paced == 0 && !strings.HasPrefix(c.say, "nothing") {
			c.turns.Paced = 900
		}
		e := Evidence{Turns: c.turns, Window: stream.Counters{Bytes: 1000}}
		x := e.turns(nil)
		if (c.say == "") != (x.Reason == "") || !strings.Contains(x.Reason, c.say) ||
			(x.Reason == "") != (x.Fix == "") ||
			x.Disturbed != (strings.Contains(x.Reason, "turns cannot count") || strings.Contains(x.Reason, "only")) {
			t.Errorf("%+v: %+v", c.turns, x)
		}
	}
}

// Where a hypervisor took the CPUs that were late, the reason has how much that was, and the fix is
// another host; crowded turns have the fix of those.
func TestStolenTurns(t *testing.T) {
	const took = "the machine's host took 35 % of its CPU time"
	late, half := Turns{Turns: 18, LeftOut: 9, LateCPU: 9, Paced: 900}, Turns{Turns: 18, Paced: 400}
	crowded := Turns{Turns: 18, LeftOut: 9, Crowded: 9, Paced: 900}
	for _, c := range []struct {
		turns  Turns
		stolen float64
		says   bool
		fix    string
	}{
		{late, .35, true, "a quieter host"}, {half, .35, true, "a quieter host"},
		{crowded, .35, true, "--sndbuf"}, {late, .025, false, "other work"}, {half, 0, false, "other work"},
	} {
		c.turns.Stolen = c.stolen
		e := Evidence{Turns: &c.turns, Window: stream.Counters{Bytes: 1000}}
		x := e.turns(nil)
		if strings.Contains(x.Reason, took) != c.says || !strings.Contains(x.Fix, c.fix) || !x.Disturbed {
			t.Errorf("%+v: %+v", c.turns, x)
		}
	}
	calm := Turns{Turns: 18, Paced: 900, Stolen: .35}
	if x := (&Evidence{Turns: &calm, Window: stream.Counters{Bytes: 1000}}).turns(nil); x.Reason != "" {
		t.Errorf("turns that were in time: %+v", x)
	}
}

// Where nothing passed because turns were left out, these are why, and the run was disturbed; where
// nothing passed in turns that count, the flow stalled.
func TestNothingInTurns(t *testing.T) {
	for _, c := range []struct {
		turns     Turns
		say       string
		disturbed bool
	}{
		{Turns{Turns: 4, LeftOut: 4, LateCPU: 4}, "4 of 4 turns cannot count", true},
		{Turns{Turns: 18, LeftOut: 4, LateCPU: 4}, "no payload was transferred", false},
	} {
		e := Evidence{From: 1000 * ms, To: 2000 * ms, ReadFrom: 1000 * ms, ReadTo: 2000 * ms, Turns: &c.turns}
		x := e.window(nil)
		if x.Reason == "" {
			x = e.turns(nil)
		}
		if !strings.Contains(x.Reason, c.say) || x.Disturbed != c.disturbed {
			t.Errorf("%+v: %+v", c.turns, x)
		}
	}
}
