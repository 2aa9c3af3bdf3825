// SPDX-License-Identifier: MIT

package compare

import (
	"strings"
	"testing"
)

// Cells whose CPUs were of different classes have no verdict, of nothing; cells of one class have.
func TestOtherClass(t *testing.T) {
	for name, x := range map[string]struct {
		a, b, says string
	}{
		"one class":     {"cpu_core", "cpu_core", ""},
		"P and E-cores": {"cpu_core", "cpu_atom", "other class of CPUs: SUT on cpu_core and cpu_atom"},
		"mixed": {"cpu_core", "cpu_core+cpu_atom",
			"other class of CPUs: SUT on cpu_core and cpu_core+cpu_atom"},
		"alike":           {"", "", ""},
		"not on record":   {"", "cpu_atom", ""},
		"clock and class": {"cpu_core", "cpu_atom", "other class of CPUs"},
	} {
		mhz := 3000.
		if name == "clock and class" {
			mhz = 1500
		}
		s := clocked(mhz, ptr(.02))
		for i := range s.Cells {
			for _, r := range s.Cells[i].Runs {
				if r.SUT.Env.CPUClass = x.a; i == 1 {
					r.SUT.Env.CPUClass = x.b
				}
			}
		}
		r, err := Within(&s, s.Cells[0].Cell, metrics(t, "throughput_gbps", "ns_per_kb", "cycles_per_byte"))
		if err != nil || len(r.Rows) != 3 {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, row := range r.Rows {
			if text := row.VerdictText(); !strings.Contains(text, x.says) ||
				(row.OtherClass != "") != (x.says != "") || x.says != "" && row.Verdict != Unsure {
				t.Errorf("%s: %s is %s (%s), want %q", name, row.Metric, row.Verdict, text, x.says)
			}
		}
		below := s.Cells[1].Standing(&s.Cells[0])
		if below.Borne() != (x.says == "") || !strings.Contains(below.OtherCPUs(), x.says) {
			t.Errorf("%s: stands below by %q", name, below.OtherCPUs())
		}
	}
}
