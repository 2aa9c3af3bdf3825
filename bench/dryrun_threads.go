// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"io"
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/plan"
)

// threads prints with how many threads, and where, several flows are moved; and which CPUs of
// other NUMA nodes the runs have for want of others.
func (p preview) threads(w io.Writer) {
	title := "\nthreads\n"
	for _, end := range []struct {
		name string
		role stream.Role
	}{{"SUT", stream.RX}, {"TG", stream.TX}} {
		s := p.collectThreads(end.role)
		for _, name := range s.names {
			fmt.Fprintf(w, "%s  %s: %s: %s\n", title, end.name, name, s.text(name))
			title = ""
		}
	}
}

func (p preview) collectThreads(role stream.Role) *collected {
	s := &collected{values: map[string][]string{}, counts: map[string]int{}}
	for _, c := range p.spec.Cells {
		if p.missing(c) != nil {
			continue
		}
		s.cells++
		o := p.forCell(c)
		if n := c.NFlows(); n > 1 {
			cpus, _ := p.cpus(role, c, o)
			var apps []int
			for _, f := range cpus {
				apps = append(apps, f.App)
			}
			s.add(fmt.Sprintf("%d flows", n), threadsText(c, role, apps))
		}
		if p.stage != nil {
			r := Runner{SUT: p.stage.SUT, TG: p.stage.TG, Opt: o}
			if far := r.strayed(role, c); len(far) > 0 {
				s.add("on another NUMA node than the interface, which has too few CPUs", cpuList(far))
			}
		}
	}
	return s
}

// threadsText describes how many threads a cell's flows have at an end, and on which CPUs.
func threadsText(c plan.Cell, role stream.Role, cpus []int) string {
	n := c.NThreads(role)
	text := "a thread each"
	switch {
	case n == 1:
		text = "one thread, that of their RX queue"
	case n < c.NFlows():
		text = fmt.Sprintf("%d threads, one for each RX queue", n)
	}
	if k := c.NRings(); role == stream.RX && k > 1 {
		text = fmt.Sprintf("%d threads, one for each of the %d rings of an RX queue", n, k)
	}
	cpus = slices.Compact(slices.Sorted(slices.Values(cpus)))
	switch {
	case cpus[0] == -1:
		return text + ", not pinned"
	case cpus[0] < 0:
		return text + ", on CPUs near the interface"
	}
	return text + ", on " + cpuList(cpus)
}

func cpuList(cpus []int) string {
	if len(cpus) == 1 {
		return fmt.Sprintf("CPU %d", cpus[0])
	}
	return "CPUs " + counter.FormatCPUList(cpus)
}
