// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// named is a CPU that the user chose, and what they call it.
type namedCPU struct {
	what string
	cpu  int
}

// namedCPUs groups the CPUs that were named for an end: its threads', then each layout's.
func namedCPUs(end matrix.End) (groups [][]namedCPU) {
	var threads []namedCPU
	for _, c := range end.ThreadCPUs() {
		if c >= 0 {
			threads = append(threads, namedCPU{"cpu", c})
		}
	}
	if len(threads) > 0 {
		groups = append(groups, threads)
	}
	for _, name := range slices.Sorted(maps.Keys(end.Layouts)) {
		l := end.Layouts[name]
		groups = append(groups, []namedCPU{{"layouts." + name + ".app", l.App}, {"layouts." + name + ".irq", l.IRQ}})
	}
	return groups
}

// checkCPUs refuses CPUs of the file that a host does not have.
func (st *stage) checkCPUs() error {
	for i, x := range []struct {
		name string
		end  matrix.End
		h    *host.Host
	}{{"sut", st.spec.SUT, st.SUT}, {"tg", st.spec.TG, st.TG}} {
		check := func(what string, cpu int) error {
			if cpu == -1 || slices.Contains(x.h.Info.OnlineCPUs, cpu) || onlineUnsure(x.h.Info) {
				return nil
			}
			return inputErrorf("%s: CPU %d is not online on %s; online are %s", st.spec.Called(x.name+"."+what), cpu,
				x.h.Spec.Name, counter.FormatCPUList(x.h.Info.OnlineCPUs))
		}
		// A thread can be bound to a CPU of the agent's cpuset; interrupts go to any.
		pinned := func(what string, cpu int) error {
			err := check(what, cpu)
			if pin := x.h.Info.PinCPUs; err == nil && cpu != -1 && len(pin) > 0 && !slices.Contains(pin, cpu) {
				err = inputErrorf("%s: no thread can be bound to CPU %d on %s: the cpuset of its cgroup allows "+
					"CPUs %s (cpuset.cpus.effective below /sys/fs/cgroup): name one of these, or run outside of it",
					st.spec.Called(x.name+"."+what), cpu, x.h.Spec.Name, counter.FormatCPUList(pin))
			}
			return err
		}
		for _, c := range x.end.ThreadCPUs() {
			if err := pinned("cpu", c); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(x.end.Layouts)) {
			l := x.end.Layouts[name]
			if err := cmp.Or(pinned("layouts."+name+".app", l.App), check("layouts."+name+".irq", l.IRQ)); err != nil {
				return err
			}
		}
		if err := st.checkTopology(x.name, x.end, x.h, st.opt.near[i]); err != nil {
			return err
		}
	}
	return st.checkApart()
}

// onlineUnsure reports whether a container's list stands in place of the list of online CPUs: there
// may be others than its agent knows.
func onlineUnsure(h wire.HelloResult) bool {
	return slices.Contains(h.NotKernels, "/sys/devices/system/cpu/online")
}

// checkTopology refuses CPUs of the file that share a core, because two threads of one take each
// other's time, and those on another NUMA node than asked for: that of the end's interface, whose
// CPUs are near, unless the file names one.
func (st *stage) checkTopology(name string, end matrix.End, h *host.Host, near []int) error {
	t := h.Topology()
	node, whose := t.NodeOfAll(near), "its interface is there"
	if end.Node != nil {
		node, whose = *end.Node, "which was requested"
		_, ok := t.Nodes[node]
		switch {
		case ok, node == matrix.AnyNode, len(t.Nodes) == 0 && node == 0: // a kernel without NUMA has all on one
		case len(t.Nodes) == 0:
			return inputErrorf("%s: %s reports no NUMA nodes, so there is no node %d: leave it out",
				st.spec.Called(name+".node"), h.Spec.Name, node)
		default:
			return inputErrorf("%s: %s has no NUMA node %d with CPUs: %v", st.spec.Called(name+".node"), h.Spec.Name,
				node, t)
		}
	}
	for _, group := range namedCPUs(end) {
		for i, x := range group {
			key := st.spec.Called(name + "." + x.what)
			if on := t.NodeOf(x.cpu); node >= 0 && on >= 0 && on != node {
				return inputErrorf("%s: CPU %d is on NUMA node %d of %s, not on node %d: %s; %v. Name a CPU of "+
					"that node, or allow others: %s",
					key, x.cpu, on, h.Spec.Name, node, whose, t, st.saying(name+".node", "any"))
			}
			for _, y := range group[:i] {
				if t.Siblings(x.cpu, y.cpu) {
					return inputErrorf("%s: CPUs %d and %d of %s are threads of one core and slow each other "+
						"down: name CPUs of two cores "+
						"(/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list), or switch SMT off",
						key, y.cpu, x.cpu, h.Spec.Name, x.cpu)
				}
			}
		}
	}
	return nil
}

