// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/ktap"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// ksftCourse makes subtests of runs while they are made. A subtest is printed once it and all
// before it have ended, so that they come in the same order every time.
type ksftCourse struct {
	t       *ktap.Writer
	ctx     context.Context // of the runs
	modes   []*ksftMode
	want    int           // runs of each
	limit   time.Duration // of all
	printed int
	again   bool      // the run that is done next is made once more
	begun   time.Time // of the run under way
	length  time.Duration
	stopped bool // by somebody, before the end
}

// ksftMode is a subtest.
type ksftMode struct {
	name   string
	ok     []figures
	ended  bool
	result ktap.Result
}

// figures are what there is to say of a run that is ok.
type figures struct {
	gbps         *float64
	bytes        uint64 // of the whole flow
	copied       *float64
	verified     bool
	flags        []string
	sut, tg, dev string
}

func newKsftCourse(t *ktap.Writer, k *ksft) *ksftCourse {
	s := k.spec
	c := &ksftCourse{t: t, want: s.Repetitions, limit: k.limit, length: s.RampUp + s.Duration + s.RampDown}
	for i := range s.Cells {
		c.modes = append(c.modes, &ksftMode{name: s.Cells[i].ID})
	}
	return c
}

// Plan, Skip, Again and End implement bench.Progress.
func (c *ksftCourse) Plan(runs int, estimate time.Duration) {
	c.t.Note(fmt.Sprintf("%d runs, about %v", runs, estimate.Round(time.Second)))
}
func (c *ksftCourse) Skip(matrix.Run)  {}
func (c *ksftCourse) Again(matrix.Run) { c.again = true }
func (c *ksftCourse) End()             {}

// Begin implements bench.Progress.
func (c *ksftCourse) Begin(matrix.Run) { c.begun = time.Now() }

// Write takes what agents say for people.
func (c *ksftCourse) Write(p []byte) (int, error) {
	for l := range strings.Lines(string(p)) {
		if l = strings.TrimSpace(l); l != "" {
			c.t.Note(l)
		}
	}
	return len(p), nil
}

// Done implements bench.Progress.
func (c *ksftCourse) Done(r results.Record) {
	m := c.mode(r.Cell.ID)
	again := c.again
	if c.again = false; again || m == nil || m.ended || r.Warmup {
		return
	}
	fail := func(s ktap.Status) { m.end(s, cmp.Or(r.Reason, "it gives no reason"), noteFix(r.Fix)...) }
	switch {
	case r.Verdict == results.OK:
		m.ok = append(m.ok, figuresOf(&r))
		if len(m.ok) == c.want {
			m.end(ktap.Pass, "", m.summary()...)
		}
	case r.Verdict == results.Unsupported:
		fail(ktap.Skip)
	case r.Verdict == results.Failed && c.ctx.Err() != nil:
		c.calledOff(m)
	case r.Expected: // nothing is to be fixed
		m.end(ktap.XFail, r.Reason)
	case r.Spoilt():
		m.end(ktap.Skip, "other work on the hosts disturbed it: "+r.Reason, noteFix(r.Fix)...)
	default:
		fail(ktap.Fail)
	}
	c.print()
}

// calledOff ends a mode whose run was under way when the time was up. One that hangs ends by limits
// of its own, and has failed; this one may be slow.
func (c *ksftCourse) calledOff(m *ksftMode) {
	if errors.Is(context.Cause(c.ctx), bench.ErrTime) {
		m.end(ktap.Skip, fmt.Sprintf("no time: its run of %.1f s was not over after %.1f s, when the time of %v was up",
			c.length.Seconds(), time.Since(c.begun).Seconds(), c.limit))
	}
}

func (c *ksftCourse) mode(id string) *ksftMode {
	for _, m := range c.modes {
		if m.name == id {
			return m
		}
	}
	return nil
}

func (m *ksftMode) end(s ktap.Status, reason string, notes ...string) {
	m.ended, m.result = true, ktap.Result{Name: m.name, Status: s, Reason: reason, Notes: notes}
}

func noteFix(fix string) []string {
	if fix == "" {
		return nil
	}
	return []string{"fix: " + fix}
}

// print prints the subtests that have ended, up to the first that has not.
func (c *ksftCourse) print() {
	for c.printed < len(c.modes) && c.modes[c.printed].ended {
		c.t.Write(c.modes[c.printed].result)
		c.printed++
	}
}

// end ends all that have not.
func (c *ksftCourse) end(s ktap.Status, reason string) {
	for _, m := range c.modes {
		if !m.ended {
			m.end(s, reason)
		}
	}
	c.print()
}

// outOfTime ends all that have not, because there was no time.
func (c *ksftCourse) outOfTime() {
	for _, m := range c.modes {
		if !m.ended {
			m.end(ktap.Skip, fmt.Sprintf("no time: %d of %s could be made within %v", len(m.ok), runsText(c.want),
				c.limit))
		}
	}
	c.print()
}

// failAll ends all that have not by an error that they have in common.
func (c *ksftCourse) failAll(what string, err error) {
	c.t.Note(what + ": " + err.Error())
	if fix := fault.Fix(err); fix != "" {
		c.t.Note("fix: " + fix)
	}
	c.end(ktap.Fail, "not run, because of the error above")
}

func runsText(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
