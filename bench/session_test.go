// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// threeCells is a plan of three cells, of which one verifies, with a warm-up each.
func threeCells() []matrix.Run {
	verify := cell("tcp", "sendfile")
	verify.ID, verify.Touch = "verify", "verify"
	return matrix.Interleave([]plan.Cell{cell("tcp", "tcp"), verify, cell("tcp-trunc", "tcp")}, 1, true, 1)
}

func TestIntegrationPlay(t *testing.T) {
	r := newRig(t)
	r.bounded(4 << 20)
	begun := time.Now()
	recs, err := r.Play(t.Context(), threeCells())
	if err != nil {
		t.Fatal(err)
	}
	if len(recs) != 6 || r.heard.planned != 6 || r.heard.ended != 1 || r.heard.begun != 6 {
		t.Errorf("%d records; planned %d, begun %d, ended %d", len(recs), r.heard.planned, r.heard.begun, r.heard.ended)
	}
	ids := map[string]bool{}
	for i, rec := range recs {
		if rec.Verdict != results.OK || rec.Reason != "" {
			t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
			continue
		}
		if ids[rec.RunID] || rec.Seq != i || rec.SessionID != r.Runner.Session || rec.Warmup != (i < 3) ||
			rec.Schema != results.SchemaVersion {
			t.Errorf("run %d: %+v", i, rec)
		}
		ids[rec.RunID] = true
		const ahead = int64(time.Second) // a run is to start a moment after it is asked for
		if ns := rec.StartUTCNs; ns < begun.UnixNano() || ns > time.Now().UnixNano()+ahead {
			t.Errorf("run %d began at %v, the plan at %v", i, time.Unix(0, ns), begun)
		}
		if *rec.SUT.TotalBytes != *rec.TG.TotalBytes || *rec.SUT.TotalBytes == 0 {
			t.Errorf("%s: %d bytes received, %d sent", rec.Cell.ID, *rec.SUT.TotalBytes, *rec.TG.TotalBytes)
		}
		if (rec.SUT.Mismatches != nil) != (rec.Cell.Touch == "verify") || rec.SUT.Mismatches != nil &&
			*rec.SUT.Mismatches != 0 {
			t.Errorf("%s: mismatches %v", rec.Cell.ID, rec.SUT.Mismatches)
		}
		if !slices.Contains(rec.Flags, results.FlagSharedMachine) {
			t.Errorf("%s: flags %v", rec.Cell.ID, rec.Flags)
		}
	}
	if n := len(r.journal(t)); n != len(recs) {
		t.Errorf("%d records in the journal, %d made", n, len(recs))
	}
}

// The figures of a window are whole, and such as its length and the pace let them be.
func TestIntegrationPlayWindows(t *testing.T) {
	kind.Timed(t)
	r := newRig(t)
	recs, err := r.Play(t.Context(), threeCells())
	if err != nil {
		t.Fatal(err)
	}
	inTime := 0
	for _, rec := range recs {
		if late(t, rec) {
			continue
		}
		if inTime++; rec.Verdict != results.OK || rec.Reason != "" {
			t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
			continue
		}
		complete(t, rec, "sut", rec.SUT)
		complete(t, rec, "tg", rec.TG)
		// Both windows are one: what was sent in it was received in it, but for
		// what was under way at its edges.
		if a, b := float64(*rec.SUT.Bytes), float64(*rec.TG.Bytes); a < 0.5*b || a > 2*b {
			t.Errorf("%s: windows differ: %g bytes received, %g sent", rec.Cell.ID, a, b)
		}
		if got := *rec.SUT.ThroughputGbps; got > 2.5 || got <= 0 {
			t.Errorf("%s: %g Gbit/s at a pace of 2", rec.Cell.ID, got)
		}
	}
	if inTime == 0 {
		t.Errorf("none of %d windows was in time", len(recs))
	}
}

// lateTries is how often a run is made until its window is in time, each time with twice the time
// of the last: ends that get their CPUs a tenth of a second late, as they do beside busy loops,
// miss a window of 200 ms that comes 50 ms after the start, and not one 64 times as long.
const lateTries = 7

// inTime is a run whose window was in time, whatever else became of it. One of a few must be: else
// nothing was seen of what the test is about. before is called before each.
func (r *rig) inTime(t *testing.T, run matrix.Run, before ...func()) results.Record {
	t.Helper()
	return r.seen(t, run, func(*results.Record) bool { return true }, before...)
}

