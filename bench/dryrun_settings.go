// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/disk"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
)

// settings prints everything that the plan sets on the hosts. Whoever runs a file is
// often not who wrote it: this is where they see what it does.
func (p preview) settings(w io.Writer) {
	fmt.Fprintln(w, "\nset on the hosts for the runs, and restored")
	for _, end := range []struct {
		name string
		role stream.Role
		of   *matrix.Settings
	}{{"SUT", stream.RX, &p.spec.SUT.Settings}, {"TG", stream.TX, &p.spec.TG.Settings}} {
		s := p.collect(end.role)
		dirs := p.written(end.role)
		if len(s.names)+len(dirs) == 0 {
			fmt.Fprintf(w, "  %s: nothing\n", end.name)
			continue
		}
		fmt.Fprintf(w, "  %s:\n", end.name)
		for _, dir := range dirs {
			fmt.Fprintf(w, "    %q: files without a name, together up to %d GiB, or half of what is free\n", dir,
				disk.MostBytes>>30)
		}
		for _, name := range s.names {
			fmt.Fprintf(w, "    %s = %s%s%s\n", name, s.text(name), p.resets(end.role, name),
				p.wordOfSysctl(end.of, name))
		}
	}
}

// written lists the folders in which files take room while cells of theirs run.
func (p preview) written(role stream.Role) (dirs []string) {
	for _, c := range p.spec.Cells {
		dir := c.WritesTo()
		if role == stream.RX && dir != "" && p.missing(c) == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// collected are the values that cells give settings, each in the order in which they
// first come.
type collected struct {
	cells  int
	names  []string
	values map[string][]string
	counts map[string]int // cells that set it
}

func (s *collected) add(name, value string) {
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
	if !slices.Contains(s.values[name], value) {
		s.values[name] = append(s.values[name], value)
	}
	s.counts[name]++
}

// text formats the values that a setting gets, and in how many cells if not in all.
func (s *collected) text(name string) string {
	out := strings.Join(s.values[name], " | ")
	if n := s.counts[name]; n < s.cells {
		out += fmt.Sprintf("   (%d of %d cells)", n, s.cells)
	}
	return out
}

// collect goes through the cells that can run.
func (p preview) collect(role stream.Role) *collected {
	s := &collected{values: map[string][]string{}, counts: map[string]int{}}
	shares := p.shares()
	for i, c := range p.spec.Cells {
		if p.missing(c) != nil {
			continue
		}
		s.cells++
		o := p.forCell(c)
		o.beside = shares[i]
		of, tg := settingsOf(o, c)
		if p.oneMachine && !tg.IsZero() {
			tg.OnlyNamespace = true
		}
		if role == stream.TX {
			of = tg
		}
		for _, own := range of.Each() {
			s.ofEnd(own)
		}
		if role == stream.RX {
			s.ofModes(c, o)
		} else if c.BothWays() {
			s.ofMode(c, Options{SUTDev: o.TGDev, SUTSettings: o.TGSettings})
		}
		cpus, layout := p.cpus(role, c, o)
		for _, dev := range o.devs(role) {
			s.ofLayout(placed{role, c, cpus, layout}, dev, o)
			s.ofPoll(role, c, dev, o)
		}
	}
	return s
}

// shares shares out the queues of cells that take turns.
func (p preview) shares() []*wire.QueueShare {
	out := make([]*wire.QueueShare, len(p.spec.Cells))
	if p.spec.TurnLength() == 0 {
		return out
	}
	for _, g := range plan.TurnGroups(p.spec.Cells) {
		var can []int
		var cells []plan.Cell
		for _, i := range g {
			if p.missing(p.spec.Cells[i]) == nil {
				can, cells = append(can, i), append(cells, p.spec.Cells[i])
			}
		}
		for n, q := range shareQueues(cells) {
			out[can[n]] = q
		}
	}
	return out
}

func (s *collected) ofEnd(of plan.Settings) {
	for _, x := range of.Wanted() {
		switch {
		case !x.OfHost() && of.Upper != "" && nic.OfUpper(x.Name):
			s.add(of.Upper+", and "+of.Dev+" below it: "+x.Name, x.Value)
		case !x.OfHost():
			s.add(cmp.Or(of.Dev, "lo")+": "+x.Name, x.Value)
		case x.Name == plan.Governor:
			s.add("governor of every CPU", x.Value)
		case x.Name == plan.Idle:
			s.add("idle states", "at most "+x.Value+" us to leave")
		default:
			s.add(x.Name, x.Value)
		}
	}
}

// ofModes adds what a receive mode sets by itself on each interface, for the flows that are dealt
// to it.
func (s *collected) ofModes(c plan.Cell, o Options) {
	devs := o.devs(stream.RX)
	for i, dev := range devs {
		own, at := c, o
		at.SUTDev = dev
		if n := len(devs); n > 1 {
			own.Flows = plan.Dealt(c.NFlows(), i, n)
			if c.Queues > 0 {
				own.Queues = plan.Dealt(c.Queues, i, n)
			}
			if (c.NFlows()-1)%n != i {
				own.Control, own.SteerTo = "", nil // which are the last flow's
			}
		}
		s.ofMode(own, at)
	}
}

// ofMode adds what a receive mode sets by itself (docs/zcrx.md).
func (s *collected) ofMode(c plan.Cell, o Options) {
	m, err := modes.Find(stream.RX, c.RX)
	on := func(name string) string { return cmp.Or(o.SUTDev, "lo") + ": " + name }
	switch {
	case err != nil:
		return
	case m.TakesQueue():
		s.add(on("header-split"), "tcp-data-split on")
	case m.Has(stream.SplitsHeaders):
		s.add(on("header-split"), "tcp-data-split on, where it can be")
	}
	if c.NQueues() > 0 {
		ids, _ := o.flowQueues(c) // a cell that cannot have them is not run
		queues, rules := steering(c, ids)
		s.add(on("rss"), "without "+queues)
		s.add(on("feature rx-ntuple-filter"), "on")
		if c.ByPort() {
			s.add(on("rss-context"), "over "+overQueues(c, queues))
		}
		s.add(on("rule"), rules)
	}
}

// placed is where the flows of an end are to run in a cell.
type placed struct {
	role   stream.Role
	cell   plan.Cell
	cpus   []place.CPUs
	layout place.Layout
}

// ofLayout adds where the receive softirq of the end goes.
func (s *collected) ofLayout(p placed, dev string, o Options) {
	if p.layout == place.AsFound {
		return
	}
	var known []int
	for _, c := range p.cpus {
		if n := c.SoftirqOf(p.layout); n >= 0 {
			known = append(known, n)
		}
	}
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	layout := " (" + string(p.layout) + ")"
	where := "chosen near the interface" + layout
	switch {
	case len(known) == 1:
		where = "CPU " + counter.FormatCPUList(known) + layout
	case len(known) > 1:
		where = "CPUs " + counter.FormatCPUList(known) + layout + p.ofQueues(o)
	}
	s.add(cmp.Or(dev, "lo")+": receive softirq, by interrupts or RPS", where)
}

// ofQueues describes which queues have a CPU of their own.
func (p placed) ofQueues(o Options) string {
	n := p.cell.NQueues()
	if p.role != stream.RX || n == 0 {
		return ", in turn"
	}
	ids, _ := o.flowQueues(p.cell)
	if ids == nil || n > mostRules {
		return ", one for each queue of the flows, and the other queues in turn"
	}
	var each []string
	for i := range n {
		each = append(each, fmt.Sprintf("queue %d to CPU %d", ids[i], p.cpus[i].SoftirqOf(p.layout)))
	}
	return ": " + strings.Join(each, ", ") + ", others in turn"
}

// cpus allots the CPUs of an end and returns them with its layout, see [Runner.cpus].
func (p preview) cpus(role stream.Role, c plan.Cell, o Options) ([]place.CPUs, place.Layout) {
	if p.stage != nil {
		return (&Runner{SUT: p.stage.SUT, TG: p.stage.TG, Opt: o}).cpus(role, c)
	}
	o.nameCPUs(p.spec.SUT.ThreadCPUs(), p.spec.TG.ThreadCPUs())
	layouts := [2]place.Layout{layoutOf(stream.RX, c, p.oneMachine, p.loopback), layoutOf(stream.TX, c, p.oneMachine,
		p.loopback)}
	all := o.allot([2]need{needOf(stream.RX, c, layouts[0]), needOf(stream.TX, c, layouts[1])}, p.oneMachine)
	return all[index(role)], layouts[index(role)]
}

// forCell returns the options of a cell's runs: on the hosts that were asked, otherwise as far as
// the file gives them.
func (p preview) forCell(c plan.Cell) Options {
	if p.stage != nil {
		return p.stage.forCell(c, p.stage.opt)
	}
	o := options(p.spec)
	o.SUTDev, o.TGDev = cmp.Or(p.spec.SUT.Dev, "interface"), cmp.Or(p.spec.TG.Dev, "interface")
	o.SUTFlows, o.TGFlows = []place.CPUs{place.NoCPUs}, []place.CPUs{place.NoCPUs}
	return (&stage{spec: p.spec}).forCell(c, o)
}

// programs prints what is started beside the agents of this machine.
func (p preview) programs(w io.Writer) {
	var lines []string
	for _, x := range []struct {
		name string
		end  matrix.End
	}{{"SUT", p.spec.SUT}, {"TG", p.spec.TG}} {
		spec, err := host.ParseSpec(x.end.Host)
		if err != nil {
			continue
		}
		if what := spec.Starts(); what != "" {
			lines = append(lines, x.name+": "+what+p.word(x.end))
		}
	}
	lines = slices.Concat(lines, p.memoryPrograms(), p.powerPrograms())
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(w, "\nprograms to be started\n  %s\n", strings.Join(lines, "\n  "))
}
