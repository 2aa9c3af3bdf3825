// SPDX-License-Identifier: MIT

package why

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

const _ = kind.Pure

// Of experiments with two equal cells, in at most 5 % anything at all is named: a class, a
// function, a counter, the CPU time.
func TestNothingDiffers(t *testing.T) {
	rounds := long.Rounds(200, 3000)
	for _, reps := range []int{6, 8, 11} {
		wrong := 0
		for seed := range uint64(rounds) {
			if _, e := (experiment{seed: seed, reps: reps}).explain(t); anyNamed(e) {
				wrong++
			}
		}
		t.Logf("%d runs of each: something is named in %d of %d experiments without a difference", reps, wrong, rounds)
		if wrong > rounds*5/100 {
			t.Errorf("%d runs of each: something is named in %d of %d experiments without a difference", reps, wrong,
				rounds)
		}
	}
}

// Two that take turns are compared within starts, where starts are enough for all classes and
// counters: then a tenth of a class is found though starts differ by a fifth, which hides it from
// pairs of starts. Of equal ones at most 5 % name anything, by either.
func TestWithinStarts(t *testing.T) {
	rounds := long.Rounds(50, 1000)
	for _, reps := range []int{8, 13} {
		found, wrong, apart := 0, 0, 0
		for seed := range uint64(rounds) {
			x := experiment{seed: seed, reps: reps, turns: true}
			r, e := x.explain(t)
			if anyNamed(e) {
				wrong++
			}
			within := reps > 8
			if e.CPU.Level != stat.AcrossStarts || e.Classes[0].InTurns() != within || within && e.Untested > 0 ||
				slices.Contains(r.Method(), inTurnsText) != within ||
				strings.Contains(strings.Join(r.Method(), " "), "within pairs of blocks") == within ||
				strings.Contains(strings.Join(e.Sentences(), "; "), "apart within starts, so that") == within {
				t.Fatalf("%d starts: %s, pairs within starts: %v, %d were not tested; %q", reps, e.CPU.Level,
					e.Classes[0].InTurns(), e.Untested, r.Method())
			}
			x.b = map[string]float64{"copy": -8}
			names := func(e *End) bool {
				return slices.ContainsFunc(e.Classes, func(l Line) bool { return l.Name == "copy" && l.Differs })
			}
			if _, e := x.explain(t); names(e) {
				found++
			}
			if x.turns = false; reps > 8 {
				if _, e := x.explain(t); names(e) {
					apart++
				}
			}
		}
		t.Logf("%d starts: of %d the copy is named in %d within starts, in %d by pairs of blocks; something of equal "+
			"ones in %d", reps, rounds, found, apart, wrong)
		if most := .05*float64(rounds) + 3*math.Sqrt(.05*.95*float64(rounds)); float64(wrong) > most {
			t.Errorf("%d starts: something of equal ones is named in %d of %d", reps, wrong, rounds)
		}
		if reps > 8 && (found < rounds*80/100 || apart > found*2/3) {
			t.Errorf("%d starts: of %d the copy is named in %d within starts, in %d by pairs of blocks", reps, rounds,
				found, apart)
		}
	}
}

