// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/lazy"
)

// Uncore counts what is outside of the CPUs: what memory controllers read from DRAM and write to it
// ([OpenDRAM]), or what caches count that CPUs share ([OpenL3]). The zero value counts nothing.
type Uncore struct {
	calls  eventCalls
	events []uncoreEvent
	source string
	// Missing says why nothing is counted; empty: it is.
	Missing string
}

// uncoreEvent is a counter of all controllers, or caches, together.
type uncoreEvent struct {
	name, unit string
	fds        []int
	per        []float64 // what one count of each is
}

// boxEvent names what a PMU counts, in the kernel's words. Where the driver exports no such event,
// it is in terms of those of the processor's manual, and each count is bytes, or 1.
type boxEvent struct {
	name, unit string
	event      string
	per        float64 // 0: the driver says
}

func readsAndWrites(read, write string, bytes float64) []boxEvent {
	return []boxEvent{{"dram_read_bytes", "bytes", read, bytes}, {"dram_write_bytes", "bytes", write, bytes}}
}

// dramKinds are the PMUs of memory controllers, the best first: some machines have two that count
// the same. Of Linux: arch/x86/events/intel/uncore_snbep.c and uncore_snb.c, whose driver exports
// the events; arch/x86/events/amd/uncore.c, which does not: its CAS commands are event 0x0a
// (tools/perf/ pmu-events/arch/x86/amdzen4/memory-controller.json), and move a line of 64 bytes.
var dramKinds = []struct {
	pmu    func() *regexp.Regexp
	events [][]boxEvent // one of them
}{
	{lazy.Regexp(`^uncore_imc(_[0-9]+)?$`), [][]boxEvent{readsAndWrites("cas_count_read", "cas_count_write", 0),
		readsAndWrites("data_reads", "data_writes", 0)}},
	{lazy.Regexp(`^uncore_imc_free_running(_[0-9]+)?$`), [][]boxEvent{readsAndWrites("data_read", "data_write", 0)}},
	{lazy.Regexp(`^amd_umc_[0-9]+$`), [][]boxEvent{readsAndWrites("event=0x0a,rdwrmask=0x1", "event=0x0a,rdwrmask=0x2",
		64)}},
}

// uncounted are PMUs of memory beside DRAM's: where there are any, traffic is missing.
var uncounted = lazy.Regexp(`^uncore_hbm(_[0-9]+)?$`)

// unfit are PMUs near memory whose counts are not the bytes of DRAM, and why.
var unfit = []struct {
	pmu func() *regexp.Regexp
	why string
}{
	{lazy.Regexp(`^amd_df$`),
		"counts requests that other traffic is among (amd_umc counts bytes, from Zen 4 and Linux 6.9 on)"},
	{lazy.Regexp(`^arm_dmc620_`), "counts bursts, and does not tell how long they are and which way they go"},
	{lazy.Regexp(`^nvidia_scf_pmu_`),
		"counts what CPUs read and write, without what PCIe devices write in relaxed order"},
	{lazy.Regexp(`^(hisi_.*ddrc|uncore_dmc_|arm_cmn_)`),
		"counts requests, of which its driver does not tell how long they are"},
}

// l3Events are those of AMD's L3 cache, of Zen 1 and later: "L3 cache accesses" and "L3 misses" of
// the Processor Programming References, with all cores and slices, as the driver has them where
// nobody chooses any (l3_thread_slice_mask).
var l3Events = []boxEvent{{"pmu_" + pmuReferences, "1", "event=0x04,umask=0xff", 1},
	{"pmu_" + pmuMisses, "1", "event=0x04,umask=0x01", 1}}

const mebibyte = 1 << 20

// OpenDRAM begins to count what memory controllers read from DRAM and write to it, for all CPUs and
// devices of the machine: a NIC that writes into memory is in it, one that writes into a cache is
// not. It never fails: where nothing can be counted, Missing says why. It needs CAP_PERFMON or
// kernel.perf_event_paranoid below 1.
func OpenDRAM(fs FS) *Uncore { return openDRAM(fs, kernelEvents) }

func openDRAM(fs FS, calls eventCalls) *Uncore {
	return openUncore(calls, func(u *Uncore) error { return u.openDRAM(fs.sysPath("bus/event_source/devices")) })
}

