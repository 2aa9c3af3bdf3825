// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Table, page and JSON show costs gross and net, with how uncertain they are; a journal
// without rests and power has no such table.
func TestCostsGrossAndNet(t *testing.T) {
	rec := func(n int, known bool) results.Record {
		h := results.Host{ThroughputGbps: new(50.), CPUBusyCores: new(1.5 + float64(n)/100), DurationS: new(10.),
			Bytes: new(uint64(20e9))}
		if known {
			h.CPUBusyU, h.CPUIdleCores, h.CPUIdleU = new(.03), new(.25), new(.04)
			h.PowerW, h.PowerIdleW, h.PowerSource, h.PowerScope = new(200.), new(150.), "rapl", "package-dram"
			h.PowerU, h.PowerSharedU, h.PowerNetU, h.CPUPollerCores = new(5.), new(4.), new(3.), new(.75)
		}
		return results.Record{RunID: fmt.Sprint(n), Verdict: results.OK, Cell: plan.Cell{ID: "uring/tcp",
			RX: "uring", TX: "tcp"}, SUT: h, TG: results.Host{CPUBusyCores: new(1.)}}
	}
	texts := func(known bool) (table, page, data string) {
		s := Summarize(results.Journal{Records: []results.Record{rec(0, known), rec(1, known), rec(2, known)}})
		return string(render(t, func(b *bytes.Buffer) error { return Table(b, s) })),
			string(render(t, func(b *bytes.Buffer) error { return writePage(b, s) })),
			string(render(t, func(b *bytes.Buffer) error { return JSON(b, s) }))
	}
	table, page, data := texts(true)
	for _, want := range []string{"1.510 ± 0.030", "1.260 ± 0.050", "0.75", "100.0 ± 2.5", "25.0 ± 1.5"} {
		if !strings.Contains(table, want) || !strings.Contains(page, want) {
			t.Errorf("no %q in the table or on the page:\n%s", want, table)
		}
	}
	for _, line := range strings.Split(table, "\n") {
		if len([]rune(line)) > widestTable {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
	if !strings.Contains(page, "0.250 ± 0.040") || !strings.Contains(data, `"uncertainty": 0.04`) {
		t.Error("the page or the JSON does not say what the CPUs did at rest")
	}
	table, page, data = texts(false)
	if strings.Contains(table, "net cores") || strings.Contains(page, "gross and net") ||
		strings.Contains(data, `"costs"`) {
		t.Error("nothing of it was measured, and there is a table")
	}
}

// Watts of one instrument for both ends are those of both in each row: who adds the rows reads so
// there.
func TestCostsOfOneInstrument(t *testing.T) {
	var j results.Journal
	for n := range 2 {
		h := results.Host{ThroughputGbps: new(50.), CPUBusyCores: new(1.5), DurationS: new(10.),
			Bytes: new(uint64(20e9)), PowerW: new(200.), PowerIdleW: new(150.), PowerU: new(5.), PowerNetU: new(3.),
			PowerSource: "meter", PowerScope: "wall"}
		j.Records = append(j.Records, results.Record{RunID: fmt.Sprint(n), Verdict: results.OK,
			Cell: plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp"}, SUT: h, TG: h,
			Flags: []string{results.FlagSharedPower}})
	}
	s := Summarize(j)
	table := string(render(t, func(b *bytes.Buffer) error { return Table(b, s) }))
	_, costs, _ := strings.Cut(table, "net J/GB\n")
	lines := strings.Split(costs, "\n")
	if len(lines) < 3 || !strings.Contains(lines[1], "TG") ||
		lines[2] != "  one instrument sees both ends: the power of both together (2 of 2 runs)" {
		t.Error(table)
	}
	if data := string(render(t, func(b *bytes.Buffer) error { return JSON(b, s) })); strings.Count(data,
		"the power of both together (2 of 2 runs)") < 2 {
		t.Error(data)
	}
}

func TestUncertainText(t *testing.T) {
	for _, x := range []struct {
		v, u *float64
		want string
	}{{nil, new(1.), "-"}, {new(1.234), nil, "1.23"}, {new(123.4), new(12.3), "123 ± 12"},
		{new(1.2345), new(.0004), "1.2345 ± 0.0004"}, {new(-.5), new(.25), "-0.50 ± 0.25"}} {
		if got := (uncertain{x.v, x.u}).String(); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