// What is stated of both ends of two cells is within the level: of experiments in which one class
// of the receiver differs, or none, at most 5 % name anything else, at either end.
func TestBothEndsAreOneFamily(t *testing.T) {
	rounds := long.Rounds(200, 2000)
	for _, reps := range []int{8, 12} {
		for _, copies := range []float64{0, -60} {
			wrong, found := 0, 0
			for seed := range uint64(rounds) {
				x := experiment{seed: seed, reps: reps, b: map[string]float64{"copy": copies}}
				rng := rand.New(rand.NewPCG(seed, 53))
				equal := experiment{}
				x.change = func(r *results.Record) { equal.host(rng, &r.TG, 0, 1+.2*rng.NormFloat64()) }
				r, err := Explain(x.couple(t), true)
				if err != nil || len(r.Ends) != 2 {
					t.Fatalf("%+v: %v", r, err)
				}
				bad := false
				for i := range r.Ends {
					e := &r.Ends[i]
					for _, l := range slices.Concat(e.Classes, e.Functions, e.Counters) {
						switch so := e.Role == ends.SUT && copies != 0 && (l.Name == "copy" || l.Class == "copy"); {
						case l.Differs && !so:
							bad = true
						case l.Differs && l.Name == "copy":
							found++
						}
					}
				}
				if bad {
					wrong++
				}
			}
			t.Logf("%d runs, copy %g: %d of %d name what does not differ, %d the copy", reps, copies, wrong, rounds,
				found)
			if most := .05*float64(rounds) + 3*math.Sqrt(.05*.95*float64(rounds)); float64(wrong) > most {
				t.Errorf("%d runs, copy %g: %d of %d name what does not differ", reps, copies, wrong, rounds)
			}
			if copies != 0 && found < rounds*90/100 {
				t.Errorf("%d runs: the copy is named in %d of %d", reps, found, rounds)
			}
		}
	}
}

// A class that B does not have is named first, with its functions, and the interval holds what it
// truly took; others are hardly ever named beside it, and what is left unexplained is about 0.
func TestKnownDifference(t *testing.T) {
	rounds, held, left, others, told := long.Rounds(100, 1000), 0, 0, 0, 0
	for seed := range uint64(rounds) {
		_, e := experiment{seed: seed, reps: 8, b: map[string]float64{"copy": -60}}.explain(t)
		first := e.Classes[0]
		if first.Name != "copy" || !first.Differs || first.Diff > -40 || e.Explained == nil {
			t.Fatalf("seed %d: %+v, explained %+v", seed, first, e.Explained)
		}
		if len(e.Functions) == 0 || e.Functions[0].Name != "copy_function0" || !e.Functions[0].Differs ||
			e.Functions[0].Class != "copy" {
			t.Fatalf("seed %d: %+v", seed, e.Functions)
		}
		if e.CPU.Differs {
			told++
			if first.Share == nil || *first.Share < .6 || *first.Share > 1.6 || e.CPU.Share == nil ||
				*e.CPU.Share != 1 {
				t.Errorf("seed %d: the copy is %v of %v", seed, first.Diff, e.CPU.Diff)
			}
		} else if first.Share != nil {
			t.Errorf("seed %d: a share of a difference that is none", seed)
		}
		if *first.Lo <= -60 && -60 <= *first.Hi {
			held++
		}
		if *e.Unexplained.Lo <= 0 && 0 <= *e.Unexplained.Hi {
			left++
		}
		for _, c := range e.Classes[1:] {
			if c.Differs {
				others++
				break
			}
		}
	}
	t.Logf("of %d experiments the interval of the copy holds it in %d, that of the unexplained part 0 in %d; "+
		"other classes are named in %d", rounds, held, left, others)
	if told < rounds*90/100 {
		t.Errorf("the CPU time is told apart in %d of %d", told, rounds)
	}
	if held < rounds*90/100 || left < rounds*90/100 || others > rounds*5/100 {
		t.Errorf("of %d experiments the interval of the copy holds it in %d, that of the unexplained part 0 in "+
			"%d; other classes are named in %d", rounds, held, left, others)
	}
}

// One mode at two rates takes more for a kB at the lower one, where a cost goes with time: nothing
// that differs is named, at any of the ends, and the figures stay.
func TestUnequalRates(t *testing.T) {
	for seed := range uint64(long.Rounds(40, 400)) {
		r, e := experiment{seed: seed, reps: 10, b: map[string]float64{"scheduler": 20, "driver": 30}, calls: 2,
			change: func(r *results.Record) {
				if r.Cell.RX == "uring" {
					r.SUT.ThroughputGbps = new(4.0)
				}
			}}.explain(t)
		if anyNamed(e) || e.CPU.Differs || r.Work != compare.AtSaturation || e.Explained != nil || e.Untested > 0 ||
			len(e.Classes) < 10 {
			t.Fatalf("seed %d: %q, %+v", seed, r.Work, e.CPU)
		}
		text := strings.Join(strings.Fields(table(t, r)), " ")
		for _, want := range []string{
			"no class is named, because the two did not do equal work; the largest differences",
			"so nothing is named; measure at one pace (--pace)"} {
			if !strings.Contains(text, want) {
				t.Fatalf("no %q in\n%s", want, text)
			}
		}
	}
}