// seen is a run inTime in which, if it is well, so much has come that the test can tell: on a busy
// machine that may take a longer window, too. The last one is what it is.
func (r *rig) seen(t *testing.T, run matrix.Run, enough func(*results.Record) bool,
	before ...func()) (rec results.Record) {
	t.Helper()
	defer func(was Options) { r.Runner.Opt = was }(r.Runner.Opt)
	for try := range lateTries {
		for _, f := range before {
			f()
		}
		rec = r.Runner.Run(t.Context(), run)
		tell := !late(t, rec) && !starved(t, rec) && (rec.Verdict != results.OK || enough(&rec))
		if tell || try == lateTries-1 && !late(t, rec) {
			return rec
		}
		r.longer()
	}
	t.Fatalf("%s: none of %d runs was in time, the last: %s", run.Cell.ID, lateTries, rec.Reason)
	return rec
}

// playLonger plays a run of packets, with longer windows until it was in time and brought some. The
// last one is what it is. before is called before each.
func (r *rig) playLonger(t *testing.T, run matrix.Run, before func()) []results.Record {
	t.Helper()
	defer func(was Options) { r.Runner.Opt = was }(r.Runner.Opt)
	for try := 1; ; try++ {
		before()
		recs, err := r.Play(t.Context(), []matrix.Run{run})
		if err != nil {
			t.Fatal(err)
		}
		rec := recs[len(recs)-1]
		few := rec.Verdict == results.OK && (*rec.SUT.Packets.Sent < 1000 || *rec.SUT.Packets.Received < 100)
		if try == lateTries || !few && !late(t, rec) && !starved(t, rec) {
			return recs
		}
		r.longer()
	}
}

// longer doubles the time of the runs that come.
func (r *rig) longer() {
	r.Runner.Opt.RampUp *= 2
	r.Runner.Opt.Duration *= 2
}

// starved says that nothing passed in a run: its threads may have had no CPU. Else another one,
// which is longer, says the same.
func starved(t *testing.T, rec results.Record) bool {
	t.Helper()
	if rec.Verdict != results.Invalid || !strings.Contains(rec.Reason, "no payload was transferred") {
		return false
	}
	t.Logf("%s: %s", rec.Cell.ID, rec.Reason)
	return true
}

// late says that the machine was too busy with something else for the window of this
// run: its edges were read late, or before the flow was open. All else of it holds.
func late(t *testing.T, rec results.Record) bool {
	t.Helper()
	if rec.Verdict != results.Invalid || !strings.Contains(rec.Reason, "its edges ") {
		return false
	}
	t.Logf("%s: %s", rec.Cell.ID, rec.Reason)
	return true
}

func complete(t *testing.T, rec results.Record, name string, h results.Host) {
	t.Helper()
	if h.Name != name {
		t.Errorf("%s: host %q, want %q", rec.Cell.ID, h.Name, name)
	}
	// In so short a window the columns may not have ticked once: then the split
	// is not known, all of it.
	split := h.CPUAppCores != nil || h.CPUSysCores != nil || h.CPUSoftCores != nil
	for what, p := range map[string]*float64{"duration": h.DurationS, "throughput": h.ThroughputGbps,
		"app": h.CPUAppCores, "sys": h.CPUSysCores,
		"soft": h.CPUSoftCores, "busy": h.CPUBusyCores, "iowait": h.IOWaitCores, "coverage": h.StatCoverage} {
		if p == nil && !split && (what == "app" || what == "sys" || what == "soft") {
			continue
		}
		if p == nil {
			t.Errorf("%s, %s: no %s", rec.Cell.ID, name, what)
		} else if what != "coverage" && what != "duration" && what != "throughput" && (*p < 0 || *p > 1.05) {
			t.Errorf("%s, %s: %s is %g cores of one measured", rec.Cell.ID, name, what, *p)
		}
	}
	if h.DurationS != nil && (*h.DurationS < 0.14 || *h.DurationS > 0.4) {
		t.Errorf("%s, %s: a window of %g s, want 0.2", rec.Cell.ID, name, *h.DurationS)
	}
	if h.Bytes == nil || h.TotalBytes == nil || *h.Bytes == 0 || *h.TotalBytes < *h.Bytes || h.Retrans == nil {
		t.Errorf("%s, %s: bytes %v of %v, retrans %v", rec.Cell.ID, name, h.Bytes, h.TotalBytes, h.Retrans)
	}
	if e := h.Env; e.Kernel == "" || e.BootID == "" || e.Congestion == "" || e.Driver != "veth" || e.AppCPU == "" ||
		e.ToolVersion == "" {
		t.Errorf("%s, %s: environment lacks something: %+v", rec.Cell.ID, name, e)
	}
	if len(h.Metrics) < 10 || len(h.Series) == 0 {
		t.Errorf("%s, %s: %d metrics, %d series", rec.Cell.ID, name, len(h.Metrics), len(h.Series))
	}
	for _, s := range h.Series {
		if len(s.T) != len(s.V) || len(s.T) < 3 || !slices.IsSorted(s.T) {
			t.Errorf("%s, %s: series %s has %d times, %d values", rec.Cell.ID, name, s.Name, len(s.T), len(s.V))
		}
	}
}

