// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/cpuclass"
	"github.com/zcbench/zcbench/machine/measure"
)

// PMU counts, per CPU, what perf_event_open(2) lets count there, user and kernel: cycles,
// instructions and the last-level cache by the processor's own counters, and APERF, MPERF and TSC
// of the msr PMU (arch/x86/events/msr.c). A counter that is not there is missing, with the reason;
// the zero value has none.
type PMU struct {
	calls  eventCalls
	cpus   []int
	groups []pmuGroup
	kinds  cpuclass.Events // of a hybrid processor
	llc    string          // what counts the last-level cache
	// Missing says of each event that cannot be counted why not.
	Missing map[string]string
}

// pmuGroup are events that have counters at the same time, or none has: their ratio is of one time,
// and one call reads them. A group is small: one that never fits beside what others count, such as
// the kernel's own watchdog, never counts.
type pmuGroup struct {
	names []string
	fds   [][]int // of each event, by position in cpus; the first event leads
}

// The events.
const (
	pmuCycles       = "cycles"
	pmuInstructions = "instructions"
	pmuReferences   = "llc_references"
	pmuMisses       = "llc_misses"
	pmuAPERF        = "aperf"
	pmuMPERF        = "mperf"
	pmuTSC          = "tsc"
)

// OpenPMU begins to count on cpus, nil for all online ones. It never fails: what
// cannot be counted is Missing. It needs CAP_PERFMON or
// kernel.perf_event_paranoid below 1.
func OpenPMU(fs FS, cpus []int) *PMU { return openPMU(fs, cpus, kernelEvents) }

func openPMU(fs FS, cpus []int, calls eventCalls) *PMU {
	p := &PMU{calls: calls, Missing: map[string]string{}}
	if cpus == nil {
		var err error
		if cpus, err = OnlineCPUs(fs); err != nil {
			p.Missing[pmuCycles] = err.Error()
			return p
		}
	}
	p.cpus, p.kinds = cpus, cpuclass.ReadEvents(fs.sys)
	p.group([]string{pmuCycles, pmuInstructions}, func(name string) (unix.PerfEventAttr, error) {
		config := map[string]uint64{pmuCycles: unix.PERF_COUNT_HW_CPU_CYCLES,
			pmuInstructions: unix.PERF_COUNT_HW_INSTRUCTIONS}
		return unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: config[name]}, nil
	})
	llc, err := lastLevel(fs)
	p.llc = llc.source
	p.group([]string{pmuMisses, pmuReferences}, func(name string) (unix.PerfEventAttr, error) {
		if name == pmuMisses {
			return llc.misses, err
		}
		return llc.references, err
	})
	p.group([]string{pmuAPERF, pmuMPERF, pmuTSC}, func(name string) (unix.PerfEventAttr, error) {
		return msrEvent(fs, name)
	})
	return p
}

// msrEvent reads the description of an event of the msr PMU in sysfs.
func msrEvent(fs FS, name string) (unix.PerfEventAttr, error) {
	root := fs.sysPath("bus/event_source/devices/msr")
	kind, err := strconv.ParseUint(line(filepath.Join(root, "type")), 10, 32)
	if err != nil {
		return unix.PerfEventAttr{}, errors.New("no msr PMU (CONFIG_PERF_EVENTS_..., x86 only)")
	}
	text, ok := strings.CutPrefix(line(filepath.Join(root, "events", name)), "event=")
	config, err := strconv.ParseUint(text, 0, 64)
	if !ok || err != nil {
		return unix.PerfEventAttr{}, fmt.Errorf("the msr PMU has no event %s here, as in most virtual machines", name)
	}
	return unix.PerfEventAttr{Type: uint32(kind), Config: config}, nil
}

// group opens events that are counted together, as far as there are any. One that does not fit
// beside the others is counted by itself.
func (p *PMU) group(names []string, attrOf func(name string) (unix.PerfEventAttr, error)) {
	var g pmuGroup
	for _, name := range names {
		attr, err := attrOf(name)
		if err != nil {
			p.Missing[name] = err.Error()
			continue
		}
		fds, err := p.open(attr, g)
		if errors.Is(err, unix.EINVAL) && g.fds != nil { // the processor has too few counters for all of them
			p.group([]string{name}, attrOf)
			continue
		}
		if err != nil {
			p.Missing[name] = perfReason(err)
			continue
		}
		g.names, g.fds = append(g.names, name), append(g.fds, fds)
	}
	if g.names != nil {
		p.groups = append(p.groups, g)
	}
}

