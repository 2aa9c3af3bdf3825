// SPDX-License-Identifier: MIT

package why

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// counted gives a run's classes cycles, instructions and misses: the copy waits for memory, and all
// else does not.
func counted(r *results.Record) {
	p := r.SUT.Probes.Profile
	all := [3]float64{}
	for i := range p.Classes {
		c := &p.Classes[i]
		cycles := 3 * *c.SelfPerKB
		did := [3]float64{cycles, 2 * cycles, .001 * cycles}
		if c.Name == "copy" {
			did = [3]float64{cycles, .5 * cycles, .1 * cycles}
		}
		c.CyclesPerKB, c.InstructionsPerKB, c.LLCMissesPerKB = new(did[0]), new(did[1]), new(did[2])
		for k := range all {
			all[k] += did[k]
		}
	}
	p.Busy.CyclesPerKB, p.Busy.InstructionsPerKB, p.Busy.LLCMissesPerKB = new(all[0]), new(all[1]), new(all[2])
	p.Event = "cycles"
}

// What was done in the time of classes that differ is told beside them: of all classes, and of
// each, its means. It is no finding, and changes none.
func TestDone(t *testing.T) {
	x := experiment{seed: 4, reps: 10, b: map[string]float64{"copy": -30, "socket": 12}}
	plainResult, without := x.explain(t)
	if without.Done != nil || strings.Contains(table(t, plainResult), "what was done") {
		t.Errorf("nobody counted, and it is told: %+v", without.Done)
	}
	x.change = counted
	r, e := x.explain(t)
	var names []string
	for _, d := range e.Done {
		names = append(names, d.Class)
	}
	var differ []string
	for _, c := range Differing(e.Classes) {
		differ = append(differ, c.Name)
	}
	if !slices.Equal(names, append([]string{""}, differ...)) || !slices.Contains(names, "copy") {
		t.Fatalf("done of %q, classes that differ are %q", names, differ)
	}
	for _, d := range e.Done {
		ipc := 2.
		if d.Class == "copy" {
			ipc = .5
		}
		if d.Class != "" && (!near(*d.A.IPC, ipc) || !near(*d.B.IPC, ipc)) {
			t.Errorf("%s: %v and %v instructions a cycle, want %v", d.Class, *d.A.IPC, *d.B.IPC, ipc)
		}
	}
	all, cp := e.Done[0], e.Done[1+slices.Index(differ, "copy")]
	i := slices.IndexFunc(e.Classes, func(l Line) bool { return l.Name == "copy" })
	if !near(*cp.A.CyclesPerKB, 3*e.Classes[i].A) || !near(*cp.B.LLCMissesPerKB, .3*e.Classes[i].B) ||
		!(*all.A.IPC > .5 && *all.A.IPC < *all.B.IPC && *all.B.IPC < 2) {
		t.Errorf("%+v of %+v, all %+v", cp, e.Classes[i], all)
	}
	flat := strings.Join(strings.Fields(table(t, r)), " ")
	for _, want := range []string{"what was done in that time (means; chosen by time, not tested)", "per cycle: A",
		strings.Join(strings.Fields(strings.Join(cp.Fields(), " ")), " ")} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in %s", want, flat)
		}
	}
	if !slices.EqualFunc(e.Classes, without.Classes, func(x, y Line) bool {
		return x.Name == y.Name &&
			x.Differs == y.Differs
	}) {
		t.Error("counting has changed what differs")
	}
}

// A side of which a run was not counted has no means: it would be of others.
func TestDoneOfSome(t *testing.T) {
	_, e := experiment{seed: 4, reps: 10, b: map[string]float64{"copy": -30}, change: func(r *results.Record) {
		if r.Rep != 3 {
			counted(r)
		}
		r.SUT.Probes.Profile.Event = "cycles"
	}}.explain(t)
	if e.Done != nil {
		t.Errorf("%+v", e.Done)
	}
}

func near(a, b float64) bool { return a-b < 1e-6*b && b-a < 1e-6*b }
