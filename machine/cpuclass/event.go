// SPDX-License-Identifier: MIT

package cpuclass

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// Events are the counters that generic hardware events, such as cycles, are counted by on each
// CPU of a hybrid processor.
type Events struct {
	cpus  [][]int
	types []uint64
}

// ReadEvents reads them; sys is a fixture's /sys, "" the running host's.
func ReadEvents(sys string) (e Events) {
	s := source{sys: cmp.Or(sys, "/sys")}
	for _, name := range pmus {
		b, err := kernelfile.ReadFile(filepath.Join(s.sys, "bus/event_source/devices", name, "type"))
		if err != nil {
			continue
		}
		typ, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
		if cpus := s.list("bus/event_source/devices", name, "cpus"); err == nil && cpus != nil {
			e.cpus, e.types = append(e.cpus, cpus), append(e.types, typ)
		}
	}
	return e
}

// Config computes the config of a PERF_TYPE_HARDWARE event on a CPU: its upper half names the
// counters, because on a hybrid processor an event without that is one of the P-cores', which
// counts nothing on another (kernel/events/core.c: perf_init_event, PERF_PMU_CAP_EXTENDED_HW_TYPE;
// Linux 5.13). Elsewhere it is the event itself.
func (e Events) Config(event uint64, cpu int) uint64 {
	for i, cpus := range e.cpus {
		if slices.Contains(cpus, cpu) {
			return e.types[i]<<32 | event
		}
	}
	return event
}