// open opens an event on all CPUs, in a group.
func (p *PMU) open(attr unix.PerfEventAttr, g pmuGroup) (fds []int, err error) {
	attr.Size = unix.PERF_ATTR_SIZE_VER0
	attr.Read_format = countedTogether
	event := attr.Config
	for i, c := range p.cpus {
		if attr.Type == unix.PERF_TYPE_HARDWARE || attr.Type == unix.PERF_TYPE_HW_CACHE {
			attr.Config = p.kinds.Config(event, c)
		}
		leader := -1
		if g.fds != nil {
			leader = g.fds[0][i]
		}
		fd, err := p.calls.open(&attr, c, leader)
		if err != nil {
			p.calls.closeAll(fds)
			return nil, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// perfReason explains why a counter cannot be had, and what to do.
func perfReason(err error) string {
	e := remedy.Error(remedy.PerfCount, "perf_event_open", err, remedy.On{})
	return strings.TrimSuffix(e.Error()+": "+e.How, ": ")
}

// Read reads all counters; nil: there are none.
func (p *PMU) Read() (EventCounts, error) {
	if p == nil || len(p.groups) == 0 {
		return nil, nil
	}
	out := EventCounts{}
	var counts [mostTogether]EventCount
	for _, g := range p.groups {
		for _, name := range g.names {
			out[name] = make([]EventCount, len(p.cpus))
		}
		for i, leader := range g.fds[0] {
			if err := p.calls.group(leader, counts[:len(g.names)]); err != nil {
				return nil, fmt.Errorf("read counter %s of CPU %d: %w", g.names[0], p.cpus[i], err)
			}
			for k, name := range g.names {
				out[name][i] = counts[k]
			}
		}
	}
	return out, nil
}

// Close ends counting.
func (p *PMU) Close() {
	if p == nil {
		return
	}
	for _, g := range p.groups {
		p.calls.closeAll(slices.Concat(g.fds...))
	}
	p.groups = nil
}

func (c eventCalls) closeAll(fds []int) {
	for _, fd := range fds {
		c.close(fd)
	}
}

// pmu reports cycles per second and per CPU, and the frequency while not idle:
// APERF and MPERF count only then, MPERF at the rate of the TSC. What instructions and the cache
// count has a row for all CPUs together.
func (r *rows) pmu(cpus []int, b, a EventCounts, wall float64, llc string) {
	if wall <= 0 || b == nil || a == nil {
		return
	}
	growth := func(name string, i int) (float64, bool) { v, _, ok := pmuGrowth(b, a, name, i); return v, ok }
	var aperf, mperf, tsc float64
	for i, c := range cpus {
		if v, share, ok := pmuGrowth(b, a, pmuCycles, i); ok {
			r.add(fmt.Sprintf("pmu_cpu%d_cycles_per_s", c), "1/s", v/countedS(b, a, pmuCycles, i), cyclesSource,
				sharedQuality(share))
		}
		x, ok1 := growth(pmuAPERF, i)
		y, ok2 := growth(pmuMPERF, i)
		z, ok3 := growth(pmuTSC, i)
		if !ok1 || !ok2 || !ok3 {
			continue
		}
		z /= countedS(b, a, pmuTSC, i)
		aperf, mperf, tsc = aperf+x, mperf+y, tsc+z
		if y > 0 {
			r.add(measure.MetricGHz, "GHz", x/y*z/1e9, msrSource, "", strconv.Itoa(c))
		}
	}
	for _, x := range []struct{ event, source string }{{pmuCycles, cyclesSource},
		{pmuInstructions, "perf_event instructions"}, {pmuReferences, llc}, {pmuMisses, llc}} {
		if sum, least, ok := sumOf(b[x.event], a[x.event], nil); ok {
			r.add("pmu_"+x.event, "1", sum, x.source, sharedQuality(least))
		}
	}
	if mperf > 0 && len(cpus) > 0 {
		r.add("pmu_ghz", "GHz", aperf/mperf*tsc/float64(len(cpus))/1e9, msrSource, "")
	}
}

const (
	cyclesSource = "perf_event cycles"
	msrSource    = "perf_event msr: aperf / mperf x tsc"
)

// PMUMetrics describe cycles and clocks.
var PMUMetrics = []measure.MetricDoc{
	{Names: "pmu_cycles pmu_cpuN_cycles_per_s cycles_per_byte",
		Units: "1 1/s 1/byte", Source: "perf_event cycles",
		Meaning: "where perf counts cycles"},
	{Names: "pmu_instructions instructions_per_kb ipc",
		Units: "1 1/kB 1", Source: "perf_event instructions",
		Meaning: "that the measured CPUs retired, user and kernel; per kB of 1000 bytes of " +
			"payload; and per cycle"},
	{Names: "pmu_llc_references pmu_llc_misses llc_misses_per_kb",
		Units: "1 1 1/kB", Source: "perf_event cache-misses; perf_event LL_CACHE_RD; perf_event amd_l3",
		Meaning: "how often the measured CPUs asked their last-level cache, and it did not have the " +
			"line: reads and writes of Intel's, reads of Arm's, of AMD's those of all CPUs that share " +
			"the cache with them; what a device writes is in none"},
	{Names: "pmu_ghz pmu_cpuN_ghz",
		Units: "GHz", Source: "",
		Meaning: "by APERF and MPERF, while not idle"},
}
