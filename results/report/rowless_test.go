// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/stat"
)

func pairCell(rx, tx string, change func(*Cell)) Cell {
	c := Cell{Cell: plan.Cell{ID: rx + "/" + tx, RX: rx, TX: tx}}
	change(&c)
	return c
}

func measured(c *Cell) {
	c.OK, c.Made = 8, 8
	c.SUT.ThroughputGbps = stat.Summarize([]float64{100.5, 101.49, 94.14, 103.84, 100, 99, 98, 97})
	c.SUT.BusyCores = stat.Summarize([]float64{0.5, 0.49, 0.48})
}

// What has no figures because it could not have any has no row, but is named with the number of
// its reason; what failed has its row.
func TestRowless(t *testing.T) {
	expected := func(c *Cell) { c.Invalid, c.Expected, c.Made, c.Stops = 1, 1, 1, []int{1} }
	cells := []Cell{
		pairCell("tcp-trunc", "sendfile", measured),
		pairCell("tcp", "uring", func(c *Cell) { c.Failed, c.Made, c.Stops = 8, 8, []int{3} }),
		pairCell("tcp", "msg-zerocopy", expected),
		pairCell("zcrx", "", func(c *Cell) { c.Unsupported, c.Stops = 1, []int{2} }),
		pairCell("", "devmem", func(c *Cell) { c.Unsupported, c.Stops = 1, []int{2} }),
		// One run that had to copy does not speak for seven that nothing excuses; but what was made
		// again is nobody's finding.
		pairCell("uring", "msg-half", func(c *Cell) { c.Invalid, c.Expected, c.Made, c.Stops = 8, 1, 8, []int{1, 6} }),
		pairCell("uring", "msg-zerocopy-again", func(c *Cell) {
			c.Invalid, c.Replaced, c.Expected, c.Made, c.Stops = 2,
				1, 1, 1, []int{1}
		}),
		// Zero copy that copied where it need not have is a finding, and so is a pair that cannot
		// run with these settings.
		pairCell("tcp-mmap", "tcp", func(c *Cell) { c.Invalid, c.Made, c.Stops = 8, 8, []int{4} }),
		pairCell("uring", "uring-zc", func(c *Cell) { c.Unsupported, c.Stops = 1, []int{5} }),
	}
	table := func(cells ...Cell) string {
		var b bytes.Buffer
		if err := Table(&b, &Summary{Cells: cells}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := table(cells...)
	rows, rest, ok := strings.Cut(got, "\n\n")
	for _, want := range []string{"tcp-trunc", "8 failed [3]", "8 invalid [4]", "msg-half", "unsupported [5]"} {
		if !strings.Contains(strings.Join(strings.Fields(rows), " "), want) {
			t.Errorf("no row has %q:\n%s", want, rows)
		}
	}
	for _, not := range []string{"msg-zerocopy", "zcrx", "devmem"} {
		if strings.Contains(rows, not) {
			t.Errorf("a row of %s:\n%s", not, rows)
		}
	}
	flat := strings.Join(strings.Fields(rest), " ")
	for _, want := range []string{"rx tcp with tx msg-zerocopy [1]", "cannot run here: rx zcrx [2], tx devmem [2]"} {
		if !ok || !strings.Contains(flat, want) {
			t.Errorf("below the table is no %q:\n%s", want, rest)
		}
	}
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	// Where nothing else is there, they are the table.
	if got := table(cells[3]); !strings.Contains(got, "unsupported [2]") || strings.Contains(got, "cannot run here") {
		t.Errorf("a single mode that cannot run:\n%s", got)
	}
}

// A table that is too wide loses columns that have nothing in them, never others.
func TestTableWithoutShares(t *testing.T) {
	wide := pairCell("tcp-trunc", "sendfile", measured)
	wide.TG.BusyCores = wide.SUT.BusyCores
	wide.Invalid, wide.Made, wide.Stops = 4, 12, []int{1, 2, 3}
	head := func(c Cell) string {
		var b bytes.Buffer
		if err := Table(&b, &Summary{Cells: []Cell{c}}); err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(b.String(), "\n")
		return line
	}
	if got := head(wide); strings.Contains(got, "copied") || !strings.Contains(got, "ns/kB") {
		t.Errorf("nothing was copied, and the head is %q", got)
	}
	wide.SUT.Proof = &Proof{ZeroCopy: 1}
	if got := head(wide); !strings.Contains(got, "copied") {
		t.Errorf("something is known of copies, and the head is %q", got)
	}
}

// What lacks nothing but its fix is told from what this host does not have, in the reasons.
func TestBlockedRows(t *testing.T) {
	c := plantest.Cell{Cell: plantest.Modes("zcrx", "tcp"), Reason: "eth0: find RX queue 99: it has 0-3",
		Fix: "choose one of them (--queue)", Blocked: true}
	s := Summarize(plantest.Journal(1, 6, plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 20}, c))
	var b strings.Builder
	if err := Table(&b, s); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	if !strings.Contains(text, "unsupported [1]") ||
		!strings.Contains(
			text, "[1] unsupported as things stand: eth0: find RX queue 99: it has 0-3 fix: choose one of them "+
				"(--queue)") {
		t.Error(b.String())
	}
}
