// SPDX-License-Identifier: MIT

package perf

import (
	"errors"
	"runtime"

	"github.com/zcbench/zcbench/machine/counter"
	"golang.org/x/sys/unix"
)

// Event is what makes a CPU take a sample.
type Event struct {
	Name string // "cycles" or "cpu-clock"
	// NMI is that samples come by an interrupt that nothing masks. Without it, what a CPU does
	// with its interrupts off is found where it switches them on again.
	NMI bool
	// Nanoseconds is that a sample's period is a time on the CPU, idle or not; else it counts
	// cycles, of which an idle CPU has none.
	Nanoseconds bool
	// Why says why it is not cycles; empty: it is.
	Why string
}

// kind is an event as perf_event_open wants it.
type kind struct {
	event Event
	typ   uint32
	conf  uint64
}

// cycles come by NMI on x86; on arm64 only with pseudo-NMIs, which nothing tells reliably.
var cycles = kind{Event{Name: "cycles", NMI: runtime.GOARCH == "amd64"}, unix.PERF_TYPE_HARDWARE,
	unix.PERF_COUNT_HW_CPU_CYCLES}

// Count is what samples may come by besides time: each stands for so many of them.
type Count string

// The counts. Samples by one tell where it happened, in proportion: what a CPU counted since the
// sample before, with others of its own rate in between, would be of everything that ran meanwhile.
const (
	Instructions Count = "instructions"
	LLCMisses    Count = "llc-misses"
)

// kind finds the event of a count.
func (c Count) kind() (k kind, err error) {
	k = kind{event: Event{Name: string(c), NMI: cycles.event.NMI}, typ: unix.PERF_TYPE_HARDWARE,
		conf: unix.PERF_COUNT_HW_INSTRUCTIONS}
	if c == LLCMisses {
		attr, err := counter.LLCMisses(counter.FS{})
		if err != nil {
			return k, err
		}
		k.typ, k.conf = attr.Type, attr.Config
	}
	return k, nil
}

// cpuClock is a timer: on a CPU at whole periods, whatever runs there.
var cpuClock = kind{Event{Name: "cpu-clock", Nanoseconds: true}, unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_CLOCK}

// absent reports whether an error says that there is no such counter to sample by: no PMU, one
// without an interrupt, or one that others hold.
func absent(err error) bool {
	for _, e := range []unix.Errno{unix.ENOENT, unix.EOPNOTSUPP, unix.ENODEV, unix.ENXIO, unix.EBUSY} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// attr asks for stacks of kernel and user, at hz samples a second, by the clock that the
// windows of runs are in (CLOCK_MONOTONIC). It begins switched off.
func (k kind) attr(hz int, inherit bool) unix.PerfEventAttr {
	a := unix.PerfEventAttr{Type: k.typ, Config: k.conf, Size: unix.PERF_ATTR_SIZE_VER5, Sample: uint64(hz),
		Read_format: counter.CountedFor,
		Sample_type: sampleType, Bits: unix.PerfBitDisabled | unix.PerfBitFreq | unix.PerfBitUseClockID,
		Clockid: unix.CLOCK_MONOTONIC}
	if inherit {
		a.Bits |= unix.PerfBitInherit
	}
	return a
}

// sampleType is what a record holds; [decoder.sample] reads it in this order.
const sampleType = unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
	unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_CALLCHAIN