// Nor is what differs by no more than rates that are nearly the same may make of it.
func TestByTheRates(t *testing.T) {
	r, e := experiment{seed: 1, reps: 10}.explain(t)
	l := Line{Shift: stat.Shift{NA: 10, NB: 10, A: 100, B: 101, Diff: 1, Lo: new(.9), Hi: new(1.1)}}
	if !l.Testable() || !e.differs(&l) {
		t.Errorf("at one rate it is no difference: %+v", r)
	}
	if e.rates.Most = .01; e.differs(&l) {
		t.Error("rates that are 1 % apart do not make 1 % of a cost that goes with time")
	}
}

// A difference in classes that name no cause, and in what was not sampled at all, is not explained.
func TestUnexplained(t *testing.T) {
	_, e := experiment{seed: 5, reps: 10, b: map[string]float64{"other": 40, "copy": -30}, outside: 25}.explain(t)
	if e.Explained == nil || e.Explained.Diff > -15 || e.Unexplained.Diff < 45 || *e.Unexplained.Lo <= 0 {
		t.Errorf("explained %+v, unexplained %+v", e.Explained, e.Unexplained)
	}
	named, vague := e.Shown()
	names := func(lines []Line) (out []string) {
		for _, l := range lines {
			out = append(out, l.Name)
		}
		slices.Sort(out)
		return out
	}
	if !slices.Equal(names(named), []string{"copy"}) || !slices.Equal(names(vague), []string{notSampled, "other"}) {
		t.Errorf("named %q, vague %q", names(named), names(vague))
	}
}

