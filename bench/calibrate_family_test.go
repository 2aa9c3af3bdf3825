// SPDX-License-Identifier: MIT

package bench

import (
	"maps"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// calibrated are a calibration's records: what a cell does follows from its mode and message.
func calibrated(runs []matrix.Run, o Options) (recs []results.Record) {
	for _, p := range runs {
		gbps := map[string]float64{"tcp": 10, "uring": 20}[p.Cell.RX]
		if p.Cell.MessageBytes == 1<<20 {
			gbps *= 3
		}
		r := results.Record{Cell: o.noted(p.Cell), Rep: p.Rep, Warmup: true, Verdict: results.OK,
			Flags: []string{results.FlagCalibration}}
		r.SUT.ThroughputGbps = &gbps
		recs = append(recs, r)
	}
	return recs
}

// A share is of the slowest of the cells that are compared: where the mode is asked about, the
// cells with small messages do not hold up those with large ones. All that are compared have one
// rate, and after --resume they have it again.
func TestSharesOfWhatIsCompared(t *testing.T) {
	const plan = "name: x\nfactors: {rx: [tcp, uring], tx: tcp, message: [4K, 1M], pace: 50%}\nrepetitions: 2\n"
	for about, want := range map[string]map[int]int{
		"":                         {4096: 5_000_000_000, 1 << 20: 5_000_000_000},
		"compare: {about: [rx]}\n": {4096: 5_000_000_000, 1 << 20: 15_000_000_000},
	} {
		for _, note := range []Options{{}, {NoteMTU: true, MTU: 1500}} {
			s := sharesSpec(t, plan+about)
			first := calibration(s, anyCell)
			recs := calibrated(first, note)
			settled := func(r *rates) {
				t.Helper()
				for _, c := range s.Cells {
					if m, v := r.settle(&c); m != nil || c.PaceBitsPS != want[c.MessageBytes] {
						t.Errorf("%q, noted %v: %s is paced to %d, want %d (%s %+v)", about, note.NoteMTU, c.ID,
							c.PaceBitsPS, want[c.MessageBytes], v, m)
					}
				}
			}
			r := ratesOf(s, &note)
			if n, families := r.families(first), len(slices.Compact(slices.Sorted(maps.Values(want)))); n != families {
				t.Errorf("%q: %d families, want %d", about, n, families)
			}
			r.want(first)
			for _, rec := range recs {
				r.add(rec)
			}
			settled(&r)
			if left := r.left(first, s.Runs()); len(left) != 0 {
				t.Errorf("%q, noted %v: %d runs of the calibration are left", about, note.NoteMTU, len(left))
			}

			// One run was paced; then the session was stopped.
			paced := s.Cells[0]
			if m, _ := r.settle(&paced); m != nil {
				t.Fatal(m)
			}
			again := ratesOf(s, &note)
			again.want(first)
			if err := again.recall(append(recs, results.Record{Cell: note.noted(paced),
				Verdict: results.OK})); err != nil {
				t.Fatal(err)
			}
			settled(&again)
		}
	}
}

// What one family lacks keeps no other from its pace.
func TestFamilyWithoutCalibration(t *testing.T) {
	s := sharesSpec(t, "name: x\nfactors: {rx: [tcp, uring], tx: tcp, message: [4K, 1M], pace: "+
		"50%}\nrepetitions: 2\ncompare: {about: [rx]}\n")
	first := calibration(s, anyCell)
	r := ratesOf(s, &Options{})
	r.want(first)
	small := func(c plan.Cell) bool { return c.MessageBytes == 4096 }
	for _, rec := range calibrated(first, Options{}) {
		if small(rec.Cell) && rec.Cell.RX == "tcp" {
			rec.Verdict, rec.Reason = results.Invalid, "foreign load"
		}
		r.add(rec)
	}
	for _, c := range s.Cells {
		if m, _ := r.settle(&c); (m != nil) != small(c) {
			t.Errorf("%s: %+v", c.ID, m)
		}
	}
	used := slices.Clone(s.Cells)
	used = slices.DeleteFunc(used, small)
	if m, _ := r.settle(&used[0]); m != nil {
		t.Fatal(m)
	}
	r.add(results.Record{Cell: used[0], Verdict: results.OK})
	left := r.left(first, s.Runs())
	if len(left) != calibrationRuns {
		t.Errorf("%d runs of the calibration are made again", len(left))
	}
	for _, p := range left {
		if !small(p.Cell) || p.Cell.RX != "tcp" {
			t.Errorf("%s is made again", p.Cell.ID)
		}
	}
}
