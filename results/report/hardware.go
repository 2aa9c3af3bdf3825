// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed hardware.html.tmpl
var hardwareText string

// Hardware is what processor and memory controllers did for the payload.
type Hardware struct {
	CyclesPerByte     *stat.Summary `json:"cycles_per_byte,omitempty"`
	InstructionsPerKB *stat.Summary `json:"instructions_per_kb,omitempty"`
	IPC               *stat.Summary `json:"ipc,omitempty"`
	LLCMissesPerKB    *stat.Summary `json:"llc_misses_per_kb,omitempty"`
	DRAMPerByte       *stat.Summary `json:"dram_bytes_per_byte,omitempty"`
	MBMPerByte        *stat.Summary `json:"mbm_bytes_per_byte,omitempty"`
	CarriedPerByte    *stat.Summary `json:"carried_bytes_per_byte,omitempty"`
}

// hardwareOf summarizes it; nil: nothing was counted.
func hardwareOf(stat func(func(*results.Host) *float64) *stat.Summary) *Hardware {
	h := Hardware{
		CyclesPerByte:     stat(func(h *results.Host) *float64 { return h.CyclesPerByte }),
		InstructionsPerKB: stat(func(h *results.Host) *float64 { return h.InstructionsPerKB }),
		IPC:               stat(func(h *results.Host) *float64 { return h.IPC }),
		LLCMissesPerKB:    stat(func(h *results.Host) *float64 { return h.LLCMissesPerKB }),
		DRAMPerByte:       stat(func(h *results.Host) *float64 { return h.DRAMPerByte }),
		MBMPerByte:        stat(func(h *results.Host) *float64 { return h.MBMPerByte }),
		CarriedPerByte:    stat(func(h *results.Host) *float64 { return h.CarriedPerByte })}
	if h == (Hardware{}) {
		return nil
	}
	return &h
}

// hardwareRow is an end of a cell.
type hardwareRow struct {
	Cell, End string
	Fields    []string
}

// hardwareHeads are the columns behind the end, and their units.
var hardwareHeads = [][2]string{{"time", "ns/kB"}, {"cycles", "1/kB"}, {"instructions", "1/kB"}, {"per cycle", ""},
	{"LLC misses", "1/kB"}, {"DRAM", "bytes/byte"}, {"95 % interval", ""}, {"caches", "bytes/byte"},
	{"turns", "+-"}}

// HardwareHeads returns the columns for the page.
func (s *Summary) HardwareHeads() [][2]string { return hardwareHeads }

// HardwareRows returns the ends of which anything was counted.
func (s *Summary) HardwareRows() (out []hardwareRow) {
	for i := range s.Cells {
		c := &s.Cells[i]
		for _, role := range ends.Roles {
			e := map[ends.Role]*End{ends.SUT: &c.SUT, ends.TG: &c.TG}[role]
			h := e.Hardware
			if h == nil {
				continue
			}
			perKB := func(v float64) string { return digits3(1e3 * v) }
			out = append(out, hardwareRow{c.Cell.ID, role.Label(), []string{median(e.NsPerKB, digits3),
				median(h.CyclesPerByte, perKB), median(h.InstructionsPerKB, digits3), median(h.IPC, fixed2),
				median(h.LLCMissesPerKB, digits3), median(h.DRAMPerByte, fixed2), interval(h.DRAMPerByte, fixed2),
				median(h.MBMPerByte, fixed2), median(h.CarriedPerByte, fixed2)}})
		}
	}
	return out
}

// hardwareMeans explains the table.
const hardwareMeans = "What processor and memory did for a kB (1000 bytes) of payload, medians: cycles and " +
	"instructions are of the measured CPUs, misses of the last-level cache too, but AMD's are of all CPUs that share " +
	"it; DRAM is what the machine's memory controllers read " +
	"and wrote per byte of payload, for all CPUs and devices, both ends' where they share it; caches is what CPUs " +
	"moved between their caches and memory (resctrl); both may be off by what caches carry from turn to turn (turns)"

// HardwareMeans returns that for the page.
func (s *Summary) HardwareMeans() string { return hardwareMeans }

func writeHardware(b *screen.Writer, s *Summary) {
	rows := s.HardwareRows()
	if rows == nil {
		return
	}
	b.WriteString("\n")
	wrap(b, "", "", hardwareMeans)
	t := screen.Aligned("<<>>>>>>>>>")
	var heads, units []string
	for _, h := range hardwareHeads {
		heads, units = append(heads, h[0]), append(units, h[1])
	}
	t.Head(slices.Concat([]string{"cell", "end"}, heads)...)
	t.Head(slices.Concat([]string{"", ""}, units)...)
	for _, r := range rows[:min(len(rows), maxFlowRows)] {
		t.Row(slices.Concat([]string{plaintext.Line(r.Cell), r.End}, r.Fields)...)
	}
	t.Write(b)
	if n := len(rows) - maxFlowRows; n > 0 {
		wrap(b, "", "", plural(n, "more row")+": --json and the page have all")
	}
}
