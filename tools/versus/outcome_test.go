// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results/stat"
)

// outcome has 6 pairs, in which ours are faster by 2 % and take a tenth more of the machine.
func outcome() *Outcome {
	o := outcomeOf(Comparison{Name: "tcp 128K together"}.of(Together, Load{Flows: 1}))
	for n := range 6 {
		x := 1 + float64(n)/1000
		o.add(Measured{Gbps: 51 * x, CPUPGB: 0.44 * x, RxCPUPGB: 0.1 * x, TxCPUPGB: 0.2 * x},
			Measured{Gbps: 50 * x, CPUPGB: 0.4 * x, RxCPUPGB: 0.1 * x, TxCPUPGB: 0.1 * x}, n == 0)
	}
	return o
}

// The CPU time of both ends is a figure of its own, with a target of its own.
func TestSummary(t *testing.T) {
	s := outcome().summary()
	if !near(s.Throughput.Ratio.Estimate, 1.02) || s.Throughput.Verdict != stat.Met {
		t.Errorf("throughput %+v", s.Throughput)
	}
	if !near(s.CPU.Ratio.Estimate, 1.1) || s.CPU.Ratio.Hi > 1.11 || s.CPU.Verdict != stat.NotMet {
		t.Errorf("CPU of both ends %+v", s.CPU)
	}
	if !near(s.RxCPU.Ratio.Estimate, 1) || !near(s.TxCPU.Ratio.Estimate, 2) || s.TxCPU.Verdict != stat.NoTarget {
		t.Errorf("receiver %+v, sender %+v", s.RxCPU, s.TxCPU)
	}
	r := report{Comparisons: []summary{s}}
	if !r.missed() {
		t.Error("the target that was missed does not count")
	}
}

func outcomeOf(c Comparison) *Outcome {
	c.Ours, c.Theirs = Contender{Name: "ours"}, Contender{Name: "theirs"}
	_, outcomes := grouped([]Comparison{c})
	return outcomes[0]
}

func TestSummaryWithoutPairs(t *testing.T) {
	o := outcomeOf(Comparison{Name: "uring 128K apart"}.of(Apart, Load{Flows: 1}))
	o.group.lost[o.ours] = "no io_uring"
	s := o.summary()
	if s.Throughput.Verdict != stat.CannotTell || s.CPU.Verdict != stat.CannotTell {
		t.Errorf("verdicts %v and %v of nothing", s.Throughput.Verdict, s.CPU.Verdict)
	}
	var out bytes.Buffer
	if err := printTable(&out, []summary{s}, false); err != nil ||
		!strings.Contains(out.String(), "unsupported here: no io_uring") {
		t.Errorf("%v, printed\n%s", err, out.String())
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := printTable(&out, []summary{outcome().summary()}, true); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	text := strings.Join(rows[:4], "\n")
	for _, want := range []string{"tcp 128K together ours theirs 1 of 6 pairs disturbed",
		"Gbit/s 51.1 50.1 1.020 [1.020..1.020] >= 1.00 met",
		"CPU s/GB 0.441 0.401 1.100 [1.100..1.100] <= 1.00 not met"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
