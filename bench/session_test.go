// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/results"
)

func TestIntegrationPlay(t *testing.T) {
	r := newRig(t)
	verify := cell("tcp", "sendfile")
	verify.ID, verify.Touch = "verify", "verify"
	recs, err := r.Play(t.Context(), matrix.Interleave([]results.Cell{cell("tcp", "tcp"), verify, cell("tcp-trunc", "tcp")}, 1, true, 1))
	if err != nil {
		t.Fatal(err)
	}
	if len(recs) != 6 || r.heard.planned != 6 || r.heard.ended != 1 || r.heard.begun != 6 {
		t.Errorf("%d records; planned %d, begun %d, ended %d", len(recs), r.heard.planned, r.heard.begun, r.heard.ended)
	}
	ids, inTime := map[string]bool{}, 0
	for i, rec := range recs {
		late := late(t, rec)
		if !late && (rec.Verdict != results.OK || rec.Reason != "") {
			t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
			continue
		}
		if ids[rec.RunID] || rec.Seq != i || rec.SessionID != r.Runner.Session || rec.Warmup != (i < 3) || rec.Schema != results.SchemaVersion {
			t.Errorf("run %d: %+v", i, rec)
		}
		ids[rec.RunID] = true
		if age := time.Since(time.Unix(0, rec.StartUTCNs)); age < 0 || age > time.Minute {
			t.Errorf("run %d began %v ago", i, age)
		}
		if *rec.SUT.TotalBytes != *rec.TG.TotalBytes || *rec.SUT.TotalBytes == 0 {
			t.Errorf("%s: %d bytes received, %d sent", rec.Cell.ID, *rec.SUT.TotalBytes, *rec.TG.TotalBytes)
		}
		if (rec.SUT.Mismatches != nil) != (rec.Cell.Touch == "verify") || rec.SUT.Mismatches != nil && *rec.SUT.Mismatches != 0 {
			t.Errorf("%s: mismatches %v", rec.Cell.ID, rec.SUT.Mismatches)
		}
		if !slices.Contains(rec.Flags, FlagSharedMachine) {
			t.Errorf("%s: flags %v", rec.Cell.ID, rec.Flags)
		}
		if late {
			continue // the rest is of the window
		}
		inTime++
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
	if n := len(r.journal(t)); n != len(recs) {
		t.Errorf("%d records in the journal, %d made", n, len(recs))
	}
}

// lateTries is how often a run is made until its window is in time, each time with twice the time
// of the last: ends that get their CPUs a tenth of a second late, as they do beside busy loops,
// miss a window of 200 ms that comes 50 ms after the start, and not one sixteen times as long.
const lateTries = 5

// inTime is a run whose window was in time, whatever else became of it. One of a few must be: else
// nothing was seen of what the test is about. before is called before each.
func (r *rig) inTime(t *testing.T, run matrix.Run, before ...func()) (rec results.Record) {
	t.Helper()
	defer func(was Options) { r.Runner.Opt = was }(r.Runner.Opt)
	for range lateTries {
		for _, f := range before {
			f()
		}
		if rec = r.Runner.Run(t.Context(), run); !late(t, rec) {
			return rec
		}
		r.Runner.Opt.RampUp *= 2
		r.Runner.Opt.Duration *= 2
	}
	t.Fatalf("%s: none of %d runs was in time, the last: %s", run.Cell.ID, lateTries, rec.Reason)
	return rec
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
	for what, p := range map[string]*float64{"duration": h.DurationS, "throughput": h.ThroughputGbps, "app": h.CPUAppCores, "sys": h.CPUSysCores,
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
	if e := h.Env; e.Kernel == "" || e.BootID == "" || e.Congestion == "" || e.Driver != "veth" || e.AppCPU == "" || e.ToolVersion == "" {
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
	o := Options{Duration: time.Second, RampUp: 100 * time.Millisecond, RampDown: 100 * time.Millisecond, WarmupDuration: 500 * time.Millisecond}
	s := &Session{Runner: &Runner{Opt: o}, Missing: func(c results.Cell) *Missing {
		if c.ID == "no" {
			return &Missing{}
		}
		return nil
	}}
	got := s.estimate(matrix.Interleave([]results.Cell{{ID: "yes"}, {ID: "no"}}, 2, true, 1))
	if want := 2*1200*time.Millisecond + 700*time.Millisecond + 3*(overhead+startDelay); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	// A rest before the first run that counts and after both.
	s.Runner.Power = &PowerMeter{opt: PowerOptions{Idle: 10 * time.Second, Guard: 2 * time.Second}}
	if with := s.estimate(matrix.Interleave([]results.Cell{{ID: "yes"}, {ID: "no"}}, 2, true, 1)); with != got+36*time.Second {
		t.Errorf("with power %v, without %v", with, got)
	}
}