func TestEstimate(t *testing.T) {
	o := Options{Duration: time.Second, RampUp: 100 * time.Millisecond, RampDown: 100 * time.Millisecond,
		WarmupDuration: 500 * time.Millisecond}
	s := &Session{Runner: &Runner{Opt: o}, Missing: func(c plan.Cell) *Missing {
		if c.ID == "no" {
			return &Missing{}
		}
		return nil
	}}
	got := s.estimate(matrix.Interleave([]plan.Cell{{ID: "yes"}, {ID: "no"}}, 2, true, 1))
	if want := 2*1200*time.Millisecond + 700*time.Millisecond + 3*(overhead+startDelay); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	// The agents are started anew before the second block, and for a replay.
	s.Renewal = time.Second
	s.StartsAnew = true
	all := matrix.Interleave([]plan.Cell{{ID: "yes"}, {ID: "no"}}, 2, true, 1)
	if anew := s.estimate(all); anew != got+time.Second {
		t.Errorf("%v, started anew %v", got, anew)
	}
	s.StartsAnew = false
	replayed := slices.Clone(all)
	for i := range replayed {
		replayed[i].Replay = 1
	}
	if both := s.estimate(slices.Concat(all, replayed)); both != 2*got+time.Second {
		t.Errorf("%v, replayed %v", got, both)
	}
	s.Renewal = 0
	// A rest before the first run that counts and after both.
	s.Runner.Power = &PowerMeter{opt: PowerOptions{Idle: 10 * time.Second, Guard: 2 * time.Second}}
	if with := s.estimate(matrix.Interleave([]plan.Cell{{ID: "yes"}, {ID: "no"}}, 2, true, 1)); with != got+
		36*time.Second {
		t.Errorf("with power %v, without %v", with, got)
	}
}

// A cell that has run is never unsupported, neither in the session nor after a resume: what it was
// refused then had to do with the moment, and its run is made again.
func TestWhatRanIsSupported(t *testing.T) {
	rec := func(tx string, v results.Verdict) results.Record {
		return results.Record{Cell: cell("tcp", tx), Verdict: v, Reason: "mmap: cannot allocate memory (ENOMEM)",
			Fix: "wait"}
	}
	for name, before := range map[string]results.Verdict{"ok": results.OK, "invalid": results.Invalid} {
		var s Session
		ran := rec("tcp", before)
		s.judge(&ran)
		var resumed Session
		resumed.know([]results.Record{ran})
		for how, s := range map[string]*Session{"in the session": &s, "after a resume": &resumed} {
			refused, other := rec("tcp", results.Unsupported), rec("sendfile", results.Unsupported)
			s.judge(&refused)
			s.judge(&other)
			if refused.Verdict != results.Failed || !strings.Contains(refused.Reason, "ENOMEM") ||
				!strings.Contains(refused.Reason, "ran here before") || refused.Fix != "wait" {
				t.Errorf("%s, %s: %+v", name, how, refused)
			}
			if other.Verdict != results.Unsupported {
				t.Errorf("%s, %s: a cell that never ran: %+v", name, how, other)
			}
			if left, _ := remaining(interleaved(1, cell("tcp", "tcp")), []results.Record{refused}, nil,
				0, false); len(left) != 1 {
				t.Errorf("%s, %s: not made again", name, how)
			}
		}
	}
	var s Session
	for _, v := range []results.Verdict{results.Failed, results.Unsupported} { // it did not run
		r := rec("tcp", v)
		if s.judge(&r); r.Verdict != v {
			t.Errorf("%s became %s", v, r.Verdict)
		}
	}
}
