// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

func sharesSpec(t *testing.T, text string) *matrix.Spec {
	t.Helper()
	s, err := matrix.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func anyCell(plan.Cell) *Missing { return nil }

// Each cell with a share is measured without one, once whatever shares it has; rates, cells
// without a pace, faults and what cannot run are not.
func TestCalibration(t *testing.T) {
	s := sharesSpec(t, "name: x\nfactors: {rx: [tcp, uring, zcrx], tx: tcp, pace: [none, 1G, 25%, "+
		"50%]}\ninclude:\n  - {rx: zcrx, tx: tcp, pace: 25%, control: wrong-queue}\n")
	runs := calibration(s, func(c plan.Cell) *Missing {
		if c.RX == "uring" {
			return &Missing{}
		}
		return nil
	})
	n := map[string]int{}
	for _, p := range runs {
		if n[p.Cell.ID]++; !p.Warmup || !p.Calibrates || p.Cell.PacePercent != 0 || p.Cell.PaceBitsPS != 0 {
			t.Errorf("%+v", p)
		}
	}
	if len(n) != 2 || n["tcp/tcp pace=none"] != calibrationRuns || n["zcrx/tcp pace=none"] != calibrationRuns {
		t.Errorf("%v", n)
	}
	if got := calibration(sharesSpec(t, "name: x\nfactors: {rx: tcp, tx: tcp, pace: [none, 1G]}\n"),
		anyCell); got != nil {
		t.Errorf("%+v", got)
	}
	if got := (Options{Duration: 10 * time.Second}).window(runs[0]); got != 2*time.Second {
		t.Errorf("a window of %v", got)
	}
	if got := (Options{Duration: 300 * time.Millisecond, WarmupDuration: time.Second}).window(
		runs[0]); got != 300*time.Millisecond {
		t.Errorf("a window of %v", got)
	}
}

// Cells that take turns are calibrated in one start for each group, which is its warm-up, and lasts
// about as long as their runs one after another would. Then those at capacity and those at a share
// take turns with each other. A session that is resumed makes what is left of it, and warms up
// where it makes none.
func TestCalibrationInTurns(t *testing.T) {
	s := sharesSpec(t, "name: x\norder: turns\nturn: 20ms\nduration: 10s\nrepetitions: 2\n"+
		"factors: {rx: [tcp, uring], tx: tcp, pace: [none, 25%, 50%], mtu: [1500, 9000]}\n")
	first, o := calibration(s, anyCell), options(s)
	runs := calibratedFirst(first, s.Runs())
	var sizes []int
	for left := runs; len(left) > 0; {
		start := matrix.Start(left)
		left = left[len(start):]
		sizes = append(sizes, len(start))
		for _, p := range start {
			if p.Group == 0 || p.Warmup != p.Calibrates || p.Calibrates &&
				(p.Cell.Paced() || o.window(p) != 6*time.Second) ||
				p.Cell.MTU != start[0].Cell.MTU || p.Group != start[0].Group {
				t.Errorf("%+v takes turns with %s", p, start[0].Cell.ID)
			}
		}
	}
	if !slices.Equal(sizes, []int{2, 2, 6, 6, 6, 6}) {
		t.Errorf("starts of %v cells", sizes)
	}
	if n := len(calibratedFirst(first[:2], s.Runs())); n != 2+6+2*12 {
		t.Errorf("%d runs where one group is calibrated: the other one warms up", n)
	}
	if n := len(calibratedFirst(nil, s.Runs())); n != 3*12 {
		t.Errorf("%d runs where nothing is left of a calibration", n)
	}
	for _, x := range []struct {
		o    Options
		want time.Duration
	}{{Options{Duration: time.Second}, time.Second}, {Options{Duration: time.Minute}, 6 * time.Second},
		{Options{Duration: time.Second, WarmupDuration: 2 * time.Second}, 2 * time.Second}} {
		if got := x.o.window(first[0]); got != x.want {
			t.Errorf("a plan of %v calibrates in %v, want %v", x.o.Duration, got, x.want)
		}
	}

	var r rates
	r.want(first)
	recs := made(first, map[string]float64{"tcp": 10, "uring": 20}, results.OK)
	for _, rec := range recs[:2] {
		r.add(rec)
	}
	if left := r.left(first, s.Runs()); len(left) != 2 || left[0].Group != first[2].Group {
		t.Errorf("left of a calibration of two starts with one: %+v", left)
	}
	c := s.Runs()[slices.IndexFunc(s.Runs(), func(p matrix.Run) bool { return p.Cell.PacePercent == 50 })].Cell
	if m, v := r.settle(&c); v != results.Failed || !strings.Contains(m.Reason, "no calibration run of") {
		t.Errorf("%s: %+v", v, m)
	}
	for _, rec := range recs[2:] {
		r.add(rec)
	}
	if refused(&r, &c) || c.PaceBitsPS != 5e9 {
		t.Errorf("half of what the slowest had is %d", c.PaceBitsPS)
	}
	if text := results.Calibrate(recs).String(); text != "100 % of pace is 10 Gbit/s: what an unpaced run had of "+
		first[0].Cell.ID+", the slowest of 4 cells" {
		t.Error(text)
	}
}

// Cells of which none is without a pace are calibrated by copies without one.
func TestCalibrationInTurnsOfCopies(t *testing.T) {
	s := sharesSpec(
		t, "name: x\norder: turns\nwarmup: false\nfactors: {rx: [tcp, uring, zcrx], tx: tcp, pace: [25%, 50%]}\n")
	first := calibration(s, anyCell)
	for _, p := range first {
		if p.Cell.Paced() || !strings.HasSuffix(p.Cell.ID, "pace=none") {
			t.Errorf("%+v", p)
		}
	}
	if len(first) != 3 || len(matrix.Start(first)) < 2 {
		t.Errorf("%d runs calibrate, %d of them together", len(first), len(matrix.Start(first)))
	}
}

// made are records of runs at so many Gbit/s.
func made(runs []matrix.Run, gbps map[string]float64, v results.Verdict) (recs []results.Record) {
	for _, p := range runs {
		r := results.Record{Cell: p.Cell, Rep: p.Rep, Warmup: p.Warmup, Verdict: v}
		if p.Calibrates {
			r.Flags = []string{results.FlagCalibration}
		}
		r.SUT.ThroughputGbps = new(gbps[p.Cell.RX] + float64(p.Rep)/10)
		recs = append(recs, r)
	}
	return recs
}

// A session that is resumed paces as it did: what is left of a calibration is made as long as no
// run was paced by it, nothing after that, and a journal that lost some of it is refused.
func TestSharesAfterResume(t *testing.T) {
	s := sharesSpec(t, "name: x\nfactors: {rx: [tcp, uring], tx: tcp, pace: [25%, 50%]}\nrepetitions: 2\n")
	first, plan := calibration(s, anyCell), s.Runs()
	gbps := map[string]float64{"tcp": 10, "uring": 20}
	recs := made(first, gbps, results.OK)
	c := plan[0].Cell
	c.PacePercent = 50

	var whole rates
	if err := whole.recall(recs); err != nil || refused(&whole, &c) || c.PaceBitsPS != 5_050_000_000 { // of 10.1
		t.Fatalf("%+v, %v", c, err)
	}
	if left := whole.left(first, plan); len(left) != 0 {
		t.Errorf("%d runs are made again", len(left))
	}

	var torn rates
	if err := torn.recall(recs[:4]); err != nil {
		t.Fatal(err)
	}
	if left := torn.left(first, plan); len(left) != 2 {
		t.Errorf("%d left of a calibration of 6 with 4", len(left))
	}
	if left := torn.left(first, nil); left != nil {
		t.Errorf("a calibration for nothing: %+v", left)
	}

	after := append(slices.Clone(recs), results.Record{Cell: c, Verdict: results.OK})
	var resumed rates
	if err := resumed.recall(after); err != nil {
		t.Fatal(err)
	}
	more := made([]matrix.Run{{Cell: first[0].Cell, Warmup: true, Calibrates: true}},
		map[string]float64{"tcp": 1, "uring": 1}, results.OK)
	resumed.add(more[0])
	d := c
	if refused(&resumed, &d) || d.PaceBitsPS != c.PaceBitsPS {
		t.Errorf("a later calibration changed the rate: %d, was %d", d.PaceBitsPS, c.PaceBitsPS)
	}
	if left := resumed.left(first, plan); left != nil {
		t.Errorf("%d calibration runs after a paced one", len(left))
	}
	var lost rates
	if err := lost.recall(slices.DeleteFunc(after, func(r results.Record) bool {
		return r.Cell.RX == "tcp" &&
			r.Warmup
	})); !errors.Is(err, errOtherRates) {
		t.Errorf("a journal that lost calibration runs: %v", err)
	}
}

func refused(r *rates, c *plan.Cell) bool { m, _ := r.settle(c); return m != nil }

// Shares are of all cells: one whose calibration runs were all spoilt may be the slowest, so none
// is paced without it, and that is a failure, which another try may end. One that cannot run here
// is not waited for.
func TestShareOfSpoiltCell(t *testing.T) {
	s := sharesSpec(t, "name: x\nfactors: {rx: [tcp, uring], tx: tcp, pace: 50%}\nrepetitions: 2\n")
	first, planned := calibration(s, anyCell), s.Runs()
	recs := made(first, map[string]float64{"tcp": 10, "uring": 20}, results.OK)
	for _, x := range []struct {
		what results.Verdict
		want results.Verdict // of the run with a share; "": it is paced
		left int
	}{{results.Invalid, results.Failed, 3}, {results.Failed, results.Failed, 3}, {results.Unsupported, "", 3},
		{results.OK, "", 0}} {
		var r rates
		r.want(first)
		for _, rec := range recs {
			if rec.Cell.RX == "tcp" { // the slowest
				rec.Verdict, rec.Reason = x.what, "foreign load"
			}
			r.add(rec)
		}
		c := planned[0].Cell
		m, v := r.settle(&c)
		if v != x.want || (m != nil) != (x.want != "") || m != nil &&
			(!strings.Contains(m.Reason, "no calibration run of tcp/tcp") ||
				!strings.Contains(m.Reason, "foreign load")) {
			t.Errorf("%s: %s, %+v", x.what, v, m)
		}
		if m != nil && c.PaceBitsPS != 0 {
			t.Errorf("%s: a pace of %d all the same", x.what, c.PaceBitsPS)
		}
		if left := r.left(first, planned); len(left) != x.left {
			t.Errorf("%s: %d runs are made again after --resume, want %d", x.what, len(left), x.left)
		}
	}
	var turned rates // one that took turns tells its rate all the same, and is made again after --resume
	turned.want(first)
	for _, rec := range recs {
		rec.Verdict, rec.Gate, rec.SUT.DurationS = results.Invalid, plan.ByEnvironment, new(1.0)
		rec.Turns = &results.Turns{TurnNs: 20e6, Turns: 50, Cells: 2}
		turned.add(rec)
	}
	if c := planned[0].Cell; refused(&turned, &c) || len(turned.left(first, planned)) != len(first) {
		t.Errorf("in turns: %+v, %d left", c, len(turned.left(first, planned)))
	}
	var r rates
	r.want(first)
	for _, rec := range recs { // one that is ok is enough, whatever came before and after
		rec.Verdict = map[bool]results.Verdict{true: results.OK, false: results.Invalid}[rec.Rep == 1]
		r.add(rec)
	}
	if c := planned[0].Cell; refused(&r, &c) || len(r.left(first, planned)) != 4 {
		t.Errorf("one of three was ok: %+v, %d left", c, len(r.left(first, planned)))
	}
}

// A calibration run that something else spoilt is made again in its place, twice at most, and not
// counted with the runs of the same cell in the plan.
func TestSpoiltCalibrationIsReplaced(t *testing.T) {
	never := -1.0
	s := &Session{Again: &again{}, Gates: plan.Gates{ForeignCores: &never}}
	run := func(calibrates bool) *results.Record {
		r := &results.Record{Cell: plan.Cell{RX: "tcp", TX: "tcp"}, Verdict: results.OK, Warmup: calibrates}
		if calibrates {
			r.Flags = []string{results.FlagCalibration}
		}
		r.SUT.Metrics = []measure.Metric{{Name: measure.MetricForeignCores, Of: []string{"0"}, Value: 1}}
		s.judge(r)
		return r
	}
	for _, calibrates := range []bool{true, false} {
		for try, want := range []bool{true, true, false} {
			r := run(calibrates)
			if r.Verdict != results.Invalid || r.Gate != plan.ByEnvironment {
				t.Fatalf("calibration %v beside foreign load: %s by %s", calibrates, r.Verdict, r.Gate)
			}
			if got := s.Again.wants(r, s.Gates.Replacements()); got != want {
				t.Errorf("calibration %v, try %d: made again %v", calibrates, try, got)
			}
		}
	}
	warm := run(true)
	warm.Flags = nil
	if warm.Spoilt() {
		t.Error("a warm-up is made again")
	}
}

// Without a calibration a share is no pace: the cell is not run as fast as it can be instead.
func TestShareOfNothing(t *testing.T) {
	var r rates
	c := plan.Cell{RX: "tcp", PacePercent: 50}
	if m, v := r.settle(&c); m == nil || v != results.Failed ||
		!strings.Contains(m.Reason, "no calibration run was made") || m.Fix == "" {
		t.Errorf("%s: %+v", v, m)
	}
	r.add(results.Record{Cell: plan.Cell{RX: "tcp"}, Flags: []string{results.FlagCalibration}, Verdict: results.OK,
		SUT: results.Host{ThroughputGbps: new(.0015)}})
	if m, v := r.settle(&c); m == nil || v != results.Unsupported || !strings.Contains(m.Reason, "below 1M") {
		t.Errorf("%s: %+v", v, m)
	}
}

// Every sender paces: in all its life no flow has more than was due. Runs that missed their
// pace, whatever kept them, say so; and by a share all have one rate, from the calibration.
func TestIntegrationPace(t *testing.T) {
	kind.Timed(t)
	_, _ = paces(t, false)
}

// Where nothing else has the CPUs, nine of ten runs hold 25, 50 and 75 % to 1 %. Where something
// else has them, it tries again.
func TestIntegrationPaceIsKept(t *testing.T) {
	kind.Timed(t)
	long.Test(t)
	asked, held := 0, 0
	for round := 1; asked < 20; round++ {
		if round > 3 {
			t.Fatalf("of three times 30 runs %d had their CPUs for themselves, and a window read in time: no 20", asked)
		}
		a, h := paces(t, true)
		asked, held = asked+a, held+h
	}
	if 10*held < 9*asked {
		t.Errorf("%d of %d runs held their pace, want nine of ten", held, asked)
	}
}

// paces makes runs of all senders and shares. Of those by a share so many were asked whether they
// are kept, having had their CPUs, and so many kept them.
func paces(t *testing.T, many bool) (asked, held int) {
	repetitions := 1
	if many {
		repetitions = 10
	}
	r := newRig(t)
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 300*time.Millisecond, 100*time.Millisecond
	var all []matrix.Run
	const pace = 100e6
	for _, tx := range []string{"tcp", "sendfile", "uring", "msg-zerocopy", "uring-zc"} {
		all = append(all, matrix.Run{Cell: plan.Cell{ID: tx, RX: "tcp", TX: tx, MessageBytes: 1 << 20,
			PaceBitsPS: pace}})
	}
	s := sharesSpec(t, fmt.Sprintf("name: x\nfactors: {rx: tcp, tx: tcp, pace: [25%%, 50%%, 75%%], message: "+
		"1M}\nrepetitions: %d\nwarmup: false\n", repetitions))
	if many {
		r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 4*time.Second, 500*time.Millisecond
	}
	recs, err := r.Play(t.Context(), slices.Concat(calibration(s, anyCell), all, s.Runs()))
	if err != nil {
		t.Fatal(err)
	}
	of, tooLate := results.Calibrate(recs), 0
	for _, rec := range recs {
		if rec.Calibrates() && late(t, rec) {
			tooLate++
		}
	}
	if of == nil || of.Runs != calibrationRuns-tooLate {
		t.Fatalf("%+v, %d late", of, tooLate)
	}
	inTime := 0
	for _, rec := range recs {
		if late(t, rec) {
			continue
		}
		if rec.Cell.PaceBitsPS != 0 {
			inTime++
		}
		if rec.SUT.ThroughputGbps == nil {
			t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
			continue
		}
		flagged := slices.Contains(rec.Flags, results.FlagOffPace)
		if rec.Verdict == results.OK && flagged != rec.OffPace() {
			t.Errorf("%s: %g Gbit/s at a pace of %d: %v", rec.Cell.ID, *rec.SUT.ThroughputGbps, rec.Cell.PaceBitsPS,
				rec.Flags)
		}
		if d := rec.SUT.Delivery; (d != nil) != (rec.Cell.PaceBitsPS != 0) || rec.TG.Delivery != nil || d != nil &&
			(d.Count == 0 || *d.P50Us > 1.1e6) {
			t.Errorf("%s: delivery %+v", rec.Cell.ID, d)
		}
		if p := rec.Cell.PacePercent; p != 0 {
			if rec.Cell.PaceBitsPS != of.Share(p) {
				t.Errorf("%s: paced to %d, want %d", rec.Cell.ID, rec.Cell.PaceBitsPS, of.Share(p))
			}
			t.Logf("%s: %+.2f %%, limit %q, %v", rec.Cell.ID, 100**rec.PaceError(), judge.FindLimit(&rec),
				rec.SUT.Delivery.Metrics())
			if !alone(rec) {
				continue
			}
			asked++
			if !rec.OffPace() {
				held++
			}
		}
		if rec.Cell.PaceBitsPS == pace {
			// The flow's life: what it took to connect and to end is not paced, and far shorter.
			o := r.Runner.Opt
			life := (o.RampUp + o.Duration + o.RampDown + time.Second).Seconds()
			if got := float64(*rec.TG.TotalBytes) * 8; got > pace*life {
				t.Errorf("%s sent %g bits in %g s at a pace of %g", rec.Cell.TX, got, life, float64(pace))
			}
		}
	}
	if inTime < 3 { // where one of five is late, fewer of fourteen are never seen
		t.Errorf("%d runs with a pace were in time", inTime)
	}
	return asked, held
}

// alone tells that nothing else had a flow's CPUs for long in its window: sender and receiver of
// 75 % need them both. Others' time is 0 there on a machine without other work, and a hypervisor
// takes up to 4 % of virtual machines, which paces bear.
func alone(rec results.Record) bool {
	for _, h := range []results.Host{rec.SUT, rec.TG} {
		for _, m := range h.Metrics {
			if m.Name == measure.MetricForeignCores && m.Value > .01 || m.Name == "cpu_steal_cores" && m.Value > .05 {
				return false
			}
		}
	}
	return true
}

// What is off its pace says so, and by how much; what is faster says what made it so, where turns
// were left out.
func TestMarkPace(t *testing.T) {
	for _, x := range []struct {
		gbps, left float64
		say        string
	}{
		{10, 0, ""}, {10.05, 3, ""}, {9.5, 0, "missed its pace: 9.5 of 10 Gbit/s (-5.0 %)"},
		{9.5, 3, "missed its pace: 9.5 of 10 Gbit/s (-5.0 %)"},
		{10.5, 0, "was faster than its pace: 10.5 of 10 Gbit/s (+5.0 %)"},
		{10.5, 3, "was faster than its pace: 10.5 of 10 Gbit/s (+5.0 %): it caught up with what was due in 3 turns " +
			"that are left out"},
	} {
		rec := results.Record{Verdict: results.OK, Cell: plan.Cell{PaceBitsPS: 10e9}}
		rec.SUT.ThroughputGbps = &x.gbps
		rec.SUT.Metrics = []measure.Metric{{Name: "turns_left_out", Value: x.left}}
		markPace(&rec, matrix.Run{})
		if got := strings.Join(rec.Warnings, "; "); got != x.say ||
			slices.Contains(rec.Flags, results.FlagOffPace) != (x.say != "") {
			t.Errorf("%g Gbit/s, %g turns left out: %q, %v", x.gbps, x.left, got, rec.Flags)
		}
	}
}
