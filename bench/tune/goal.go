// SPDX-License-Identifier: MIT

package tune

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/near"
	"github.com/zcbench/zcbench/results"
)

// Goal is what settings are to be good for.
type Goal struct {
	Name string
	Unit string // of the figure
	Help string
	// Paced: modes are compared at equal work, half of what the slowest of them does at its
	// defaults.
	Paced bool
	Power bool // it needs a power source
	// figure returns the figure that tables show; nil: the run does not have it.
	figure func(*results.Record) *float64
	// Less is better, of the figure.
	Less bool
}

// Goals are all of them.
var Goals = []Goal{
	{Name: "throughput", Unit: "Gbit/s", Help: "payload per second",
		figure: func(r *results.Record) *float64 { return r.SUT.ThroughputGbps }},
	{Name: "cpu", Unit: "ns/KB", Help: "the receiver's CPU time per KB, at equal work", Paced: true, Less: true,
		figure: func(r *results.Record) *float64 { return r.SUT.NsPerKB() }},
	{Name: "roi_cpu", Unit: "(Gbit/s)²/core", Help: "throughput² per busy core of the receiver",
		figure: func(r *results.Record) *float64 { return r.SUT.ROICPU() }},
	{Name: "roi_power", Unit: "(Gbit/s)²/W", Help: "throughput² per watt of the receiver", Power: true,
		figure: func(r *results.Record) *float64 { return r.SUT.ROIPower() }},
}

// GoalNames lists their names.
func GoalNames() (names []string) {
	for _, g := range Goals {
		names = append(names, g.Name)
	}
	return names
}

// GoalOf finds one by its name.
func GoalOf(name string) (Goal, error) {
	for _, g := range Goals {
		if g.Name == name {
			return g, nil
		}
	}
	if name == "" {
		return Goal{}, fmt.Errorf("say what for: %s", strings.Join(GoalNames(), ", "))
	}
	return Goal{}, fmt.Errorf("%.40q is none%s", name, near.Instead(name, "goals", GoalNames()))
}

// offPace reports whether a run is not of the work that all do.
func (g *Goal) offPace(r *results.Record) bool {
	return g.Paced && slices.Contains(r.Flags, results.FlagOffPace)
}

// value returns how good a run that counts is: the more, the better, and only ratios matter. Why it
// has none otherwise: what says nothing of the setting is "" and false.
func (g *Goal) value(r *results.Record) (v float64, ok bool) {
	f := g.figure(r)
	if r.Verdict != results.OK || f == nil || !(*f > 0) || g.offPace(r) {
		return 0, false
	}
	if g.Less {
		return 1 / *f, true
	}
	return *f, true
}
