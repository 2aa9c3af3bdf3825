// SPDX-License-Identifier: MIT

package matrix

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// Cells take turns where nobody says how runs follow one another and all of them can. What speaks
// against it is told, and what would change it; the plan is as it was then.
func TestChooseOrder(t *testing.T) {
	const two = "factors: {rx: [tcp, uring], tx: [tcp]}\n"
	for _, x := range []struct {
		name, text, hosts string
		turns             bool
		line              string
	}{
		{"nothing said", two, "", true, "order: turns, because all cells can (--order blocks:"},
		{"shares of a pace", "pace: 50%\n" + two, "", true, "order: turns"},
		{"gates that turns judge by", "gates: {throttled: off, foreign_cores: 0.1}\n" + two, "", true, "order: turns"},
		{"no ramp-down", "ramp_down: 0s\nsample_interval: 0s\n" + two, "", true, "order: turns"},
		{"blocks", "order: blocks\n" + two, "", false, "order: blocks, as asked (--order turns:"},
		{"turns", "order: turns\n" + two, "no root", true, "order: turns, as asked (--order blocks:"},
		{"their length", "turn: 60ms\n" + two, "no root", true, "order: turns, as asked"},
		{"the hosts", two, "no root", false, "because no root (without that, cells take turns)"},
		{"one cell", "factors: {rx: [tcp], tx: [tcp]}\n", "", false, "order: blocks, because there is one cell"},
		{"one cell each", "factors: {rx: [tcp], tx: [tcp], mtu: [1500, 9000]}\n", "", false,
			"because no two cells of the plan can be open together"},
		{"adaptive", "adaptive: {min: 6, interval: 1%}\n" + two, "", false, "because adaptive and order: turns cannot"},
		{"a probe", "probe: syscalls\n" + two, "", true, "order: turns, because all cells can"},
		{"a profile", "probe: profile\n" + two, "", true, "order: turns, because all cells can"},
		{"a probe of some", "factors: {rx: [tcp, uring], tx: [tcp], probe: [none, latency]}\n", "", true,
			"order: turns, because all cells can"},
		{"packets", "factors: {rx: [udp, udp-gro], tx: [udp]}\n", "", false, "udp cannot be measured in turns"},
		{"round trips", "factors: {rx: [tcp, uring], tx: [rr]}\n", "", false, "requests are not kept to turns"},
		{"polling", "busy_poll: 50us\n" + two, "", false, "busy_poll cannot"},
		{"a gate", "gates: {throttled: 1%}\n" + two, "", false, "gate throttled cannot be judged in turns"},
		{"time series", "sample_interval: 1s\n" + two, "", false, "sample_interval is asked for"},
		{"a ramp-down", "ramp_down: 1s\n" + two, "", false, "ramp_down is asked for"},
		{"long windows", "duration: 8m\n" + two, "", false, "use longer turns"},
	} {
		s, err := Parse("x.yaml", []byte("name: x\n"+x.text))
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		before := s.Hash()
		c := s.ChooseOrder(x.hosts)
		if line := s.Line(c); (s.TurnLength() > 0) != x.turns || !strings.Contains(line, x.line) {
			t.Errorf("%s: %s, turns of %v", x.name, line, s.TurnLength())
		}
		if said := c.Said != ""; (said || !x.turns) != (s.Hash() == before) {
			t.Errorf("%s: the plan is another one, or is not", x.name)
		}
		if x.turns && s.TurnsFit() != nil {
			t.Errorf("%s: %v", x.name, s.TurnsFit())
		}
	}
}

// A journal goes on in the order in which it was begun, also where another one would be chosen now,
// and one of before there were turns in blocks. What the user says now is not changed by it.
func TestOrderAs(t *testing.T) {
	file := func(more string) *Spec {
		s, err := Parse("x.yaml", []byte("name: x\nfactors: {rx: [tcp, uring], tx: [tcp]}\n"+more))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	begun := func(s *Spec) *plan.Origin {
		played, err := (&Played{Spec: s}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return &plan.Origin{Hash: s.Hash(), Played: played}
	}
	inTurns := file("")
	if c := inTurns.ChooseOrder(""); c.Why != "" {
		t.Fatal(c.Why)
	}
	longer := file("order: turns\nturn: 240ms\n")
	for name, x := range map[string]struct {
		was  *plan.Origin
		want string
	}{"blocks": {begun(file("")), file("").Hash()}, "turns": {begun(inTurns), inTurns.Hash()},
		"longer ones": {begun(longer), longer.Hash()},
		"old":         {&plan.Origin{File: "name: x\n"}, file("").Hash()}, "garbage": {&plan.Origin{
			Played: json.RawMessage(`{"spec": {"Order": "x", "Turn": 5}}`)}, file("").Hash()}} {
		s := file("")
		c := s.OrderAs(x.was)
		if s.Hash() != x.want || !strings.Contains(s.Line(c), "as the journal was begun") {
			t.Errorf("%s: %s", name, s.Line(c))
		}
	}
}
