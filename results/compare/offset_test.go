// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// timed are runs of times from so many us on, that differ by as many as spread says, with an error
// of the clocks in them.
func timed(session string, c plan.Cell, us, spread, clock float64) (out []results.Record) {
	for i := range 12 {
		r := results.Record{Cell: c, Verdict: results.OK, Rep: i, Block: i, SessionID: session,
			Schema: results.SchemaVersion}
		r.SUT.Env.BootID, r.TG.Env.BootID, r.SUT.ThroughputGbps = "sut", "tg", ptr(1.0)
		r.SUT.Delivery = &results.Delivery{Times: results.Times{Count: 1, P50Us: new(us + spread*float64(i*5%12)/10)},
			ClockUs: &clock}
		if session != "s" { // two folders are compared by their sessions, such as replays
			r.SessionID = fmt.Sprint(session, i)
		}
		out = append(out, r)
	}
	return out
}

// Times between two hosts are no better than their clocks. In the same blocks both cells have the
// path's error, and their scatter has the rest, so that one is later all the same; in two sessions
// the error may be all of the difference; and an error that both have makes unequal times look
// equal.
func TestDeliveryBetweenClocks(t *testing.T) {
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read", PaceBitsPS: 1e9}
	base := tcp
	base.PaceBitsPS = 1e9
	m := metrics(t, "delivery_p50_us")
	for _, x := range []struct {
		name        string
		a, b, clock float64
		one, two    string // in one session, and in two
	}{
		{"one clock", 100, 120, 0, "costlier (within this boot)", "costlier (across 12 and 12 sessions)"},
		{"clocks that are good enough", 100, 120, 5, "costlier (within this boot; the hosts' clocks agree to 5 us)",
			"costlier (across 12 and 12 sessions; the hosts' clocks agree to 5 us)"},
		{"clocks that are not", 100, 120, 15, "costlier (within this boot; the hosts' clocks agree to 15 us)",
			"cannot tell (the hosts' clocks agree to 15 us)"},
		{"equal, one clock", 100, 100, 0, "equal within 5 % (within this boot)",
			"equal within 5 % (across 12 and 12 sessions)"},
		{"10 and 12 us, by clocks that are 1 ms apart", 1010, 1012, 1000,
			"costlier (within this boot; the hosts' clocks agree to 1000 us)",
			"cannot tell (the hosts' clocks agree to 1000 us)"},
		{"equal by such clocks", 1010, 1010, 1000, "cannot tell", "cannot tell"},
	} {
		in := NewSet("s", results.Journal{Records: append(timed("s", base, x.a, 1, x.clock),
			timed("s", uring, x.b, 1, x.clock)...)})
		r, err := Within(&in, base, m)
		if err != nil {
			t.Fatal(err)
		}
		a, b := NewSet("a", results.Journal{Records: timed("a", base, x.a, 1, x.clock)}),
			NewSet("b", results.Journal{Records: timed("b", base, x.b, 1, x.clock)})
		two, err := Compare(&a, &b, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			r    *Result
			want string
		}{{r, x.one}, {two, x.two}} {
			c.r.Within(.05)
			if got := c.r.Rows[0].VerdictText(); got != c.want {
				t.Errorf("%s, %s: %q, want %q", x.name, c.r.NameB, got, c.want)
			}
		}
	}
}

// Times of two sessions have an error each. What looks like a quarter more may be a twentieth, and
// what looks like an eighth, and gets no verdict, may be a third.
func TestLossOfTimesOfTwoSessions(t *testing.T) {
	base := tcp
	base.PaceBitsPS = 1e9
	for _, x := range []struct {
		a, b, clock, share float64
		verdict            Verdict
		worse, possible    bool
	}{
		{100, 125, 0, .2, Costlier, true, true},
		{100, 125, 10, .2, Costlier, false, true},
		{100, 125, 10, .02, Costlier, true, true},
		{100, 112, 10, .15, Unsure, false, true},
		{100, 112, 10, .4, Unsure, false, false},
	} {
		a := NewSet("a", results.Journal{Records: timed("a", base, x.a, .01, x.clock)})
		b := NewSet("b", results.Journal{Records: timed("b", base, x.b, .01, x.clock)})
		r, err := Compare(&a, &b, metrics(t, "delivery_p50_us"))
		if err != nil {
			t.Fatal(err)
		}
		row := &r.Rows[0]
		if row.Verdict != x.verdict || row.Worse(x.share) != x.worse || row.Possible(x.share) != x.possible {
			t.Errorf("%+v: %s, worse: %v, possibly %v", x, row.Verdict, row.Worse(x.share), row.Possible(x.share))
		}
	}
}

// Records of older versions do not say how well the two clocks agree, but how well each was known.
func TestClocksOfOldRecords(t *testing.T) {
	base := tcp
	base.PaceBitsPS = 1e9
	for _, x := range []struct {
		name  string
		flags []string
		known bool
		want  float64
	}{
		{"two machines", nil, true, 15},
		{"one machine", []string{"shared-machine"}, true, 0},
		{"not known", nil, false, 0},
	} {
		of := func(session string, us float64) *Set {
			recs := timed(session, base, us, 1, 0)
			for i := range recs {
				r := &recs[i]
				r.SUT.Delivery.ClockUs, r.Flags = nil, x.flags
				if x.known {
					r.SUT.Metrics = []measure.Metric{{Name: "clock_offset_uncertainty_ns", Unit: "ns", Value: 5000}}
					r.TG.Metrics = []measure.Metric{{Name: "clock_offset_uncertainty_ns", Unit: "ns", Value: 10000}}
				}
			}
			s := NewSet(session, results.Journal{Records: recs})
			return &s
		}
		r, err := Compare(of("a", 100), of("b", 120), metrics(t, "delivery_p50_us"))
		if err != nil {
			t.Fatal(err)
		}
		if row := &r.Rows[0]; row.ClockUs != x.want || row.OffClocks != (x.want > 0) {
			t.Errorf("%s: clocks agree to %g us, want %g: %s", x.name, row.ClockUs, x.want, row.VerdictText())
		}
	}
}

