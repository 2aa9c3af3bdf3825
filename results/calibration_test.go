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
		if missed := x.off && x.gbps*1e9 < float64(x.pace); r.MissedPace() != missed {
			t.Errorf("%g Gbit/s at a pace of %d: missed %v", x.gbps, x.pace, r.MissedPace())
		}
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
		run("zcrx", 1, Invalid, FlagCalibration), run("tcp", 1, OK),
		run("uring", 0, OK, FlagCalibration)} // nothing came: it tells no rate
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

// A start of cells in turns that something else spoilt tells what shares are of where no other
// does, if it has a rate of turns; one of blocks does not.
func TestCalibrateOfSpoiltTurns(t *testing.T) {
	run := func(rx string, gbps, seconds float64, turns bool, v Verdict) Record {
		r := Record{Cell: plan.Cell{ID: rx, RX: rx}, Warmup: true, Verdict: v, Flags: []string{FlagCalibration}}
		r.SUT.ThroughputGbps, r.SUT.DurationS = &gbps, &seconds
		if v == Invalid {
			r.Gate = plan.ByEnvironment
		}
		if turns {
			r.Turns = &Turns{TurnNs: 20e6, Turns: 50, Cells: 2}
		}
		return r
	}
	for _, x := range []struct {
		runs []Record
		bits int
	}{
		{[]Record{run("tcp", 10, 1.2, true, Invalid), run("uring", 20, 1.2, true, Invalid)}, 10e9},
		{[]Record{run("tcp", 10, 1.2, true, Invalid), run("tcp", 12, 1.2, true, OK), run("tcp", 9, 1.2, true, Invalid)},
			12e9},
		{[]Record{run("tcp", 5, 3, true, Invalid), run("uring", 20, 1.2, true, OK)}, 20e9}, // of all the time
		{[]Record{run("tcp", 10, 1, false, Invalid), run("uring", 20, 1, false, OK)}, 20e9},
		{[]Record{run("tcp", 10, 1, true, Failed)}, 0},
	} {
		got := 0
		if c := Calibrate(x.runs); c != nil {
			got = c.BitsPS
		}
		if got != x.bits {
			t.Errorf("%d bit/s of %d runs, want %d", got, len(x.runs), x.bits)
		}
	}
}
