// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// sharedHardware are the counters of processor and memory controllers that an agent has open, one
// set for all ends of the same CPUs: a processor has few, and ends that take turns would take them
// from each other.
type sharedHardware struct {
	mu  sync.Mutex
	all map[string]*heldHardware // by CPUs
}

type heldHardware struct {
	*counter.Hardware
	ends int
}

var hardware sharedHardware

func (s *sharedHardware) open(cpus []int) *counter.Hardware {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(cpus)
	h := s.all[key]
	if h == nil {
		if s.all == nil {
			s.all = map[string]*heldHardware{}
		}
		h = &heldHardware{Hardware: counter.OpenHardware(counter.FS{}, cpus)}
		s.all[key] = h
	}
	h.ends++
	return h.Hardware
}

// close closes what no end needs any more; nil: there is none.
func (s *sharedHardware) close(of *counter.Hardware) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, h := range s.all {
		if h.Hardware != of {
			continue
		}
		if h.ends--; h.ends == 0 {
			h.Close()
			delete(s.all, key)
		}
	}
}

// carried is how many bytes caches may have written back in an end's turns that the turns before
// had left in them, or after them of what they left themselves; without turns, none.
func (t *turnReader) carried() float64 {
	if t == nil {
		return 0
	}
	return float64(t.res.Turns-t.res.LeftOut) * counter.LastLevelBytes(counter.FS{})
}

// leastCarried is the share of traffic from on which what others left is worth a word.
const leastCarried = .01

// fillHardware divides what processor and memory controllers counted by the payload of the same
// time. A sum of which a part was not counted is none. carried: see [turnReader.carried].
func fillHardware(h *results.Host, bytes uint64, carried float64) {
	if bytes == 0 {
		return
	}
	byName := map[string]measure.Metric{}
	for _, m := range h.Metrics {
		byName[m.Name] = m
	}
	add := func(into **float64, name, unit string, by float64, of ...string) {
		var sum float64
		var qualities []string
		for _, x := range of {
			m, ok := byName[x]
			if !ok {
				return
			}
			if sum += m.Value; m.Quality != "" && !slices.Contains(qualities, m.Quality) {
				qualities = append(qualities, m.Quality)
			}
		}
		if share := carried / sum; unit == "bytes/byte" && share >= leastCarried {
			qualities = append(qualities,
				fmt.Sprintf("the turns before left lines in the cache, and these left some to the next, at most "+
					"%.0f %% of it each: longer turns make that less", math.Ceil(100*min(share, 1))))
		}
		v := sum / by
		*into = &v
		h.Metrics = append(h.Metrics, measure.Metric{Name: name, Unit: unit, Value: v, Source: byName[of[0]].Source,
			Quality: strings.Join(qualities, "; ")})
	}
	payload := float64(bytes)
	add(&h.CyclesPerByte, "cycles_per_byte", "1/byte", payload, "pmu_cycles")
	add(&h.InstructionsPerKB, "instructions_per_kb", "1/kB", payload/1e3, "pmu_instructions")
	if cycles, ok := byName["pmu_cycles"]; ok && cycles.Value > 0 {
		add(&h.IPC, "ipc", "1", cycles.Value, "pmu_instructions")
	}
	add(&h.LLCMissesPerKB, "llc_misses_per_kb", "1/kB", payload/1e3, "pmu_llc_misses")
	add(&h.DRAMPerByte, "dram_bytes_per_byte", "bytes/byte", payload, "dram_read_bytes", "dram_write_bytes")
	add(&h.MBMPerByte, "mbm_bytes_per_byte", "bytes/byte", payload, "mbm_total_bytes")
	if carried > 0 && (h.DRAMPerByte != nil || h.MBMPerByte != nil) {
		h.CarriedPerByte = new(carried / payload)
	}
}