// Memory's traffic in turns is no better known than what caches keep from one turn to the next: a
// difference that is no more than both cells' is none, however narrow its interval, and the two are
// not equal for it. More is told, with how much it may be off.
func TestTrafficInTurns(t *testing.T) {
	zcrx := plan.Cell{ID: "zcrx/tcp", RX: "zcrx", TX: "tcp", Touch: "read"}
	for _, x := range []struct {
		name       string
		a, b, off  float64
		text, gate string // the verdict, and whether B is worse by more than 5 %
	}{
		{"no turns", 1, 1.1, 0, "costlier (within this boot)", "worse"},
		{"long turns", 1, 1.1, .005, "costlier (within this boot)", "worse"},
		{"short turns", 1, 1.1, .06, "cannot tell (caches may carry 0.06 from turn to turn)", "may be"},
		{"much more", 1, 3.1, .09, "costlier (within this boot; caches may carry 0.09 from turn to turn)", "worse"},
		{"much less", 3.1, 1, .09, "cheaper (within this boot; caches may carry 0.09 from turn to turn)", "no"},
		{"a large cache", 3.1, 1, 1.2, "cannot tell (caches may carry 1.2 from turn to turn)", "may be"},
		{"as much", 1, 1, .09, "cannot tell", "may be"},
		{"as much, in long turns", 1, 1, .0005, "equal within 5 % (within this boot)", "no"},
	} {
		var recs []results.Record
		for i, c := range []plan.Cell{tcp, zcrx} {
			for rep := range 12 {
				r := results.Record{Cell: c, Verdict: results.OK, Rep: rep, Block: rep, SessionID: "s",
					Schema: results.SchemaVersion}
				v := []float64{x.a, x.b}[i] * (1 + .001*float64((rep*(5+2*i))%12))
				r.SUT.Env.BootID, r.TG.Env.BootID, r.SUT.ThroughputGbps = "sut", "tg", new(1.0)
				r.SUT.DRAMPerByte, r.SUT.CarriedPerByte = &v, new(x.off)
				recs = append(recs, r)
			}
		}
		s := NewSet("s", results.Journal{Records: recs})
		r, err := Within(&s, tcp, metrics(t, "dram_bytes_per_byte"))
		if err != nil {
			t.Fatal(err)
		}
		r.Within(.05)
		row := &r.Rows[0]
		got := map[bool]string{true: "worse"}[row.Worse(.05)]
		if got == "" {
			got = map[bool]string{true: "may be", false: "no"}[row.Possible(.05)]
		}
		if text := row.VerdictText(); text != x.text || got != x.gate {
			t.Errorf("%s: %q, worse: %s", x.name, text, got)
		}
	}
}

// What is lost is a share of a time that the clocks may have made shorter or longer, and of times
// that are sorted into buckets: a regression is one that is more than these may be.
func TestLossOfTimes(t *testing.T) {
	base := tcp
	base.PaceBitsPS = 1e9
	for _, x := range []struct {
		name               string
		a, b, clock, share float64
		worse, possible    bool
	}{
		{"ten per cent, one clock", 100, 110, 0, .05, true, true},
		{"an edge between two buckets", 100, 101.2, 0, .01, false, true},
		{"far below", 100, 101.2, 0, .04, false, false},
		{"a third of a time that is 100 us in truth", 9, 12, 91, .05, false, true},
		{"more than the clocks can hide", 60, 120, 20, .5, true, true},
		{"any share, perhaps", 60, 61, 90, .9, false, true},
	} {
		uring := base
		uring.ID, uring.RX = "uring/tcp", "uring"
		s := NewSet("s", results.Journal{Records: append(timed("s", base, x.a, .01, x.clock),
			timed("s", uring, x.b, .01, x.clock)...)})
		r, err := Within(&s, base, metrics(t, "delivery_p50_us"))
		if err != nil {
			t.Fatal(err)
		}
		row := &r.Rows[0]
		if row.Verdict != Costlier || row.Worse(x.share) != x.worse || row.Possible(x.share) != x.possible {
			t.Errorf("%s: %s, worse by %g: %v, possibly %v", x.name, row.Verdict, x.share, row.Worse(x.share),
				row.Possible(x.share))
		}
	}
	// Times in one bucket are equal to what a bucket hides, and no better.
	uring := base
	uring.ID, uring.RX = "uring/tcp", "uring"
	for margin, want := range map[float64]bool{.02: true, .01: false} {
		s := NewSet("s", results.Journal{Records: append(timed("s", base, 100, 0, 0), timed("s", uring, 100, 0, 0)...)})
		r, err := Within(&s, base, metrics(t, "delivery_p50_us"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Within(margin); r.Rows[0].Equal.Holds() != want {
			t.Errorf("equal within %g: %+v", margin, r.Rows[0].Equal)
		}
	}
}
