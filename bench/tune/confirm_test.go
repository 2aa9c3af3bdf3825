// SPDX-License-Identifier: MIT

package tune

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// At equal work, pairs of which a run missed the pace are none; and what pairs are of is told.
func TestPairs(t *testing.T) {
	w := &world{truth: together, cores: func(c *plan.Cell) float64 { return 20 / together(c) }}
	s, _ := searchOf(t, "cpu", sizes, 5*time.Minute)
	w.play(t, s, 10_000, nil)
	all, _, spec := frozenOf(t, s)
	recs := w.confirm(spec, 5000)
	for i := range recs {
		if recs[i].Rep < 5003 && recs[i].Cell.Key() == spec.Cells[0].Key() {
			recs[i].Flags = []string{results.FlagOffPace}
			recs[i].SUT.CPUBusyCores = new(99.)
		}
	}
	r := s.report(all, spec.Cells, recs)
	if g := r.Modes[0].Gain; g == nil || g.Pairs != 9 || g.Ratio > 1.1 || *r.Modes[0].DefaultV > 5e3 {
		t.Errorf("%+v", r.Modes[0])
	}
	if r.Level != AcrossStarts || r.Starts != 12 || r.standsOn() != "9 to 12 pairs, each of a start of its own" {
		t.Errorf("%s in %d: %s", r.Level, r.Starts, r.standsOn())
	}
	for i := range recs {
		recs[i].Start = 1
	}
	r = s.report(all, spec.Cells, recs)
	if want := "9 to 12 pairs in 1 start, within which the verdicts hold"; r.Level != WithinStarts ||
		r.standsOn() != want {
		t.Errorf("%s in %d: %s", r.Level, r.Starts, r.standsOn())
	}
}

// All intervals of a report hold the truth together in 95 of 100 reports, and equal settings are
// told apart in no more than 5.
func TestReportHolds(t *testing.T) {
	rounds := long.Rounds(200, 2000)
	for _, x := range []struct {
		name  string
		truth func(*plan.Cell) float64
		rough bool
	}{{"together", together, false}, {"the same, one in 33 off by 5 % or more", together, true},
		{"flat", func(*plan.Cell) float64 { return 20 }, true}} {
		w := &world{truth: together}
		s, _ := searchOf(t, "throughput", sizes, 5*time.Minute)
		w.play(t, s, 10_000, nil)
		all, _, spec := frozenOf(t, s)
		w.truth, w.rough = x.truth, x.rough
		holds, right := 0, 0
		for round := range rounds {
			r := s.report(all, spec.Cells, w.confirm(spec, 5000+100*round))
			ok, told := true, true
			for _, c := range r.comparisons() {
				at := func(id string) float64 {
					return x.truth(&spec.Cells[slices.IndexFunc(spec.Cells,
						func(c plan.Cell) bool { return c.ID == id })])
				}
				truth := at(c.Cell) / at(c.With)
				ok = ok && c.Low <= truth && truth <= c.High
				told = told && (c.Verdict == Open || c.Verdict == Equal && truth == 1 || c.Verdict == Better &&
					truth > 1)
			}
			if len(r.comparisons()) != 3 {
				t.Fatalf("%+v", r)
			}
			holds, right = holds+map[bool]int{true: 1}[ok], right+map[bool]int{true: 1}[told]
		}
		t.Logf("%s: of %d reports all intervals of %d hold, no verdict of %d is wrong", x.name, rounds, holds, right)
		if least := rounds * long.Rounds(92, 94) / 100; holds < least || right < least {
			t.Errorf("%s: of %d reports all intervals of %d hold, no verdict of %d is wrong", x.name, rounds, holds,
				right)
		}
	}
}

// What a flag allowed holds for the confirmation, too, and the file says with which flags matrix
// repeats it.
func TestConfirmsWithFlags(t *testing.T) {
	s, _ := searchOf(t, "throughput", sizes, 5*time.Minute)
	(&world{truth: together}).play(t, s, 10_000, nil)
	s.spec.SharedWithSSH = true
	text, cells, err := s.write(s.freeze(), "zcbench tune", "--power 'a\nseed: 9'")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := s.parse("best.yaml", text, cells)
	if err != nil || !spec.SharedWithSSH || spec.Seed == 9 ||
		!strings.Contains(text,
			"\n# these settings were chosen. zcbench matrix best.yaml --power 'a seed: 9' repeats") {
		t.Errorf("%v, %+v\n%s", err, spec, text)
	}
}

// The confirmation starts the agents anew for each block, as zcbench matrix does that repeats it.
func TestConfirmsAnew(t *testing.T) {
	w := &world{truth: together}
	s, _ := searchOf(t, "throughput", strings.Replace(sizes, "netns:a", "exec:ssh a", 1), 5*time.Minute)
	w.play(t, s, 10_000, nil)
	var made *bench.Experiment
	tuning := &Tuning{Goal: s.goal, Spec: s.spec, Dir: t.TempDir(), Note: s.note,
		New: func(spec *matrix.Spec, dir string, search bool) *bench.Experiment {
			made = &bench.Experiment{Spec: spec, Dir: dir}
			return made
		}}
	if _, err := tuning.confirm(t.Context(), s, s.freeze()); err == nil || made == nil || !made.StartsAnew {
		t.Errorf("%+v: %v, want new starts, and the refusal of a host that the user did not trust", made, err)
	}
}

// A file from which no confirmation can be written is told at once, not when the search is done.
func TestFileThatCannotBeConfirmed(t *testing.T) {
	goal, _ := GoalOf("throughput")
	for _, x := range []struct{ name, file, err string }{
		{"in braces", "{name: x, factors: {rx: [tcp, uring], tx: [tcp], read: [64K, 1M]}}\n",
			"file.yaml:1:2: a key of the experiment that does not begin its line"},
		{"indented", "  name: x\n  factors: {rx: [tcp, uring], tx: [tcp], read: [64K, 1M]}\n",
			"file.yaml:1:3: a key of the experiment that does not begin its line"},
		{"quoted", "---\n\"name\": x\n'factors': {rx: [tcp, uring], tx: [tcp], read: [64K, 1M]}\n\"seed\": 3\n", ""},
		{"a mark before it", "\ufeff# x\nname: x\nfactors: {rx: [tcp, uring], tx: [tcp], read: [64K, 1M]}\n", ""},
	} {
		spec, err := matrix.Parse("file.yaml", []byte(x.file))
		if err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		spec.TakeTurns()
		_, _, err = (&Tuning{Goal: goal, Spec: spec, Time: time.Minute}).prepare()
		in := (*InputError)(nil)
		if errors.As(err, &in) != (x.err != "") || (err == nil) != (x.err == "") ||
			err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}
