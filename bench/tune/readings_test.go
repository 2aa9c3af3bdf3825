// SPDX-License-Identifier: MIT

package tune

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Each mode is charged its own starts, from end to end, however long those of others are. What
// something else spoils is charged to all alike, whoever's start it was, and from the end of what
// is tried to the first start is no mode's.
func TestChargedItsOwn(t *testing.T) {
	for name, disturbs := range map[string]func(c *plan.Cell, rep int) bool{
		"nothing": nil,
		"tries":   func(_ *plan.Cell, rep int) bool { return rep == 1 || rep == 2 },
		"tcp":     func(c *plan.Cell, rep int) bool { return c.RX == "tcp" && rep%2 == 1 && rep < 20 },
		"thrice":  func(c *plan.Cell, rep int) bool { return c.RX == "uring" && rep > 4 && rep < 9 },
	} {
		w := &world{truth: func(*plan.Cell) float64 { return 20 }, disturbs: disturbs,
			window: func(c *plan.Cell) time.Duration {
				return map[bool]time.Duration{true: 2700 * time.Millisecond, false: 8 * time.Second}[c.RX == "tcp"]
			}}
		s, _ := searchOf(t, "throughput", sizes, 5*time.Minute)
		if err := s.Begin(w.found()); err != nil {
			t.Fatal(err)
		}
		budget := s.entries[0].seconds
		s, _ = searchOf(t, "throughput", sizes, 5*time.Minute)
		w.play(t, s, 10_000, nil)
		lost := w.took[spoilt]
		if (lost > 0) != (disturbs != nil) {
			t.Errorf("%s: %.1f s were spoilt", name, lost)
		}
		for _, e := range s.entries {
			own := w.took[e.Name]
			if left, want := e.seconds-e.race.Spent(), budget-own-lost/2; own < 10 || math.Abs(left-want) > 1e-6 {
				t.Errorf("%s: %s has %.3f s left of %.3f s, took %.3f s, and all lost %.3f s", name, e.Name, left,
					budget, own, lost)
			}
		}
	}
}

// One bad run of the defaults is no reason to leave; defaults that never hold the pace are told,
// and what the search found is confirmed all the same.
func TestBadDefaults(t *testing.T) {
	bad := map[string]func(*results.Record){
		"off-pace":   func(r *results.Record) { r.Flags = []string{results.FlagOffPace} },
		"invalid":    func(r *results.Record) { r.Fail(plan.ByProof, "payload was copied", "") },
		"other work": func(r *results.Record) { r.Fail(plan.ByEnvironment, "other work", "") },
	}
	for name, spoil := range bad {
		for _, always := range []bool{false, true} {
			spoilt, tuned := map[string]bool{}, map[int]bool{64 << 10: true, 1 << 20: true}
			w := &world{truth: together, cores: func(c *plan.Cell) float64 { return 20 / together(c) },
				spoils: func(r *matrix.Run, rec *results.Record) {
					if k := r.Cell.RX; !r.Warmup && !tuned[r.Cell.ReadBytes] && !tuned[r.Cell.MessageBytes] &&
						(always || !spoilt[k]) {
						spoilt[k] = true
						spoil(rec)
					}
				}}
			s, _ := searchOf(t, "cpu", sizes, 5*time.Minute)
			w.play(t, s, 10_000, nil)
			for _, f := range s.freeze() {
				l, _ := f.race.Leaders()
				told := slices.ContainsFunc(f.Cannot, func(c Cannot) bool { return c.What == atDefaults })
				if f.isDefault() || (l.Gain == 0) != always || told != always {
					t.Errorf("%s, always %v: %s: the best is %v, gain %v; told %v", name, always, f.Name,
						f.words(f.arm), l.Gain, f.Cannot)
				}
			}
		}
	}
}

// A start that something else disturbs is made again, twice at most.
func TestDisturbed(t *testing.T) {
	w := &world{truth: together, disturbs: func(*plan.Cell, int) bool { return true }}
	s, _ := searchOf(t, "throughput", sizes, 3*time.Minute)
	if made := w.play(t, s, 10_000, nil); len(made) < 9 || len(made)%mostTries != 0 {
		t.Errorf("%d starts", len(made))
	}
	for _, f := range s.freeze() {
		t.Errorf("%s was frozen without a run that counts", f.best.ID)
	}
}

// For CPU time all modes work alike: half of what the slowest does. Who cannot hold that is out.
func TestAtEqualWork(t *testing.T) {
	w := &world{truth: func(c *plan.Cell) float64 {
		if c.ReadBytes == 1<<20 {
			return 8 // too slow
		}
		return together(c)
	}, cores: func(c *plan.Cell) float64 {
		return map[bool]float64{true: .5, false: .6}[c.MessageBytes == 1<<20 || c.ReadBytes == 1<<20]
	}}
	s, _ := searchOf(t, "cpu", sizes, 3*time.Minute)
	w.play(t, s, 10_000, nil)
	for _, f := range s.freeze() {
		if p := f.best.PaceBitsPS; p < 9e9 || p > 11e9 || p != f.base.PaceBitsPS {
			t.Errorf("%s: a pace of %d", f.best.ID, p)
		}
		if f.best.ReadBytes == 1<<20 || f.best.MessageBytes != 1<<20 {
			t.Errorf("%s is the best", f.best.ID)
		}
		if !slices.ContainsFunc(f.Cannot, func(c Cannot) bool { return strings.Contains(c.Reason, "pace") }) {
			t.Errorf("%+v", f.Cannot)
		}
	}
}

// By power the setting wins that moves the most per watt, though it is not the fastest, and a mode
// whose runs have no watts is told.
func TestByPower(t *testing.T) {
	w := &world{truth: together, spoils: func(r *matrix.Run, rec *results.Record) {
		if watts := 100.; r.Cell.RX == "tcp" && rec.SUT.ThroughputGbps != nil {
			if r.Cell.MessageBytes == 64<<10 && r.Cell.ReadBytes == 1<<20 { // the fastest
				watts = 130
			}
			rec.SUT.PowerW = &watts
		}
	}}
	s, _ := searchOf(t, "roi_power", sizes, 5*time.Minute)
	w.play(t, s, 10_000, nil)
	all, _, spec := frozenOf(t, s)
	if len(all) != 1 || strings.Join(all[0].words(all[0].arm), " ") != "message=1Mi read=64Ki" {
		t.Fatalf("%+v", all)
	}
	r := s.report(all, spec.Cells, w.confirm(spec, 5000))
	if g := r.Modes[0].Gain; g == nil || g.Verdict != Better || g.Low > 1.02*1.02 || g.High < 1.02*1.02 {
		t.Errorf("%+v, want 1.02 squared", g)
	}
	if !slices.ContainsFunc(r.Cannot, func(c Cannot) bool {
		return c.Mode == "uring/tcp" && strings.Contains(c.Reason, "no roi_power")
	}) {
		t.Errorf("%+v", r.Cannot)
	}
}
