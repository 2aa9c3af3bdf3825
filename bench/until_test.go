// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/results"
)

// No run begins that would not be over in time: by the plan, or by the longest so far.
func TestTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Session{Runner: &Runner{Opt: Options{Duration: time.Second, RampUp: 100 * time.Millisecond}}, Missing: func(c results.Cell) *Missing {
			if c.ID == "no" {
				return &Missing{}
			}
			return nil
		}}
		run, no := matrix.Run{Cell: results.Cell{ID: "yes"}}, matrix.Run{Cell: results.Cell{ID: "no"}}
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
	r.Missing = func(c results.Cell) *Missing {
		if c.ID == "no" {
			return &Missing{"it cannot", ""}
		}
		return nil
	}
	no := cell("tcp", "uring")
	no.ID = "no"
	r.Until = time.Now().Add(3 * time.Second)
	recs, err := r.Play(t.Context(), append(plan(60, cell("tcp", "tcp")), plan(1, no)...))
	if !errors.Is(err, ErrTime) || time.Now().After(r.Until.Add(2*time.Second)) {
		t.Errorf("%v after the time: %v", time.Since(r.Until), err)
	}
	if n := len(recs); n < 2 || n > 50 || recs[n-1].Verdict != results.Unsupported {
		t.Errorf("%d runs", n)
	}
}
