// SPDX-License-Identifier: MIT

package why

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// notSampled is the CPU time that accounting has and samples have not: that of kernel threads
// which poll on other CPUs than the measured ones.
const notSampled = "[not sampled]"

// Vague are the classes that name no cause: what is in them can be of anything.
// TestVagueClasses of package bench holds them to be classes.
var Vague = []string{"other", "locks", "irq-off-end", "idle"}

// classes compares all classes that any run met.
func (s *sides) classes() (lines []Line) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(s.a.runs, s.b.runs) {
		for name := range r.classes {
			seen[name] = true
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		l := s.line(name, unitNs, func(r *run) float64 { return r.class(name) })
		l.Vague = slices.Contains(Vague, name) || name == notSampled
		lines = append(lines, l)
	}
	return lines
}

type function struct{ name, where string }

// Functions that are compared: those with half a percent of the CPU time at least, in both cells
// together, and at most so many.
const (
	leastFunction = .005
	mostFunctions = 60
)

// functions compares functions by their own time. Records have those with the most time of a
// run: one that is missing had less than the last of the list. So those are left out that are
// not well above what a list may leave out, and those that so few runs could not tell apart.
func (s *sides) functions(cpu Line, together float64) (lines []Line) {
	least := leastFunction * (cpu.A + cpu.B)
	class := map[function]string{}
	var keys []function
	for _, r := range slices.Concat(s.a.runs, s.b.runs) {
		least = max(least, 4*r.cut())
		for key, f := range r.functions {
			if class[key] == "" {
				keys, class[key] = append(keys, key), cmp.Or(f.Class, "other")
			}
		}
	}
	time := map[function]float64{} // in both: a test of each that is then left out takes too long
	for _, key := range keys {
		time[key] = s.a.mean(key) + s.b.mean(key)
	}
	keys = slices.DeleteFunc(keys, func(key function) bool { return time[key] < least })
	slices.SortFunc(keys, func(x, y function) int {
		return cmp.Or(cmp.Compare(time[y], time[x]), cmp.Compare(x.name, y.name), cmp.Compare(x.where, y.where))
	})
	n := min(len(keys), mostFunctions)
	level := stat.Alpha / (float64(n) * together)
	cpu.Choose(level)
	for _, key := range keys[:min(n, int(float64(cpu.Tests())/together))] {
		l := s.line(key.name, unitNs, func(r *run) float64 { return r.own(key) })
		l.Choose(level)
		l.Where, l.Class = key.where, class[key]
		lines = append(lines, l)
	}
	return lines
}

// own returns a function's own time: 0 where the run did not meet it.
func (r *run) own(key function) float64 {
	if f := r.functions[key]; f != nil {
		return *f.SelfPerKB
	}
	return 0
}

func (s *side) mean(key function) float64 {
	sum := 0.0
	for _, r := range s.runs {
		sum += r.own(key)
	}
	return sum / float64(len(s.runs))
}

func joined(words []string) string { return strings.Join(words, " and ") }

// cut returns how much own time a function missing from a run's list may have had: 0, where the
// list is complete.
func (r *run) cut() float64 {
	fs := r.profile.Functions
	if len(fs) < results.MostFunctions {
		return 0
	}
	if last := fs[len(fs)-1].SelfPerKB; last != nil {
		return *last
	}
	return 0
}
