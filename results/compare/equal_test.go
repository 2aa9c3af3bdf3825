// SPDX-License-Identifier: MIT

package compare

import (
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// equal is a verdict where it is asked for, with its correction, and not of what was held
// up by something else.
func TestEqual(t *testing.T) {
	a := []float64{100, 101, 99, 100.5, 99.5, 100.2}
	scaled := func(f float64) (out []float64) {
		for _, v := range a {
			out = append(out, v*f)
		}
		return out
	}
	cell := func(id string, mtu int) plan.Cell {
		return plan.Cell{ID: id, RX: "tcp", TX: "tcp", Touch: "read", MTU: mtu}
	}
	far, near, held, same := cell("far", 4148), cell("near", 1500), cell("held", 2000), cell("same", 9000)
	s := set("s", map[plan.Cell][]float64{tcp: a, far: scaled(1.5), near: scaled(1.03), held: a, same: a})
	for i := range s.Cells {
		for _, r := range s.Cells[i].Runs {
			if s.Cells[i].Cell.ID == "held" {
				r.Limit = plan.ByLink
			}
		}
	}
	r, err := Within(&s, tcp, metrics(t, "throughput_gbps"))
	if err != nil {
		t.Fatal(err)
	}
	r.Within(.1)
	want := map[string]string{"far": "faster", "near": "faster (within 10 %)", "held": "at the link's limit",
		"same": "equal within 10 %"}
	for i := range r.Rows {
		row := &r.Rows[i]
		if got := row.VerdictText(); got != want[row.B.ID] {
			t.Errorf("%s: %q, want %q", row.B.ID, got, want[row.B.ID])
		}
		if e := row.Equal; e != nil && (e.Adjusted < e.P || e.Holds() != (e.Adjusted < .05 && e.Inside)) {
			t.Errorf("%s: %+v", row.B.ID, e)
		}
	}
}

// A mode that is a fifth slower in every fourth run is not the same within 2 %, though ranks say
// so of the others: the interval that stands beside the verdict must not contradict it.
func TestEqualOfTwoSpeeds(t *testing.T) {
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	plan := func(slow float64) Set {
		var j results.Journal
		for i := range 20 {
			for k, c := range []plan.Cell{tcp, uring} {
				gbps := 100 + .05*float64((i*(7+4*k))%20-10)
				if k == 1 && i%4 == 3 {
					gbps *= slow
				}
				r := results.Record{Cell: c, Verdict: results.OK, Rep: i, Block: i, SessionID: "s",
					Schema: results.SchemaVersion}
				r.SUT.Env.BootID, r.TG.Env.BootID, r.SUT.ThroughputGbps = "sut", "tg", ptr(gbps)
				j.Records = append(j.Records, r)
			}
		}
		return NewSet("s", j)
	}
	for slow, want := range map[float64]string{1: "equal within 2 % (within this boot)", .8: "cannot tell"} {
		s := plan(slow)
		r, err := Within(&s, tcp, metrics(t, "throughput_gbps"))
		if err != nil {
			t.Fatal(err)
		}
		r.Within(.02)
		row := &r.Rows[0]
		if got := row.VerdictText(); got != want || row.Equal == nil || row.Equal.P >= .05 {
			t.Errorf("every fourth run at %g: %q, want %q; %+v, interval %v..%v", slow, got, want, row.Equal,
				*row.Diff.Ratio.Lo, *row.Diff.Ratio.Hi)
		}
	}
}

// Two equal cells whose runs vary by 1 % are called equal within 2 % by 12 runs of each in at least
// 80 of 100 cases, by both, the test and the interval.
func TestEqualIsFound(t *testing.T) {
	const rounds = 300
	rng, found := rand.New(rand.NewPCG(21, 12)), 0
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	for range rounds {
		var j results.Journal
		for i := range 12 {
			for _, c := range []plan.Cell{tcp, uring} {
				r := results.Record{Cell: c, Verdict: results.OK, Rep: i, Block: i, SessionID: "s",
					Schema: results.SchemaVersion}
				r.SUT.ThroughputGbps = ptr(100 * (1 + .01*rng.NormFloat64()))
				j.Records = append(j.Records, r)
			}
		}
		s := NewSet("s", j)
		r, err := Within(&s, tcp, metrics(t, "throughput_gbps"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Within(.02); r.Rows[0].Equal.Holds() {
			found++
		}
	}
	t.Logf("%d of %d are called equal", found, rounds)
	if found < rounds*80/100 {
		t.Errorf("%d of %d are called equal", found, rounds)
	}
}