// saying formats what the user writes to give a key a value, in a file or as a flag.
func (st *stage) saying(key, value string) string {
	if flag, ok := st.spec.Flags[key]; ok {
		return flag + " " + value
	}
	return key + ": " + value
}

// checkApart refuses CPUs of the two ends of one machine that share a core, where the user named
// both.
func (st *stage) checkApart() error {
	if !st.SUT.SameMachine(st.TG) {
		return nil
	}
	t := st.SUT.Topology()
	for _, a := range slices.Concat(namedCPUs(st.spec.SUT)...) {
		for _, b := range slices.Concat(namedCPUs(st.spec.TG)...) {
			if t.Siblings(a.cpu, b.cpu) {
				return inputErrorf("%s and %s: CPUs %d and %d are threads of one core, so both ends would slow "+
					"each other down: name CPUs of two cores",
					st.spec.Called("sut."+a.what), st.spec.Called("tg."+b.what), a.cpu, b.cpu)
			}
		}
	}
	return nil
}

// onNode picks the CPUs of a NUMA node out of some, one of each core; all where the node has none
// of them.
func onNode(t place.Topology, node int, cpus []int) []int {
	here := slices.DeleteFunc(slices.Clone(cpus), func(c int) bool {
		return !slices.Contains(t.Nodes[node], c) ||
			slices.ContainsFunc(cpus, func(o int) bool { return o < c && t.Siblings(o, c) })
	})
	if len(here) == 0 {
		return cpus
	}
	return here
}

// elsewhere picks the CPUs on other NUMA nodes than the near ones, one of each core.
func elsewhere(t place.Topology, near, cpus []int) []int {
	return slices.DeleteFunc(slices.Clone(cpus), func(c int) bool {
		node := t.NodeOf(c)
		return node < 0 || slices.ContainsFunc(near, func(n int) bool { return t.NodeOf(n) == node }) ||
			slices.ContainsFunc(cpus, func(o int) bool { return o < c && t.Siblings(o, c) })
	})
}

// strayed finds the CPUs that an end's flows have in a cell on other NUMA nodes than its
// interface's, because that one has too few, and nobody named them.
func (r *Runner) strayed(role stream.Role, cell plan.Cell) []int {
	i := index(role)
	asked := r.Opt.asked(i, r.need(role, cell))
	return slices.DeleteFunc(r.cpusOf(role, cell), func(c int) bool {
		return !slices.Contains(r.Opt.beyond(i), c) || slices.Contains(asked, c)
	})
}

// markNodes flags a record where an end had CPUs that strayed finds.
func (r *Runner) markNodes(rec *results.Record) {
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		h, _ := r.hostOf(role, rec.Cell)
		far := r.strayed(role, rec.Cell)
		if len(far) == 0 {
			continue
		}
		rec.Warnings = append(rec.Warnings,
			fmt.Sprintf(
				"%s: its interface's NUMA node has too few CPUs, so %s of another node serve the flows (%s any): %v",
				flagsOf[index(role)].name, cpuList(far), flagsOf[index(role)].node, h.Topology()))
		if !slices.Contains(rec.Flags, results.FlagOtherNode) {
			rec.Flags = append(rec.Flags, results.FlagOtherNode)
		}
	}
}

// markSiblings flags a record in which CPUs that nobody named share a core: there were no others.
func (r *Runner) markSiblings(rec *results.Record) {
	type end struct {
		h    *host.Host
		name string
		cpus []int
	}
	sut, tg := end{r.SUT, "SUT", r.cpusOf(stream.RX, rec.Cell)}, end{r.TG, "TG", r.cpusOf(stream.TX, rec.Cell)}
	all := []end{sut, tg}
	if r.SUT.SameMachine(r.TG) {
		all = []end{{r.SUT, "both ends", slices.Concat(sut.cpus, tg.cpus)}}
	}
	for _, e := range all {
		t := e.h.Topology()
		for i, c := range e.cpus {
			if slices.ContainsFunc(e.cpus[:i], func(o int) bool { return t.Siblings(o, c) }) {
				rec.Warnings = append(rec.Warnings,
					fmt.Sprintf("%s: some of the CPUs %s are threads of one core and slow each other down", e.name,
						counter.FormatCPUList(e.cpus)))
				if !slices.Contains(rec.Flags, results.FlagSiblings) {
					rec.Flags = append(rec.Flags, results.FlagSiblings)
				}
				break
			}
		}
	}
}

// cpusOf lists the CPUs that an end's flows use in a cell, each once.
func (r *Runner) cpusOf(role stream.Role, cell plan.Cell) (out []int) {
	cpus, layout := r.cpus(role, cell)
	for _, c := range cpus {
		for _, n := range []int{c.App, c.SoftirqOf(layout)} {
			if n >= 0 {
				out = append(out, n)
			}
		}
	}
	return inOrder(out)
}
