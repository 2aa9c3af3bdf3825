// SPDX-License-Identifier: MIT

package cgroup

import (
	"bytes"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
)

// CPU is the limit of CPU time that one group sets, and what it did since the group was made
// (kernel/sched/core.c: cpu_cfs_stat_show, cpu_max_show).
type CPU struct {
	Name string // the group's path
	Up   int    // how many levels it is above the process's own; 0: it is that
	V1   bool
	Max  string // "QUOTA PERIOD" in microseconds; empty: there is none
	// Counted tells that the group counts. Periods are those of the limit, Throttled those at
	// whose end a CPU of the group had no time left; ThrottledUs is for how long, the CPUs
	// added up.
	Counted                         bool
	Periods, Throttled, ThrottledUs uint64
}

// Memory is the limit of memory that one group sets, in bytes, and how often it was reached
// (mm/memcontrol.c: memory_events_local_show; mm/memcontrol-v1.c of version 1).
type Memory struct {
	Name      string
	Up        int
	V1        bool
	High, Max string // empty: there is none
	// HighEvents and MaxEvents count how often the group's own limit was met; nil: it does not
	// count them. Of version 1 there is no High.
	HighEvents, MaxEvents *uint64
}

// Pressure is for how many microseconds some tasks of the process's own group, and all of them
// at once, waited (kernel/sched/psi.c); nil: it is not counted, or the group is the root, whose
// pressure is that of the machine.
type Pressure struct{ CPUSome, CPUFull, MemorySome, MemoryFull *uint64 }

// Reading is what all groups say at one time, the process's own first.
type Reading struct {
	CPU      []CPU
	Memory   []Memory
	Pressure Pressure
	at       string
}

// Read reads the groups: a few small files of each level. Groups that are nil have nothing.
func (g *Groups) Read() (*Reading, error) {
	if g == nil {
		return nil, nil
	}
	at, err := g.file(filepath.Join(g.proc, "cgroup"))
	if err != nil {
		return nil, err
	}
	if string(at) != g.at {
		return nil, errors.New("the process was moved to another control group: its limits are not known any more")
	}
	r := &Reading{at: string(at)}
	for i, p := range g.cpu.places {
		r.CPU = append(r.CPU, g.readCPU(p, i))
	}
	for i, p := range g.memory.places {
		r.Memory = append(r.Memory, g.readMemory(p, i))
	}
	r.Pressure = g.readPressure()
	return r, nil
}

func (g *Groups) readCPU(p place, up int) CPU {
	c := CPU{Name: p.name, Up: up, V1: g.cpu.v1}
	if c.V1 {
		quota, period := g.line(g.cpu, p, "cpu.cfs_quota_us"), g.line(g.cpu, p, "cpu.cfs_period_us")
		if quota != "" && quota != "-1" && period != "" {
			c.Max = quota + " " + period
		}
	} else if c.Max = g.line(g.cpu, p, "cpu.max"); strings.HasPrefix(c.Max, "max") {
		c.Max = ""
	}
	stat := counts(g.text(g.cpu, p, "cpu.stat"))
	periods, ok := stat["nr_periods"]
	throttled, ok2 := stat["nr_throttled"]
	c.Counted, c.Periods, c.Throttled, c.ThrottledUs = ok && ok2, periods, throttled, stat["throttled_usec"]
	if c.V1 {
		c.ThrottledUs = stat["throttled_time"] / 1000
	}
	return c
}

// unlimited is how version 1 writes that there is no limit: the largest number of pages.
const unlimited = 1 << 62

func (g *Groups) readMemory(p place, up int) Memory {
	m := Memory{Name: p.name, Up: up, V1: g.memory.v1}
	if m.V1 {
		m.Max = g.line(g.memory, p, "memory.limit_in_bytes")
		if n, err := strconv.ParseUint(m.Max, 10, 64); err != nil || n >= unlimited {
			m.Max = ""
		}
		if n, err := strconv.ParseUint(g.line(g.memory, p, "memory.failcnt"), 10, 64); err == nil {
			m.MaxEvents = &n
		}
		return m
	}
	limit := func(name string) string {
		if v := g.line(g.memory, p, name); v != "max" {
			return v
		}
		return ""
	}
	m.High, m.Max = limit("memory.high"), limit("memory.max")
	events := counts(g.text(g.memory, p, "memory.events.local"))
	if n, ok := events["high"]; ok {
		m.HighEvents = &n
	}
	if n, ok := events["max"]; ok {
		m.MaxEvents = &n
	}
	return m
}

func (g *Groups) readPressure() (p Pressure) {
	if len(g.tree.places) == 0 {
		return p
	}
	own := g.tree.places[0]
	if g.text(g.tree, own, "cgroup.type") == nil {
		return p // the root
	}
	p.CPUSome, p.CPUFull = totals(g.text(g.tree, own, "cpu.pressure"))
	p.MemorySome, p.MemoryFull = totals(g.text(g.tree, own, "memory.pressure"))
	return p
}

// line reads a file of one line; empty: it is not there.
func (g *Groups) line(c chain, p place, name string) string {
	return string(bytes.TrimSpace(g.text(c, p, name)))
}

// counts reads lines of a name and a number.
func counts(text []byte) map[string]uint64 {
	m := map[string]uint64{}
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) != 2 {
			continue
		}
		if n, err := strconv.ParseUint(string(f[1]), 10, 64); err == nil {
			m[string(f[0])] = n
		}
	}
	return m
}

// totals reads a pressure file: "some avg10=0.00 avg60=0.00 avg300=0.00 total=0", and the same
// of "full".
func totals(text []byte) (some, full *uint64) {
	for line := range bytes.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		_, total, ok := strings.Cut(rest, "total=")
		n, err := strconv.ParseUint(total, 10, 64)
		switch {
		case !ok || err != nil:
		case kind == "some":
			some = &n
		case kind == "full":
			full = &n
		}
	}
	return some, full
}
