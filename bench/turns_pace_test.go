// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Cells at capacity and cells at a share of it take turns with each other: a start without a pace
// comes first, as the warm-up, and those with a share then have it of what the slowest had there.
// In their turns they are within 2 % of it, and every byte is accounted for. What slows the whole
// machine down after the calibration, such as its neighbours, may leave a cell no room for its
// share: then it says that it missed its pace, and the cells at capacity beside it show why.
func TestIntegrationPaceInTurns(t *testing.T) {
	kind.Timed(t)
	held, missed := paceInTurns(t)
	for try := 1; try < 3 && held == 0 && missed > 0 && !t.Failed(); try++ {
		held, missed = paceInTurns(t)
	}
	if held == 0 {
		t.Errorf("something else disturbed each start, or slowed it down: %d runs missed their pace", missed)
	}
}

// paceInTurns makes the calibration and two starts, and returns how many runs held their pace, and
// how many missed it because the machine was slower than in the calibration.
func paceInTurns(t *testing.T) (held, missed int) {
	t.Helper()
	r := newRig(t)
	s := sharesSpec(t, "name: x\norder: turns\nturn: 20ms\nduration: 1s\nramp_up: 40ms\nrepetitions: 2\n"+
		"factors: {rx: [tcp, uring], tx: tcp, pace: [none, 50%], message: 1M, touch: none}\n")
	r.Runner.Opt.Turn, r.Runner.Opt.RampUp, r.Runner.Opt.Duration = s.TurnLength(), s.RampUp, s.Duration
	r.Session.Again, r.Session.Gates = &again{}, s.Gates
	runs := calibratedFirst(calibration(s, anyCell), s.Runs())
	if len(runs) != 2+2*4 || len(matrix.Start(runs)) != 2 {
		t.Fatalf("%d runs, %d of them calibrate", len(runs), len(matrix.Start(runs)))
	}
	recs, err := r.Play(t.Context(), runs)
	if err != nil {
		t.Fatal(err)
	}
	of := results.Calibrate(recs)
	if of == nil {
		t.Fatalf("no calibrating start was left alone: %s", recs[0].Reason)
	}
	least := map[int64]float64{} // of each start: the rate of its slowest cell at capacity, Gbit/s
	for i := range recs {
		if rec := &recs[i]; rec.Cell.PacePercent == 0 {
			had, told := least[rec.StartUTCNs]
			if g := gbpsOf(rec); !told || g < had {
				least[rec.StartUTCNs] = g
			}
		}
	}
	share := of.Share(50)
	for _, rec := range recs {
		t.Logf("%s, start %d: %.4g of %.4g Gbit/s, %s %s", rec.Cell.ID, rec.Rep, gbpsOf(&rec),
			float64(rec.Cell.PaceBitsPS)/1e9, rec.Verdict, rec.Reason)
		if rec.Verdict != results.OK {
			if rec.Verdict != results.Invalid || !rec.Spoilt() {
				t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
			}
			continue
		}
		if *rec.SUT.TotalBytes != *rec.TG.TotalBytes || *rec.SUT.Bytes == 0 || *rec.SUT.Bytes > *rec.SUT.TotalBytes {
			t.Errorf("%s: %d bytes sent, %d received, %d of them in the window", rec.Cell.ID, *rec.TG.TotalBytes,
				*rec.SUT.TotalBytes, *rec.SUT.Bytes)
		}
		want := results.Turns{TurnNs: 20e6, Turns: 50, Cells: 4}
		if rec.Calibrates() {
			want.Cells = 2
		}
		if rec.Turns == nil || !sameTurns(*rec.Turns, want) {
			t.Errorf("%s: %+v, want %+v", rec.Cell.ID, rec.Turns, want)
		}
		paced := rec.Cell.PacePercent != 0
		if (rec.SUT.Delivery != nil) != paced || slices.Contains(rec.Flags, results.FlagOffPace) != rec.OffPace() {
			t.Errorf("%s: delivery %+v, flags %v", rec.Cell.ID, rec.SUT.Delivery, rec.Flags)
		}
		switch {
		case !paced:
		case heldPace(t, &rec, share, least[rec.StartUTCNs]):
			held++
		default:
			missed++
		}
	}
	return held, missed
}

// heldPace reports whether a run kept to its pace, of which a cell at capacity beside it had so
// many Gbit/s. It is to, where that was well above it.
func heldPace(t *testing.T, rec *results.Record, pace int, beside float64) bool {
	t.Helper()
	const (
		within = .02
		room   = 1.6 // of the pace: of the calibration it is 2
	)
	d, off := rec.SUT.Delivery, *rec.PaceError()
	t.Logf("%+.2f %% from its pace of %.4g Gbit/s, beside %.4g at capacity; p99 of delivery %.0f us of %d", 100*off,
		float64(rec.Cell.PaceBitsPS)/1e9, beside, *d.P99Us, d.Count)
	if rec.Cell.PaceBitsPS != pace {
		t.Errorf("%s: its pace is %d, want %d", rec.Cell.ID, rec.Cell.PaceBitsPS, pace)
	}
	if off < -within && beside < room*float64(pace)/1e9 {
		if said := strings.Join(rec.Warnings, "; "); !strings.Contains(said, "missed its pace") {
			t.Errorf("%s: nothing says that it missed its pace: %q", rec.Cell.ID, said)
		}
		return false
	}
	// What was due in turns that are left out is sent in those that count.
	left := rec.SUT.Value("turns_left_out")
	if off < -within || off > within+left/(float64(rec.Turns.Turns)-left) {
		t.Errorf("%s: %g Gbit/s at a pace of %d, and %.4g at capacity beside it; %.0f turns are left out", rec.Cell.ID,
			*rec.SUT.ThroughputGbps, pace, beside, left)
	}
	// Of a piece in 500 us of the turns, and its time is of the turns alone.
	if d.Count < 1500 || d.Count > 3500 || *d.P50Us > 5e3 {
		t.Errorf("%s: %d pieces were timed, half of them within %g us", rec.Cell.ID, d.Count, *d.P50Us)
	}
	return true
}

// gbpsOf is the rate of a run; 0: there is none.
func gbpsOf(r *results.Record) float64 {
	if g := r.SUT.ThroughputGbps; g != nil {
		return *g
	}
	return 0
}