// OpenL3 begins to count what the L3 caches of some CPUs count (nil: of all), whichever of the CPUs
// that share them asks, where these are counted beside the CPUs: on AMD's. It never fails.
func OpenL3(fs FS, cpus []int) *Uncore { return openL3(fs, cpus, kernelEvents) }

func openL3(fs FS, cpus []int, calls eventCalls) *Uncore {
	return openUncore(calls, func(u *Uncore) error {
		root := fs.sysPath("bus/event_source/devices")
		if _, err := os.Stat(filepath.Join(root, "amd_l3")); err != nil {
			return errors.New("no counter of an L3 cache beside the CPUs (amd_l3)")
		}
		var sharing []int
		for _, cpu := range cpus {
			share, err := ParseCPUList(line(fs.sysPath("devices/system/cpu", fmt.Sprint("cpu", cpu),
				"cache/index3/shared_cpu_list")))
			if err != nil || len(share) == 0 {
				return fmt.Errorf("it is not known which CPUs share the L3 cache of CPU %d", cpu)
			}
			sharing = append(sharing, share...)
		}
		u.source = "perf_event amd_l3: all CPUs that share it"
		return u.openAll(root, []string{"amd_l3"}, l3Events, sharing)
	})
}

func openUncore(calls eventCalls, open func(u *Uncore) error) *Uncore {
	u := &Uncore{calls: calls}
	if err := open(u); err != nil {
		u.Close()
		u.Missing = err.Error()
	}
	return u
}

var errNoController = errors.New("no memory controller PMU (uncore_imc, amd_umc) here, as in most virtual machines")

// openDRAM opens the first kind of controllers whose events there are.
func (u *Uncore) openDRAM(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return fmt.Errorf("no memory controller PMU: %w", err)
	}
	var names []string
	for _, e := range entries {
		if uncounted().MatchString(e.Name()) {
			return fmt.Errorf("%s: this machine has memory that it does not count", e.Name())
		}
		names = append(names, e.Name())
	}
	err = whyNoController(names)
	for _, k := range dramKinds {
		boxes := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !k.pmu().MatchString(n) })
		if len(boxes) == 0 {
			continue
		}
		for _, e := range k.events {
			if err = u.openAll(root, boxes, e, nil); err == nil {
				u.source = fmt.Sprintf("perf_event %s: %s, %s", strings.TrimRight(boxes[0], "_0123456789"), e[0].event,
					e[1].event)
				return nil
			}
			u.Close()
			if !errors.Is(err, os.ErrNotExist) { // it has these events
				return err
			}
		}
	}
	return err
}

// whyNoController says why none of the PMUs is one of memory controllers.
func whyNoController(names []string) error {
	for _, x := range unfit {
		if i := slices.IndexFunc(names, x.pmu().MatchString); i >= 0 {
			return fmt.Errorf("no memory controller PMU that counts bytes (uncore_imc, amd_umc): %s %s", names[i],
				x.why)
		}
	}
	return errNoController
}

// openAll opens all events of all boxes, of those on some CPUs (nil: on all): of some alone they
// would be too few.
func (u *Uncore) openAll(root string, boxes []string, events []boxEvent, on []int) error {
	for _, e := range events {
		u.events = append(u.events, uncoreEvent{name: e.name, unit: e.unit})
	}
	for _, box := range boxes {
		dir := filepath.Join(root, box)
		cpus, err := ParseCPUList(line(filepath.Join(dir, "cpumask")))
		if err == nil && on != nil {
			cpus = slices.DeleteFunc(cpus, func(c int) bool { return !slices.Contains(on, c) })
		}
		if err == nil && len(cpus) == 0 {
			err = errors.New("it is empty")
		}
		if err != nil {
			return fmt.Errorf("%s: cpumask: %w", box, err)
		}
		for i, e := range events {
			attr, per, err := dramEvent(dir, e.event, e.per)
			if err != nil {
				return fmt.Errorf("%s: %w", box, err)
			}
			for _, cpu := range cpus { // one of each socket, or cache
				fd, err := u.calls.open(&attr, cpu, -1)
				if err != nil {
					return fmt.Errorf("%s on CPU %d: %s", box, cpu, perfReason(err))
				}
				u.events[i].fds, u.events[i].per = append(u.events[i].fds, fd), append(u.events[i].per, per)
			}
		}
	}
	return nil
}

