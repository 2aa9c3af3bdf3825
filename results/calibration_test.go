// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// runs.csv has what was asked for and what it came to, and reads both again.
func TestPaceColumns(t *testing.T) {
	var recs []Record
	for i, c := range []plan.Cell{{}, {PaceBitsPS: 3e9}, {PacePercent: 25, PaceBitsPS: 2e9}, {PacePercent: 75}} {
		c.ID, c.RX, c.TX = "c", "tcp", "tcp"
		recs = append(recs, Record{Schema: SchemaVersion, RunID: fmt.Sprint(i), Cell: c, Verdict: OK})
	}
	var b bytes.Buffer
	if err := WriteRuns(&b, recs); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	got, err := ReadRuns(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for i := range recs {
		if got[i].Cell != recs[i].Cell {
			t.Errorf("%+v read as %+v", recs[i].Cell, got[i].Cell)
		}
	}
	if !strings.Contains(text, ",2000000000,") || !strings.Contains(text, ",25%,") {
		t.Error(text)
	}
}

func TestOffPace(t *testing.T) {
	for _, x := range []struct {
		pace int
		gbps float64
		off  bool
	}{{0, 5, false}, {5e9, 5, false}, {5e9, 4.951, false}, {5e9, 4.949, true}, {5e9, 5.049, false}, {5e9, 5.051, true},
		{5e9, 0, true}} {
		r := Record{Cell: plan.Cell{PaceBitsPS: x.pace}}
		r.SUT.ThroughputGbps = &x.gbps
		if r.OffPace() != x.off {
			t.Errorf("%g Gbit/s at a pace of %d: %v", x.gbps, x.pace, r.OffPace())
		}
	}
	if r := (Record{Cell: plan.Cell{PaceBitsPS: 1e9}}); r.OffPace() {
		t.Error("what was not measured missed its pace")
	}
}

// A calibration is the slowest cell's median; what was not ok, and runs that were made for
// something else, do not count.
func TestCalibrate(t *testing.T) {
	run := func(rx string, gbps float64, v Verdict, flags ...string) Record {
		r := Record{Cell: plan.Cell{ID: rx, RX: rx}, Verdict: v, Flags: flags}
		r.SUT.ThroughputGbps = &gbps
		return r
	}
	recs := []Record{run("tcp", 30, OK, FlagCalibration), run("tcp", 10, OK, FlagCalibration),
		run("tcp", 20.04, OK, "shared-machine", FlagCalibration),
		run("uring", 40, OK, FlagCalibration), run("uring", 42, OK, FlagCalibration),
		run("zcrx", 1, Invalid, FlagCalibration), run("tcp", 1, OK)}
	c := Calibrate(recs)
	if c == nil || *c != (Calibration{BitsPS: 20_040_000_000, Cell: "tcp", Runs: 3, Cells: 2}) {
		t.Fatalf("%+v", c)
	}
	for percent, want := range map[int]int{50: 10_000_000_000, 25: 5_010_000_000, 75: 15_000_000_000, 1: 200_000_000} {
		if got := c.Share(percent); got != want {
			t.Errorf("%d %%: %d, want %d", percent, got, want)
		}
	}
	if got := (&Calibration{BitsPS: 5e6}).Share(10); got != 0 {
		t.Errorf("10 %% of 5 Mbit/s: %d", got)
	}
	if Calibrate(recs[5:]) != nil {
		t.Error("a calibration of nothing")
	}
}
