// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/results"
)

// Machine is what is known about the hosts that had one role.
type Machine struct {
	Name  string      `json:"name,omitempty"`
	Env   results.Env `json:"env"`             // of the first run that says anything
	Mixed []string    `json:"mixed,omitempty"` // what differs between runs: their numbers are not of one machine
	Facts []Fact      `json:"-"`               // what is known, over all runs
}

// Fact is one line about an environment.
type Fact struct {
	Name, Value string
	perRun      bool // follows from the cell, may change from run to run
}

func facts(e results.Env) []Fact {
	cpus := ""
	if e.CPUs != 0 {
		cpus = strconv.Itoa(e.CPUs)
	}
	return []Fact{
		{Name: "hostname", Value: e.Hostname},
		{Name: "boot id", Value: e.BootID},
		{Name: "kernel", Value: e.Kernel},
		{Name: "interface", Value: e.Dev},
		{Name: "driver", Value: e.Driver},
		{Name: "firmware", Value: e.Firmware},
		{Name: "CPU", Value: e.CPUModel},
		{Name: "CPUs online", Value: cpus},
		{Name: "governor", Value: e.Governor},
		{Name: "mitigations", Value: e.Mitigations},
		{Name: "CPUs measured", Value: e.CPUsMeasured, perRun: true},
		{Name: "softirq on CPU", Value: e.IRQCPU, perRun: true},
		{Name: "softirq placed", Value: e.Placement, perRun: true},
		{Name: "application on CPU", Value: e.AppCPU, perRun: true},
		{Name: "congestion control", Value: e.Congestion, perRun: true},
		{Name: "io_uring engine", Value: e.UringEngine, perRun: true},
		{Name: "zcbench", Value: e.ToolVersion},
		{Name: "Go", Value: e.GoVersion},
	}
}

func machine(recs []results.Record, host func(*results.Record) *results.Host) Machine {
	var m Machine
	values := map[string][]string{}
	seen := map[results.Env]bool{}
	for i := range recs {
		h := host(&recs[i])
		m.Name = cmp.Or(m.Name, h.Name)
		m.Env = cmp.Or(m.Env, h.Env)
		if seen[h.Env] {
			continue
		}
		seen[h.Env] = true
		for _, f := range facts(h.Env) {
			if f.Value != "" && !slices.Contains(values[f.Name], f.Value) {
				values[f.Name] = append(values[f.Name], f.Value)
			}
		}
	}
	for _, f := range facts(m.Env) {
		v := values[f.Name]
		if len(v) == 0 {
			continue
		}
		if len(v) > 1 && !f.perRun {
			m.Mixed = append(m.Mixed, f.Name)
		}
		f.Value = strings.Join(v, " / ")
		m.Facts = append(m.Facts, f)
	}
	return m
}