// dramEvent reads an event's description in sysfs, and how much a count stands for.
func dramEvent(dir, event string, per float64) (attr unix.PerfEventAttr, _ float64, err error) {
	kind, err := strconv.ParseUint(line(filepath.Join(dir, "type")), 10, 32)
	if err != nil {
		return attr, 0, fmt.Errorf("its type: %w", err)
	}
	terms := event
	if per == 0 {
		b, err := kernelfile.ReadFile(filepath.Join(dir, "events", event))
		if err != nil {
			return attr, 0, err
		}
		terms = strings.TrimSpace(string(b))
		scale, err := strconv.ParseFloat(line(filepath.Join(dir, "events", event+".scale")), 64)
		unit := line(filepath.Join(dir, "events", event+".unit"))
		if err != nil || !(scale > 0) || math.IsInf(scale, 0) || unit != "MiB" {
			return attr, 0, fmt.Errorf("event %s: unknown number of bytes per count: unit %q", event, unit)
		}
		per = scale * mebibyte
	}
	config, err := eventConfig(filepath.Join(dir, "format"), terms)
	return unix.PerfEventAttr{Type: uint32(kind), Config: config, Size: unix.PERF_ATTR_SIZE_VER0,
		Read_format: CountedFor}, per, err
}

// eventConfig puts the terms of an event, "event=0x04,umask=0x03", where the formats of its PMU
// say: "config:0-7" (Documentation/ABI/testing/sysfs-bus-event_source-devices-format).
func eventConfig(formats, terms string) (config uint64, err error) {
	for term := range strings.SplitSeq(terms, ",") {
		name, text, has := strings.Cut(term, "=")
		value := uint64(1)
		if has {
			if value, err = strconv.ParseUint(text, 0, 64); err != nil {
				return 0, fmt.Errorf("event %q: %w", terms, err)
			}
		}
		if !termName().MatchString(name) {
			return 0, fmt.Errorf("event %q has a malformed term", terms)
		}
		format := line(filepath.Join(formats, name))
		bits, ok := strings.CutPrefix(format, "config:")
		if !ok {
			return 0, fmt.Errorf("event %q: format of %s is %q: not config", terms, name, format)
		}
		positions, err := ParseCPUList(bits) // of the same form
		if err != nil || len(positions) == 0 || slices.Max(positions) > 63 {
			return 0, fmt.Errorf("event %q: format of %s is %q", terms, name, format)
		}
		for _, at := range positions {
			config |= (value & 1) << at
			value >>= 1
		}
		if value != 0 {
			return 0, fmt.Errorf("event %q: %s does not fit %q", terms, name, format)
		}
	}
	return config, nil
}

var termName = lazy.Regexp(`^[a-z_0-9]+$`)

// Read reads all counters; nil: there are none.
func (u *Uncore) Read() (EventCounts, error) {
	if u == nil || len(u.events) == 0 {
		return nil, nil
	}
	out := EventCounts{}
	for _, e := range u.events {
		counts := make([]EventCount, 0, len(e.fds))
		for _, fd := range e.fds {
			n, err := u.calls.read(fd)
			if err != nil {
				return nil, fmt.Errorf("read a counter of %s: %w", u.source, err)
			}
			counts = append(counts, n)
		}
		out[e.name] = counts
	}
	return out, nil
}

// Close ends counting.
func (u *Uncore) Close() {
	if u == nil {
		return
	}
	for _, e := range u.events {
		u.calls.closeAll(e.fds)
	}
	u.events = nil
}

// uncore reports what was counted between two readings; of an event of which one counter had no
// part in it, nothing.
func (r *rows) uncore(u *Uncore, b, a EventCounts) {
	if u == nil {
		return
	}
	for _, e := range u.events {
		if sum, least, ok := sumOf(b[e.name], a[e.name], e.per); ok {
			r.count(e.name, e.unit, sum, u.source, sharedQuality(least))
		}
	}
}

// DRAMMetrics describe what the memory controllers count.
var DRAMMetrics = []measure.MetricDoc{
	{Names: "dram_read_bytes dram_write_bytes dram_bytes_per_byte",
		Units: "bytes bytes bytes/byte", Source: "perf_event uncore_imc; perf_event amd_umc",
		Meaning: "by the memory controllers' own counters (uncore_imc of Intel, amd_umc from " +
			"Zen 4), for all CPUs and devices of the machine, both ends' where they share it; " +
			"both together per byte of payload; none in most virtual machines"},
}
