// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
)

// Power is told of turns of a second and more, also where cells have turns of their own, and by no
// log. What is refused is refused before anything is asked of the hosts, with what would do.
func TestPowerFitsTurns(t *testing.T) {
	rapl, log := power.Spec{Name: "rapl"}, power.Spec{Name: "csv", Target: "x"}
	for _, x := range []struct {
		name, text string
		power      PowerOptions
		say, fix   string
	}{
		{"no power", "order: turns\n", PowerOptions{}, "", ""},
		{"blocks", "order: blocks\n", PowerOptions{Sources: []power.Spec{rapl}}, "", ""},
		{"usual turns", "order: turns\n", PowerOptions{Sources: []power.Spec{rapl}}, "in turns of 60ms", "turn: 1s"},
		{"auto", "order: turns\n", PowerOptions{Auto: true}, "in turns of 60ms", "turn: 1s"},
		{"a second", "turn: 1s\n", PowerOptions{Sources: []power.Spec{rapl}}, "", ""},
		{"a log", "turn: 1s\n", PowerOptions{Sources: []power.Spec{rapl, log}}, "by a log", "order: blocks"},
		{"later", "turn: 1s\n", PowerOptions{Later: true}, "by a log", "order: blocks"},
		{"some", "factors: {rx: [tcp, uring], tx: [tcp], turn: [1s, 20ms]}\n",
			PowerOptions{Sources: []power.Spec{rapl}}, "in turns of 20ms", "turn: 1s"},
		{"blocks beside", "factors: {rx: [tcp, uring], tx: [tcp], turn: [1s, none]}\n",
			PowerOptions{Sources: []power.Spec{rapl}}, "", ""},
	} {
		if !strings.Contains(x.text, "factors") {
			x.text += "factors: {rx: [tcp, uring], tx: [tcp]}\n"
		}
		s, err := matrix.Parse("x.yaml", []byte("name: x\n"+x.text))
		if err != nil {
			t.Fatal(err)
		}
		s.WantTurns()
		err = (&Experiment{Spec: s, Power: x.power}).turnsFit()
		if (err == nil) != (x.say == "") {
			t.Errorf("%s: %v", x.name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), x.say) || !strings.Contains(fault.Fix(err), x.fix)) {
			t.Errorf("%s: %v; fix: %s", x.name, err, fault.Fix(err))
		}
	}
}

// Cells that take none beside others have the guard of load around their window; turns do not.
func TestPowerGuardInTurns(t *testing.T) {
	s, err := matrix.Parse("x.yaml", []byte("name: x\nfactors: {rx: [tcp, uring], tx: [tcp], turn: [1s, none]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Turn: time.Second, RampUp: time.Second, Duration: 4 * time.Second}
	PowerOptions{Guard: 10 * time.Second}.lengthen(&o)
	for i := range s.Cells {
		want := time.Second
		if s.Cells[i].Alone() {
			want = 10 * time.Second
		}
		if got := o.ofTurns(&s.Cells[i]); got.RampUp != want {
			t.Errorf("%s: a ramp of %v, want %v", s.Cells[i].ID, got.RampUp, want)
		}
	}
}

// What auto found and is too slow for turns is left out, and said; what was named is refused, and
// so is auto where nothing else is there.
func TestAutoLeavesSlowSourcesOut(t *testing.T) {
	fast := wire.PowerSource{Name: "rapl", PeriodNs: int64(time.Millisecond)}
	slow := wire.PowerSource{Name: "hwmon", PeriodNs: int64(time.Second)}
	var e powerEnd
	names, err := e.fitting([]wire.PowerSource{slow, fast}, time.Second)
	if err != nil || !slices.Equal(e.order, []string{"rapl"}) || !slices.Equal(e.left, []string{"hwmon"}) ||
		len(names) != 2 || !strings.Contains(names[0], "left out: power source hwmon measures every 1s") {
		t.Errorf("order %q, left %q, %q, %v", e.order, e.left, names, err)
	}
	if _, err := (&powerEnd{order: []string{"hwmon"}}).fitting([]wire.PowerSource{slow, fast},
		time.Second); err == nil {
		t.Error("a source that was named is too slow, and nothing says so")
	}
	if _, err := (&powerEnd{}).fitting([]wire.PowerSource{slow}, time.Second); err == nil {
		t.Error("nothing fits, and nothing says so")
	}
	e = powerEnd{}
	if _, err := e.fitting([]wire.PowerSource{slow}, 0); err != nil || len(e.left) > 0 {
		t.Errorf("not in turns: left %q, %v", e.left, err)
	}
}
