// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
)

// A window that cannot hold the readings that a figure of power needs is warned of before anything
// runs; where the source is the one that power_w comes from, the warning says so.
func TestForetellPower(t *testing.T) {
	for name, x := range map[string]struct {
		sources             string
		window, guard, idle time.Duration
		lines               []string
	}{
		"as in the demo":  {"command=meter", 300 * time.Millisecond, time.Second, 2 * time.Second, nil},
		"as in a matrix":  {"ipmi", 1500 * time.Millisecond, 10 * time.Second, 10 * time.Second, nil},
		"a fast source":   {"hwmon", time.Second, 0, 0, nil},
		"nothing is read": {"csv=/log", 10 * time.Millisecond, 0, 0, nil},
		"perhaps": {"command=meter", time.Second, 0, 0,
			[]string{"warning: power source command=meter is read every 1s: it needs 2 readings, and the window " +
				"of 1s gives perhaps only 1; a window of 2.5s does (duration), or --power-guard 750ms"}},
		"never": {"command=meter", 300 * time.Millisecond, 0, 0,
			[]string{"warning: power source command=meter is read every 1s: it needs 2 readings, and the window " +
				"of 300ms gives 1; " +
				"a window of 2.5s does (duration), or --power-guard 1.1s; as it is, power_w stays empty"}},
		"never, of the second": {"hwmon,command=meter", 300 * time.Millisecond, 0, 0,
			[]string{"warning: power source command=meter is read every 1s: it needs 2 readings, and the window " +
				"of 300ms gives 1; "}},
		"never, of one end": {"sut:hwmon,tg:redfish=https://bmc", 300 * time.Millisecond, 0, 0,
			[]string{"warning: power source redfish=https://bmc is read every 1s: it needs 2 readings"}},
		"a short rest": {"command=meter", 3 * time.Second, 0, time.Second,
			[]string{"warning: power source command=meter is read every 1s: it needs 2 readings, and the rest of " +
				"1s gives perhaps only 1 for idle power; --power-idle 2.5s does"}},
		"whatever is there": {"auto", time.Second, 0, 0,
			[]string{"warning: --power auto may take ipmi: power source ipmi is read every 1s: it needs 2 " +
				"readings, and the window of 1s gives perhaps only 1; a window of 2.5s does (duration)"}},
		"whatever is there, for long": {"auto", 3 * time.Second, 0, 0, nil},
		"a counter's edges": {"rapl", 300 * time.Millisecond, 0, 0,
			[]string{"warning: power source rapl is read every 100ms: its readings may not cover enough of the " +
				"window of 300ms; a window of 1s does (duration), or --power-guard 350ms"}},
	} {
		specs, auto, err := power.ParseSpecs(strings.Split(x.sources, ","))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		PowerOptions{Sources: specs, Auto: auto, Guard: x.guard, Idle: x.idle}.foretell(x.window,
			func(l string) { lines = append(lines, l) })
		if !slices.EqualFunc(lines, x.lines, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", name, lines, x.lines)
		}
	}
}

// The dry run says it, also where it cannot ask the hosts.
func TestDryRunForetellsPower(t *testing.T) {
	s, err := matrix.Parse("x", []byte("name: x\nsut: {host: netns:zcbench-none}\ntg: {host: "+
		"netns:zcbench-none}\nfactors: {rx: [tcp, uring], tx: tcp}\nduration: 1s\nrepetitions: 6\nprobe: profile\n"))
	if err != nil {
		t.Fatal(err)
	}
	specs, _, err := power.ParseSpecs([]string{"command=meter"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	e := &Experiment{Spec: s, Power: PowerOptions{Sources: specs}}
	if err := e.DryRun(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nwhat power and profiles can show\n  warning: compare --why: 6 runs",
		"\n  warning: power source command=meter is read every 1s: it needs 2 readings"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// What profiles of so few runs, or of so short ones, cannot tell is said before they are made.
func TestForetellProfile(t *testing.T) {
	for _, x := range []struct {
		reps   int
		window time.Duration
		more   string
		lines  []string
	}{
		{8, time.Second, "probe: profile", nil},
		{10, 10 * time.Second, "probe: profile", nil},
		{6, time.Second, "", nil},
		{6, time.Second, "probe: latency", nil},
		{6, time.Second, "probe: profile", []string{"warning: compare --why: 6 runs of each cell can tell 5 " +
			"classes and counters apart, of some 30 that there are; 8 runs can tell all (repetitions)"}},
		{4, time.Second, "probe: profile", []string{"warning: compare --why: with 4 runs of each cell nothing " +
			"can be told apart; make 6, better 8 (repetitions)"}},
		{8, 100 * time.Millisecond, "probe: profile",
			[]string{"warning: profiles: 8 runs of 100ms have some 799 samples of a CPU that is always busy: a " +
				"class with 5 % of the time is known to 16 % of itself; windows of 260ms make it 10 % (duration)"}},
	} {
		s, err := matrix.Parse("x",
			fmt.Appendf(nil, "name: x\nfactors: {rx: [tcp, uring], tx: tcp}\nrepetitions: %d\n%s\n", x.reps, x.more))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		foretellProfile(s, x.window, able, func(l string) { lines = append(lines, l) })
		if !slices.Equal(lines, x.lines) {
			t.Errorf("%d runs of %v, %s: %q, want %q", x.reps, x.window, x.more, lines, x.lines)
		}
	}
	for starts, want := range map[int]string{8: "warning: compare --why: 8 starts can tell some 30 classes and counters " +
		"apart only within pairs of starts, so that what starts differ by hides small differences; 11 can within " +
		"starts (repetitions)", 11: ""} {
		s, err := matrix.Parse("x",
			fmt.Appendf(nil, "name: x\nfactors: {rx: [tcp, uring], tx: tcp}\nrepetitions: %d\nprobe: profile\n", starts))
		if err != nil {
			t.Fatal(err)
		}
		s.Order = "turns"
		got := ""
		foretellProfile(s, time.Second, able, func(l string) { got += l })
		if got != want {
			t.Errorf("%d starts: %q, want %q", starts, got, want)
		}
	}
	one, err := matrix.Parse("x", []byte("name: x\nfactors: {rx: tcp, tx: tcp}\nrepetitions: 2\nprobe: profile\n"))
	if err != nil {
		t.Fatal(err)
	}
	foretellProfile(one, 10*time.Second, able, func(l string) { t.Errorf("there is nothing to compare: %s", l) })
	foretellProfile(one, time.Millisecond, func(plan.Cell) *Missing { return &Missing{Reason: "no", Fix: "yes"} },
		func(l string) { t.Errorf("nothing runs: %s", l) })
}

// A receiver that takes what had queued before its window receives more than is sent in it: a trial
// says so beside the figure.
func TestTrialSaysWhatMoreIs(t *testing.T) {
	const early = " (with what was on its way when the window began)"
	more, less := trial{Asked: 1e6, Sent: 1e6, Got: 1.002e6}, trial{Asked: 1e6, Sent: 1e6, Got: .998e6, Loss: .002}
	if got, want := more.text(true), "1000.0 kpps: sent 1000.0, received 1002.0 kpps"+early+
		", lost 0.0000 %: passed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := less.text(false),
		"1000.0 kpps: sent 1000.0, received 998.0 kpps, lost 0.2000 %: failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
