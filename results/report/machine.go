// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// Machine is what is known about the hosts that had one role.
type Machine struct {
	Name  string            `json:"name,omitempty"`
	Env   measure.Env       `json:"env"`             // of the first run that says anything
	Mixed []string          `json:"mixed,omitempty"` // what differs between runs: their numbers are not of one machine
	Facts []compare.EnvFact `json:"-"`               // what is known, over all runs
}

func machine(recs []results.Record, host func(*results.Record) *results.Host) Machine {
	var m Machine
	values := map[string][]string{}
	seen := map[measure.Env]bool{}
	for i := range recs {
		h := host(&recs[i])
		m.Name = cmp.Or(m.Name, h.Name)
		m.Env = cmp.Or(m.Env, h.Env)
		if seen[h.Env] {
			continue
		}
		seen[h.Env] = true
		for _, f := range compare.EnvFacts(h.Env) {
			if f.Value != "" && !slices.Contains(values[f.Name], f.Value) {
				values[f.Name] = append(values[f.Name], f.Value)
			}
		}
	}
	for _, f := range compare.EnvFacts(m.Env) {
		v := values[f.Name]
		if len(v) == 0 {
			continue
		}
		if len(v) > 1 && !f.PerRun {
			m.Mixed = append(m.Mixed, f.Name)
		}
		f.Value = strings.Join(v, " / ")
		m.Facts = append(m.Facts, f)
	}
	return m
}