// Counters are per GB of the payload that they are of, and each in its own unit.
func TestCounters(t *testing.T) {
	_, e := experiment{seed: 3, reps: 10, calls: 3}.explain(t)
	got := map[string]Line{}
	for _, c := range e.Counters {
		got[c.Name] = c
	}
	for name, want := range map[string][2]float64{"system calls of the data path": {20000, 60000},
		"sleeps of the data path": {3000, 3000}, "NET_RX softirqs": {10000, 10000}, "bytes a packet, after GRO": {45000,
			45000},
		"multishot requests issued again": {2000, 2000}, "idle state c6": {.1, .1},
		"idle state c6: entries": {500, 500}, "frequency of the flow's CPUs": {3, 3}} {
		c, ok := got[name]
		if !ok || math.Abs(c.A/want[0]-1) > .1 || math.Abs(c.B/want[1]-1) > .1 {
			t.Errorf("%s: %v, %+v", name, ok, c)
		}
		if c.Differs != (want[0] != want[1]) {
			t.Errorf("%s differs: %v", name, c.Differs)
		}
	}
	if e.Counters[0].Name != "system calls of the data path" || e.Counters[0].Unit != "1/GB" {
		t.Errorf("%+v comes first", e.Counters[0])
	}
	if _, ok := got["softirqs that ran out of budget"]; ok {
		t.Error("what never moved is compared")
	}
	r, err := Explain(experiment{seed: 3, reps: 10, calls: 3}.couple(t), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Ends[0].Counters {
		if c.Name != "frequency of the flow's CPUs" {
			t.Errorf("without metrics: %s", c.Name)
		}
	}
	for _, m := range []string{"flow_calls", "flow_waits", "thread_data_path_voluntary_switches",
		"thread_data_path_involuntary_switches", "nic_interrupts", "softirq_cpu0_net_rx", "ip_rx_packet_bytes",
		"page_pool_alloc_slow", "page_pool_recycle_rate", "devmem_setsockopt_calls", "devmem_tokens_freed",
		"zcrx_pieces", "uring_rearms", "process_minor_faults", "softnet_cpu0_time_squeeze", "cpuidle_c6_cores",
		"cpuidle_cpu0_c6_entries", "probe_napi_polls", "probe_napi_packets"} {
		if d, _ := metrics.Describe(m); d == nil {
			t.Errorf("there is no metric %s any more", m)
		}
	}
}

// The switches are of one thread: of several flows they are not the data path's.
func TestSwitchesOfOneThread(t *testing.T) {
	host := func(flows, threads int) *run {
		h := &results.Host{Bytes: new(uint64(1e9)), Flows: make([]results.Flow, flows), Threads: threads,
			Metrics: []measure.Metric{{Name: "thread_data_path_voluntary_switches", Unit: "1", Value: 3000}}}
		return &run{host: h, figures: h.Figures()}
	}
	if v := ofThread("voluntary_switches")(host(1, 1)); v == nil || *v != 3000 {
		t.Errorf("of one thread: %v", v)
	}
	for _, r := range []*run{host(2, 2), host(2, 0)} {
		if v := ofThread("voluntary_switches")(r); v != nil {
			t.Errorf("of %d flows: %v", len(r.host.Flows), *v)
		}
	}
}

// With few runs nothing is named, and it is said how many it takes; with six a few classes can be.
func TestFewRuns(t *testing.T) {
	gone := map[string]float64{"copy": -60}
	r, e := experiment{seed: 1, reps: 5, b: gone}.explain(t)
	if anyNamed(e) || e.Explained != nil || e.CPU.Differs {
		t.Errorf("named by 5 runs: %+v", e)
	}
	text := table(t, r)
	for _, want := range []string{"no class differs significantly; the largest differences are copy -",
		"5 and 5 runs: a verdict needs 6 of each"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	r, e = experiment{seed: 1, reps: 6, b: gone}.explain(t)
	if !e.Classes[0].Differs || e.Classes[0].Name != "copy" || e.Untested != len(e.Classes)+len(e.Counters)-5 {
		t.Errorf("%d untested of 6 runs: %+v", e.Untested, e.Classes[0])
	}
	if text := table(t, r); !strings.Contains(text,
		"were not tested: so few runs cannot tell more apart; 8 of each can") {
		t.Errorf("%s", text)
	}
}

// What cannot be compared is an error that says what to do.
func TestExplainRefuses(t *testing.T) {
	forget := func(keep func(*results.Record) bool) func(*results.Record) {
		return func(r *results.Record) {
			if !keep(r) {
				r.SUT.Probes = nil
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*results.Record)
		want   string
	}{
		{"no profiles", forget(func(*results.Record) bool { return false }),
			"uring/tcp : tcp/tcp: neither cell has a profile: run again with --probe profile"},
		{"none of B", forget(func(r *results.Record) bool { return r.Cell.RX == "tcp" }),
			"SUT: B, uring/tcp, has no profile: run again with --probe profile"},
		{"one of A", forget(func(r *results.Record) bool { return r.Cell.RX == "uring" || r.Rep == 3 }),
			"A, tcp/tcp, has 1 run with a profile: chance cannot be ruled out; make 6 of each"},
		{"other clocks", func(r *results.Record) {
			if r.Cell.RX == "uring" {
				r.SUT.Probes.Profile.Event = "cycles"
			}
		}, "A was sampled by cpu-clock and B by cycles"},
	} {
		if _, err := Explain(experiment{seed: 1, reps: 8, change: c.change}.couple(t), true); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	file := experiment{seed: 1, reps: 8, change: forget(func(*results.Record) bool { return false })}.couple(t)
	file.TableA = true
	if _, err := Explain(file, true); err == nil ||
		!strings.Contains(err.Error(), "is of a file of figures, which has no profiles: name the results folder") {
		t.Errorf("%v", err)
	}
	spoilt := experiment{seed: 1, reps: 8}.couple(t)
	spoilt.B.Runs = nil
	if _, err := Explain(spoilt, true); err == nil ||
		!strings.Contains(err.Error(),
			"B, uring/tcp, has no run that counts: zcbench report shows what happened to them") {
		t.Errorf("%v", err)
	}
	asked := experiment{seed: 1, reps: 8}.couple(t)
	asked.Asked = true
	if _, err := Explain(asked, true); err == nil || !strings.Contains(err.Error(), "they differ in several factors") {
		t.Errorf("%v", err)
	}
}

// What is to be thought of is said: runs without a profile, samples that do not agree with the
// accounting, work that is not equal.
func TestNotes(t *testing.T) {
	r, e := experiment{seed: 1, reps: 9, change: func(r *results.Record) {
		if r.Cell.RX == "tcp" && r.Rep == 2 {
			r.SUT.Probes = nil
		}
		if r.Cell.RX == "uring" {
			r.Flags = []string{results.FlagProfileDiffers}
			r.SUT.ThroughputGbps = new(9.0)
			if r.SUT.Probes != nil {
				r.SUT.Probes.Profile.Lost = new(100.)
			}
		}
	}}.explain(t)
	text := strings.Join(strings.Fields(table(t, r)), " ")
	for _, want := range []string{"8 of 9 runs of A have a profile",
		"samples and the CPUs' accounting differ in 9 runs of B (profile-differs)",
		"more than 1 % of the samples of a run of B were lost",
		"note: A carried 8.00 Gbit/s and B 9.00, at saturation: a cost per kB depends on the rate",
		"note: TG: neither cell has a profile: run again with --probe profile"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if e.CPU.Pairs != 8 || len(e.RunsA) != 8 || len(e.RunsB) != 9 {
		t.Errorf("%d pairs of %d and %d runs", e.CPU.Pairs, len(e.RunsA), len(e.RunsB))
	}
}

// A function that is missing in a run's full list had a little time, and not none: what lies about
// the list's end is not compared.
func TestFunctionsAtTheEnd(t *testing.T) {
	_, e := experiment{seed: 2, reps: 10, b: map[string]float64{"copy": -60}, change: func(r *results.Record) {
		p := r.SUT.Probes.Profile
		fill := 2.0
		for i := len(p.Functions); i < results.MostFunctions; i++ {
			name := fmt.Sprint("small", i)
			if r.Cell.RX == "uring" {
				name += "_other"
			}
			p.Functions = append(p.Functions, results.ProfiledPart{Name: name, Where: "thread", Class: "other",
				SelfPerKB: &fill})
		}
	}}.explain(t)
	if len(e.Functions) == 0 || e.Functions[0].Name != "copy_function0" {
		t.Fatalf("%+v", e.Functions)
	}
	for _, f := range e.Functions {
		if strings.HasPrefix(f.Name, "small") {
			t.Errorf("%+v", f)
		}
	}
}

// Six runs of each can tell five classes apart. That none of these differs does not make a
// difference of the CPU time doubtful that a comparison of its own finds, nor is all of it then
// "unexplained": what makes it cannot be told, and that is all.
func TestSixRunsDoNotContradict(t *testing.T) {
	x := experiment{seed: 11, reps: 6, b: map[string]float64{"ip": 4, "gro": 6, "scheduler": 8, "syscall": 9,
		"locks": 13, "application": 15, "other": 11}}
	c := x.couple(t)
	r, e := x.explain(t)
	if !e.CPU.Untested || e.Untested == 0 || anyDiffers(e.Classes) || e.CPU.P >= stat.Alpha {
		t.Fatalf("the CPU time differs, and no class that is tested does: %+v, %d not tested", e.CPU, e.Untested)
	}
	if len(c.A.Runs) != 6 {
		t.Fatal(len(c.A.Runs))
	}
	text := table(t, r)
	for _, want := range []string{"so what makes the difference cannot be told. Whether there is one in the CPU " +
		"time is a question of its own: the verdict on ns_per_kb answers it", "8 of each can"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"unexplained", "the CPU time itself: cannot tell"} {
		if strings.Contains(text, not) {
			t.Errorf("%q in\n%s", not, text)
		}
	}
}
