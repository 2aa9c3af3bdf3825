// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results/plantest"
)

// What processor and memory did stands beside the CPU time, of the ends where anything was counted;
// what was not measured is no zero, and without any there is no table.
func TestHardwareTable(t *testing.T) {
	made := func(dram float64) string {
		j := plantest.Journal(7, 8, plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 20, Cores: 1, DRAM: dram,
			Carried: .09 * min(dram, 1)}, plantest.Cell{Cell: plantest.Modes("zcrx", "tcp"), Gbps: 20, Cores: .6})
		for i := range j.Records {
			if h := &j.Records[i].SUT; h.DRAMPerByte != nil {
				h.CyclesPerByte, h.InstructionsPerKB = new(1.5), new(2250.)
				h.IPC, h.LLCMissesPerKB = new(1.5), new(4.25)
			}
		}
		s := Summarize(j)
		var text, page bytes.Buffer
		if err := Table(&text, s); err != nil {
			t.Fatal(err)
		}
		if err := HTML(&page, s, nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page.String(), "Processor and memory") != (s.HardwareRows() != nil) {
			t.Error("the page and the terminal do not have the same")
		}
		return strings.Join(strings.Fields(text.String()), " ")
	}
	with := made(3.1)
	for _, want := range []string{"cell end time cycles instructions per cycle LLC misses DRAM 95 % interval caches turns",
		"tcp/tcp SUT 400 1500 2250 1.50 4.25 3.10 3.10..3.10 - 0.09",
		"AMD's are of all CPUs that share it"} {
		if !strings.Contains(with, want) {
			t.Errorf("no %q in %s", want, with)
		}
	}
	if strings.Contains(with, "zcrx/tcp SUT") || strings.Contains(with, "tcp/tcp TG") {
		t.Errorf("ends of which nothing was counted: %s", with)
	}
	if without := made(0); strings.Contains(without, "LLC misses") {
		t.Errorf("nobody counted: %s", without)
	}
}
