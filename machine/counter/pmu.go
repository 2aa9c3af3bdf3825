// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/cpuclass"
	"github.com/zcbench/zcbench/machine/measure"
)

// PMU counts, per CPU, what perf_event_open(2) lets count there: cycles of the
// processor's own counters, and APERF, MPERF and TSC of the msr PMU
// (arch/x86/events/msr.c). A counter that is not there is missing, with the
// reason; the zero value has none.
type PMU struct {
	cpus   []int
	events []pmuEvent
	kinds  cpuclass.Events // of a hybrid processor
	// Missing says of each event that cannot be counted why not.
	Missing map[string]string
}

type pmuEvent struct {
	name string
	fds  []int // by position in cpus
}

// PMUCounts are counts by event, one per CPU.
type PMUCounts map[string][]EventCount

// The events.
const (
	pmuCycles = "cycles"
	pmuAPERF  = "aperf"
	pmuMPERF  = "mperf"
	pmuTSC    = "tsc"
)

// OpenPMU begins to count on cpus, nil for all online ones. It never fails: what
// cannot be counted is Missing. It needs CAP_PERFMON or
// kernel.perf_event_paranoid below 1.
func OpenPMU(fs FS, cpus []int) *PMU {
	p := &PMU{Missing: map[string]string{}}
	if cpus == nil {
		var err error
		if cpus, err = OnlineCPUs(fs); err != nil {
			p.Missing[pmuCycles] = err.Error()
			return p
		}
	}
	p.cpus, p.kinds = cpus, cpuclass.ReadEvents(fs.sys)
	p.open(pmuCycles, unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES})
	for _, name := range []string{pmuAPERF, pmuMPERF, pmuTSC} {
		attr, err := msrEvent(fs, name)
		if err != nil {
			p.Missing[name] = err.Error()
			continue
		}
		p.open(name, attr)
	}
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

func (p *PMU) open(name string, attr unix.PerfEventAttr) {
	attr.Size = unix.PERF_ATTR_SIZE_VER0
	attr.Read_format = CountedFor
	e := pmuEvent{name: name}
	event := attr.Config
	for _, c := range p.cpus {
		if attr.Type == unix.PERF_TYPE_HARDWARE {
			attr.Config = p.kinds.Config(event, c)
		}
		fd, err := unix.PerfEventOpen(&attr, -1, c, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			closeAll(e.fds)
			p.Missing[name] = perfReason(err)
			return
		}
		e.fds = append(e.fds, fd)
	}
	p.events = append(p.events, e)
}

// perfReason explains why a counter cannot be had, and what to do.
func perfReason(err error) string {
	e := remedy.Error(remedy.PerfCount, "perf_event_open", err, remedy.On{})
	return strings.TrimSuffix(e.Error()+": "+e.How, ": ")
}

// Read reads all counters.
func (p *PMU) Read() (PMUCounts, error) {
	if p == nil || len(p.events) == 0 {
		return nil, nil
	}
	out := PMUCounts{}
	for _, e := range p.events {
		for i, fd := range e.fds {
			c, err := ReadEvent(fd)
			if err != nil {
				return nil, fmt.Errorf("read counter %s of CPU %d: %w", e.name, p.cpus[i], err)
			}
			out[e.name] = append(out[e.name], c)
		}
	}
	return out, nil
}

// Close ends counting.
func (p *PMU) Close() {
	if p == nil {
		return
	}
	for _, e := range p.events {
		closeAll(e.fds)
	}
	p.events = nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// pmu reports cycles per second and per CPU, and the frequency while not idle:
// APERF and MPERF count only then, MPERF at the rate of the TSC.
func (r *rows) pmu(cpus []int, b, a PMUCounts, wall float64) {
	if wall <= 0 || b == nil || a == nil {
		return
	}
	growth := func(name string, i int) (float64, bool) { v, _, ok := pmuGrowth(b, a, name, i); return v, ok }
	var cycles, aperf, mperf, tsc float64
	whole, least := len(cpus) > 0, 1.
	for i, c := range cpus {
		v, share, ok := pmuGrowth(b, a, pmuCycles, i)
		if ok {
			r.add(fmt.Sprintf("pmu_cpu%d_cycles_per_s", c), "1/s", v/wall, cyclesSource, sharedQuality(share))
			cycles, least = cycles+v, min(least, share)
		}
		whole = whole && ok
		x, ok1 := growth(pmuAPERF, i)
		y, ok2 := growth(pmuMPERF, i)
		z, ok3 := growth(pmuTSC, i)
		if !ok1 || !ok2 || !ok3 {
			continue
		}
		aperf, mperf, tsc = aperf+x, mperf+y, tsc+z
		if y > 0 {
			r.add(measure.MetricGHz, "GHz", x/y*z/wall/1e9, msrSource, "", strconv.Itoa(c))
		}
	}
	if whole { // of all CPUs: some alone are no sum
		r.add("pmu_cycles", "1", cycles, cyclesSource, sharedQuality(least))
	}
	if mperf > 0 && len(cpus) > 0 {
		r.add("pmu_ghz", "GHz", aperf/mperf*tsc/float64(len(cpus))/wall/1e9, msrSource, "")
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
	{Names: "pmu_ghz pmu_cpuN_ghz",
		Units: "GHz", Source: "",
		Meaning: "by APERF and MPERF, while not idle"},
}
