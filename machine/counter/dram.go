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

// DRAM counts what memory controllers read from DRAM and write to it, for all CPUs and devices of
// the machine: a NIC that writes into memory is in it, one that writes into a cache is not. The
// zero value counts nothing.
type DRAM struct {
	calls       eventCalls
	read, write []dramCounter
	source      string
	// Missing says why nothing is counted; empty: it is.
	Missing string
}

// dramCounter is an event of one memory controller.
type dramCounter struct {
	fd    int
	bytes float64 // that one count is
}

// dramCounts are what the controllers' events have counted.
type dramCounts struct{ read, write []EventCount }

// dramEvents name what a controller's PMU counts, in the kernel's words. Where the driver exports
// no such events, terms are those of the processor's manual, and each count is bytes.
type dramEvents struct {
	read, write string
	bytes       float64
}

// dramKinds are the PMUs of memory controllers, the best first: some machines have two that count
// the same. Of Linux: arch/x86/events/intel/uncore_snbep.c and uncore_snb.c, whose driver exports
// the events; arch/x86/events/amd/uncore.c, which does not: its CAS commands are event 0x0a
// (tools/perf/ pmu-events/arch/x86/amdzen4/memory-controller.json), and move a line of 64 bytes.
// What the data fabric of older ones counts (amd_df) is requests that other traffic is among: it is
// left out.
var dramKinds = []struct {
	pmu    func() *regexp.Regexp
	events []dramEvents // one of them
}{
	{lazy.Regexp(`^uncore_imc(_[0-9]+)?$`), []dramEvents{{"cas_count_read", "cas_count_write", 0},
		{"data_reads", "data_writes", 0}}},
	{lazy.Regexp(`^uncore_imc_free_running(_[0-9]+)?$`), []dramEvents{{"data_read", "data_write", 0}}},
	{lazy.Regexp(`^amd_umc_[0-9]+$`), []dramEvents{{"event=0x0a,rdwrmask=0x1", "event=0x0a,rdwrmask=0x2", 64}}},
}

// uncounted are PMUs of memory beside DRAM's: where there are any, traffic is missing.
var uncounted = lazy.Regexp(`^uncore_hbm(_[0-9]+)?$`)

const mebibyte = 1 << 20

// OpenDRAM begins to count. It never fails: where nothing can be counted, Missing says why. It
// needs CAP_PERFMON or kernel.perf_event_paranoid below 1.
func OpenDRAM(fs FS) *DRAM { return openDRAM(fs, kernelEvents) }

func openDRAM(fs FS, calls eventCalls) *DRAM {
	d := &DRAM{calls: calls}
	if err := d.open(fs.sysPath("bus/event_source/devices")); err != nil {
		d.Close()
		d.Missing = err.Error()
	}
	return d
}

var errNoController = errors.New("no memory controller PMU (uncore_imc, amd_umc) here, as in most virtual machines")

// open opens the first kind of controllers whose events there are.
func (d *DRAM) open(root string) error {
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
	err = errNoController
	for _, k := range dramKinds {
		boxes := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !k.pmu().MatchString(n) })
		if len(boxes) == 0 {
			continue
		}
		for _, e := range k.events {
			if err = d.openAll(root, boxes, e); err == nil {
				d.source = fmt.Sprintf("perf_event %s: %s, %s", strings.TrimRight(boxes[0], "_0123456789"), e.read,
					e.write)
				return nil
			}
			d.Close()
			if !errors.Is(err, os.ErrNotExist) { // it has these events
				return err
			}
		}
	}
	return err
}

// openAll opens both events of all controllers: of some alone they would be too few.
func (d *DRAM) openAll(root string, boxes []string, e dramEvents) error {
	for _, box := range boxes {
		dir := filepath.Join(root, box)
		cpus, err := ParseCPUList(line(filepath.Join(dir, "cpumask")))
		if err == nil && len(cpus) == 0 {
			err = errors.New("it is empty")
		}
		if err != nil {
			return fmt.Errorf("%s: cpumask: %w", box, err)
		}
		for _, x := range []struct {
			event string
			into  *[]dramCounter
		}{{e.read, &d.read}, {e.write, &d.write}} {
			attr, bytes, err := dramEvent(dir, x.event, e.bytes)
			if err != nil {
				return fmt.Errorf("%s: %w", box, err)
			}
			for _, cpu := range cpus { // one of each socket
				fd, err := d.calls.open(&attr, cpu)
				if err != nil {
					return fmt.Errorf("%s on CPU %d: %s", box, cpu, perfReason(err))
				}
				*x.into = append(*x.into, dramCounter{fd, bytes})
			}
		}
	}
	return nil
}

// dramEvent reads an event's description in sysfs, and how many bytes a count stands for.
func dramEvent(dir, event string, bytes float64) (attr unix.PerfEventAttr, _ float64, err error) {
	kind, err := strconv.ParseUint(line(filepath.Join(dir, "type")), 10, 32)
	if err != nil {
		return attr, 0, fmt.Errorf("its type: %w", err)
	}
	terms := event
	if bytes == 0 {
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
		bytes = scale * mebibyte
	}
	config, err := eventConfig(filepath.Join(dir, "format"), terms)
	return unix.PerfEventAttr{Type: uint32(kind), Config: config, Size: unix.PERF_ATTR_SIZE_VER0,
		Read_format: CountedFor}, bytes, err
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
func (d *DRAM) Read() (*dramCounts, error) {
	if d == nil || len(d.read) == 0 {
		return nil, nil
	}
	out := &dramCounts{}
	for _, x := range []struct {
		of   []dramCounter
		into *[]EventCount
	}{{d.read, &out.read}, {d.write, &out.write}} {
		for _, c := range x.of {
			n, err := d.calls.read(c.fd)
			if err != nil {
				return nil, fmt.Errorf("read a memory controller's counter: %w", err)
			}
			*x.into = append(*x.into, n)
		}
	}
	return out, nil
}

// Close ends counting.
func (d *DRAM) Close() {
	if d == nil {
		return
	}
	for _, c := range slices.Concat(d.read, d.write) {
		d.calls.close(c.fd)
	}
	d.read, d.write = nil, nil
}

// dram reports what was read and written between two readings; nothing where one counter had no
// part in it.
func (r *rows) dram(d *DRAM, b, a *dramCounts) {
	if d == nil || b == nil || a == nil {
		return
	}
	for _, x := range []struct {
		name string
		of   []dramCounter
		b, a []EventCount
	}{{"dram_read_bytes", d.read, b.read, a.read}, {"dram_write_bytes", d.write, b.write, a.write}} {
		sum, least, known := 0., 1., len(x.of) > 0 && len(x.a) == len(x.of) && len(x.b) == len(x.of)
		for i := 0; known && i < len(x.of); i++ {
			var grown, share float64
			grown, share, known = x.a[i].since(x.b[i])
			sum, least = sum+grown*x.of[i].bytes, min(least, share)
		}
		if known {
			r.count(x.name, "bytes", sum, d.source, sharedQuality(least))
		}
	}
}

// DRAMMetrics describe what the memory controllers count.
var DRAMMetrics = []measure.MetricDoc{
	{Names: "dram_read_bytes dram_write_bytes",
		Units: "bytes", Source: "perf_event uncore_imc; perf_event amd_umc",
		Meaning: "by the memory controllers' own counters (uncore_imc of Intel, amd_umc from " +
			"Zen 4), for all CPUs and devices of the machine, both ends' where they share it; " +
			"none in most virtual machines"},
}
