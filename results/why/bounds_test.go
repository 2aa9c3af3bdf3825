// SPDX-License-Identifier: MIT

package why

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// A profile with more names than zcbench writes, or with figures that do not add up to a number,
// does not count, which is said; what is left is compared, and is JSON.
func TestUnfitProfiles(t *testing.T) {
	for name, spoil := range map[string]func(*results.Profiled){
		"classes": func(p *results.Profiled) {
			for i := range mostClasses {
				p.Classes = append(p.Classes, results.ProfiledPart{Name: fmt.Sprint("class", i), SelfPerKB: new(1.)})
			}
		},
		"functions": func(p *results.Profiled) {
			for i := range results.MostFunctions {
				p.Functions = append(p.Functions, results.ProfiledPart{Name: fmt.Sprint("f", i), SelfPerKB: new(1.)})
			}
		},
		"two equal classes": func(p *results.Profiled) {
			huge := results.ProfiledPart{Name: "copy", SelfPerKB: new(1e308)}
			p.Classes = append(p.Classes, huge, huge)
		},
		"two equal functions": func(p *results.Profiled) {
			huge := results.ProfiledPart{Name: "f", Where: "thread", SelfPerKB: new(1e308)}
			p.Functions = append(p.Functions, huge, huge)
		},
	} {
		r, e := experiment{seed: 3, reps: 9, b: map[string]float64{"copy": -60}, change: func(r *results.Record) {
			if r.Rep == 4 && r.Cell.RX == "tcp" {
				spoil(r.SUT.Probes.Profile)
			}
		}}.explain(t)
		if len(e.RunsA) != 8 || len(e.RunsB) != 9 || e.Classes[0].Name != "copy" ||
			!strings.Contains(table(t, r), "the profiles of 1 runs of A are left out") {
			t.Errorf("%s: %d and %d runs, %q", name, len(e.RunsA), len(e.RunsB), e.Notes)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Counters that no machine can have counted are left out, and not printed as NaN.
func TestImplausibleCounters(t *testing.T) {
	r, e := experiment{seed: 3, reps: 9, change: func(r *results.Record) { r.SUT.Metrics[0].Value = 1e308 }}.explain(t)
	for _, c := range e.Counters {
		if c.Name == "system calls of the data path" {
			t.Errorf("%+v", c)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// Names that differ from run to run are not tested one by one: the classes with the least time are
// in "other" then, and all add up; of functions those with the most time are tested.
func TestManyNames(t *testing.T) {
	n := 0
	_, e := experiment{seed: 3, reps: 10, b: map[string]float64{"copy": -60}, change: func(r *results.Record) {
		p := r.SUT.Probes.Profile
		for range 30 {
			n++
			p.Classes = append(p.Classes, results.ProfiledPart{Name: fmt.Sprint("class", n), SelfPerKB: new(.5)})
			p.Functions = append(p.Functions, results.ProfiledPart{Name: fmt.Sprint("f", n), Where: "thread",
				SelfPerKB: new(40.)})
		}
		*p.Busy.SelfPerKB += 15
		*r.SUT.CPUBusyCores += 15 * 1e6 / 1e9
	}}.explain(t)
	if len(e.Classes) > mostClasses+2 || e.Classes[0].Name != "copy" {
		t.Errorf("%d classes, %s first", len(e.Classes), e.Classes[0].Name)
	}
	if !strings.Contains(strings.Join(e.Notes, "\n"), "classes with the least time are in other") {
		t.Errorf("%q", e.Notes)
	}
	if len(e.Functions) == 0 || len(e.Functions) > mostFunctions || e.Functions[0].Name != "copy_function0" {
		t.Errorf("%d functions: %+v", len(e.Functions), e.Functions[:min(1, len(e.Functions))])
	}
}
