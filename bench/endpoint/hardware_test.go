// SPDX-License-Identifier: MIT

package endpoint

import (
	"math"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// Figures per payload, by hand, of 2 MB; what was not counted whole has none.
func TestFillHardware(t *testing.T) {
	count := func(name string, v float64, quality string) measure.Metric {
		return measure.Metric{Name: name, Value: v, Source: "of " + name, Quality: quality}
	}
	h := results.Host{Metrics: []measure.Metric{count("pmu_cycles", 4e6, ""), count("pmu_instructions", 6e6, "scaled"),
		count("pmu_llc_misses", 5000, ""), count("dram_read_bytes", 4e6, "one"), count("dram_write_bytes", 2.2e6,
			"two"),
		count("mbm_total_bytes", 1e6, "")}}
	fillHardware(&h, 2e6, 5000)
	for name, want := range map[string]struct {
		of    *float64
		value float64
	}{"cycles_per_byte": {h.CyclesPerByte, 2}, "instructions_per_kb": {h.InstructionsPerKB, 3000}, "ipc": {h.IPC, 1.5},
		"llc_misses_per_kb": {h.LLCMissesPerKB, 2.5}, "dram_bytes_per_byte": {h.DRAMPerByte, 3.1},
		"mbm_bytes_per_byte": {h.MBMPerByte, .5}} {
		row := h.Metrics[0]
		for _, m := range h.Metrics {
			if m.Name == name {
				row = m
			}
		}
		if want.of == nil || math.Abs(*want.of-want.value) > 1e-9 || row.Value != *want.of {
			t.Errorf("%s: %v, row %+v, want %v", name, want.of, row, want.value)
		}
		if q := map[string]string{"instructions_per_kb": "scaled", "ipc": "scaled",
			"dram_bytes_per_byte": "one; two"}[name]; row.Quality != q {
			t.Errorf("%s: quality %q, want %q", name, row.Quality, q)
		}
	}
	turns := results.Host{Metrics: h.Metrics[:6]}
	fillHardware(&turns, 2e6, 155e3) // 2.5 % of 6.2 MB, 15.5 % of 1 MB
	for _, m := range turns.Metrics[6:] {
		want := map[string]string{
			"dram_bytes_per_byte": "one; two; the turns before left lines in the cache, and these left " +
				"some to the next, at most 3 % of it each: longer turns make that less",
			"mbm_bytes_per_byte": "the turns before left lines in the cache, and these left " +
				"some to the next, at most 16 % of it each: longer turns make that less"}[m.Name]
		if want != "" && m.Quality != want || want == "" && strings.Contains(m.Quality, "turns before") {
			t.Errorf("%s in turns: %q, want %q", m.Name, m.Quality, want)
		}
	}
	if c := turns.CarriedPerByte; c == nil || *c != .0775 || h.CarriedPerByte == nil || *h.CarriedPerByte != .0025 {
		t.Errorf("carried from turn to turn: %v and %v per byte, want 0.0775 and 0.0025", c, h.CarriedPerByte)
	}
	some := results.Host{Metrics: []measure.Metric{count("dram_read_bytes", 4e6, ""),
		count("pmu_instructions", 6e6, "")}}
	fillHardware(&some, 2e6, 1e9)
	if some.CarriedPerByte != nil || some.DRAMPerByte != nil || some.IPC != nil || some.CyclesPerByte != nil ||
		some.InstructionsPerKB == nil {
		t.Errorf("reads without writes, and instructions without cycles: %+v", some)
	}
	if fillHardware(&some, 0, 0); len(some.Metrics) != 3 {
		t.Errorf("of no payload: %+v", some.Metrics)
	}
}
