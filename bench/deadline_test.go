// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// No run begins that would not be over in time: by the plan, or by the longest so far.
func TestTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Session{Runner: &Runner{Opt: Options{Duration: time.Second, RampUp: 100 * time.Millisecond}},
			Missing: func(c plan.Cell) *Missing {
				if c.ID == "no" {
					return &Missing{}
				}
				return nil
			}}
		run, no := matrix.Run{Cell: plan.Cell{ID: "yes"}}, matrix.Run{Cell: plan.Cell{ID: "no"}}
		if s.tooLate(run) {
			t.Error("too late, without a limit")
		}
		s.Until = time.Now().Add(2 * time.Second)
		if s.tooLate(run) {
			t.Error("2 s are too little for a run of 1.1 s")
		}
		s.longest = 3 * time.Second
		if !s.tooLate(run) {
			t.Error("2 s are enough where runs take 3 s")
		}
		s.longest = 0
		time.Sleep(time.Second)
		if !s.tooLate(run) || s.tooLate(no) {
			t.Error("a second is enough for a run of 1.1 s, or too little for one that cannot run")
		}
		if s.outOfTime() != nil {
			t.Error("out of time, and nothing was left out")
		}
		s.unmade = 2
		if err := s.outOfTime(); !errors.Is(err, ErrTime) || err.Error() != "the time was up: 2 runs were not made" {
			t.Error(err)
		}
	})
}

// A plan that does not fit ends with what fits, and what cannot run is on record all the same.
func TestIntegrationUntil(t *testing.T) {
	r := newRig(t)
	r.Missing = func(c plan.Cell) *Missing {
		if c.ID == "no" {
			return &Missing{Reason: "it cannot", Fix: ""}
		}
		return nil
	}
	no := cell("tcp", "uring")
	no.ID = "no"
	r.bounded(1 << 20)
	r.heard.onBegin = func(n int) {
		if n == 1 {
			r.Until = time.Now()
		}
	}
	recs, err := r.Play(t.Context(), append(interleaved(60, cell("tcp", "tcp")), interleaved(1, no)...))
	if !errors.Is(err, ErrTime) {
		t.Error(err)
	}
	if n := len(recs); n != 3 || recs[n-1].Verdict != results.Unsupported {
		t.Errorf("%d runs, of which two are made by that time, and one cannot run", n)
	}
}

// A search that takes longer than usual is given up when there is no time for one trial more: its
// trials are in the journal, and its run says so.
func TestIntegrationUntilSearch(t *testing.T) {
	r := newRig(t)
	r.LossFree = matrix.LossFree{Limit: .99, Resolution: .5, Confirm: 1000, Trials: 2000} // what never ends
	c := plan.Cell{ID: "udp/udp", RX: "udp", TX: "udp", MessageBytes: 64, LossFree: true}
	r.heard.onBegin = func(n int) {
		if n == 2 {
			r.Until = time.Now()
		}
	}
	rec, trials, err := r.search(await.Context(t), matrix.Run{Cell: c})
	if err = errors.Join(err, r.Runner.Restore()); err != nil {
		t.Fatalf("%d trials: %v", len(trials), err)
	}
	f := rec.LossFree
	if f == nil || !f.GivenUp || f.Trials != len(trials)+1 || len(trials) != 2 || rec.Tries() || rec.Warmup {
		t.Fatalf("%+v, %d trials before, %q: %s", f, len(trials), rec.Flags, rec.Reason)
	}
	if rec.FailedGate() != plan.ByProof ||
		!strings.HasPrefix(rec.Reason, fmt.Sprintf("the time was up after %s of the search",
			counted(f.Trials, "trial", "trials"))) || rec.Fix == "" {
		t.Errorf("%s: %s", rec.Verdict, rec.Reason)
	}
	if n := len(r.journal(t)); n != len(trials) {
		t.Errorf("%d trials in the journal, want %d", n, len(trials))
	}
}
