// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/starved"
)

const (
	mostAgain     = 5 // tests that are run once more
	mostUndecided = 2 // of a run beside which nothing else ran
)

// A watch begins to look at what else runs on the machine; what it returns says what did since.
type watch func() func() (starved.Load, error)

func watchOthers() func() (starved.Load, error) { return starved.Watch(starved.Self).Load }

// timed runs the lanes of timed tests, one after another, and again what fails in them. A run with
// too many that fail, or that are undecided although nothing else ran, has failed.
func (r *runner) timed(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	all := r.watch()
	again, undecided := 0, 0
	for _, name := range names {
		h := r.hold(name, nil)
		r.lane(ctx, name, "", h.take)
		h.flush()
		for _, failed := range h.failed {
			switch {
			case ctx.Err() != nil || failed.crashed():
				r.account.keep(failed)
			case failed.why != "":
				undecided++
				r.account.undecided(failed)
			case again == mostAgain:
				r.account.keep(failed)
				r.account.note(
					fmt.Sprintf("%s is not run again: %d have been, and a timed test that often fails for no "+
						"reason is broken\n", failed.id, mostAgain))
			default:
				again++
				r.again(ctx, failed)
			}
		}
	}
	if load, err := all(); err == nil {
		r.load = &load
	}
	if undecided > mostUndecided && r.load != nil && r.load.Quiet() {
		r.account.broken(names[0], fmt.Sprintf("%d tests are undecided although nothing else ran (%v): more than %d",
			undecided, r.load, mostUndecided))
	}
}

// again runs a test that has failed once more, and takes the second result. The first failure was
// of a test that nobody starved, so failing again counts, whatever else runs by then.
func (r *runner) again(ctx context.Context, first *failure) {
	r.account.note(fmt.Sprintf("%s has failed, and is run once more, alone\n", first.id))
	h := r.hold(first.lane, first)
	l := r.lane(ctx, first.lane, "./"+short(strings.Fields(first.pkg)[0])+" "+first.test, h.take)
	h.flush()
	switch {
	case len(h.failed) > 0:
		r.account.keep(h.failed[0])
	case !h.passed || l.err != nil || l.unended > 0:
		r.account.keep(first)
		r.account.note(fmt.Sprintf("%s could not be run again\n", first.id))
	default:
		r.account.mend(first)
	}
}

// A failure is that of a test with its subtests, of which the account knows nothing yet.
type failure struct {
	id
	results []*result // the subtests' first
	why     string    // it is undecided
}

// crashed reports whether a test ended its whole program: others have not run then.
func (f *failure) crashed() bool {
	return slices.ContainsFunc(f.results, func(r *result) bool { return r.crashed })
}

// held takes the events of a lane of timed tests, and holds its failures back.
type held struct {
	account *account
	lane    string
	only    *failure                     // what is run again: what else is said is known already
	watch   watch                        // nil: the tests watch for themselves
	load    func() (starved.Load, error) // since the test that runs began
	bad     []*result                    // of the test that runs
	failed  []*failure
	passed  bool
}

// hold makes a lane's held. Tests in a virtual machine do not see what runs beside it.
func (r *runner) hold(lane string, only *failure) *held {
	h := &held{account: &r.account, lane: lane, only: only}
	if strings.Contains(lane, ":") {
		h.watch = r.watch
	}
	return h
}

// timedLane reports whether a lane is one of timed tests.
func timedLane(name string) bool { return name == "timed" || strings.HasPrefix(name, "timed:") }

func (h *held) take(e event) {
	if h.watch != nil && e.Action == "run" && e.Test == e.top() {
		h.load = h.watch()
	}
	h.account.take(h.lane, e, h.end)
}

// end takes the end of a test; subtests end before the test that they are of.
func (h *held) end(r *result, action string) {
	_, _, sub := strings.Cut(r.test, "/")
	if action == "fail" {
		h.bad = append(h.bad, r)
		if !sub {
			h.failed = append(h.failed, &failure{id: r.id, results: h.bad, why: h.undecided()})
			h.bad = nil
		}
		return
	}
	if h.only == nil || action == "skip" && !sub {
		h.account.end(r, action)
	}
	h.passed = h.passed || !sub && action == "pass"
}

// flush takes subtests that have failed whose test did not end.
func (h *held) flush() {
	if len(h.bad) > 0 {
		h.account.keep(&failure{results: h.bad})
		h.bad = nil
	}
}

// undecided explains why the test that has just failed says nothing, "" if it does: by its own
// word, or, for one in a virtual machine, by what ran beside it here.
func (h *held) undecided() string {
	last := len(h.bad) - 1
	top, subs := h.bad[last], h.bad[:last]
	if top.why != "" {
		return top.why
	}
	// Of subtests each must say so: one that does not has failed.
	if last > 0 && !slices.ContainsFunc(subs, func(r *result) bool { return r.why == "" }) {
		return subs[0].why
	}
	if h.load == nil {
		return ""
	}
	if load, err := h.load(); err == nil && load.Starved() {
		return kind.Undecided + load.String()
	}
	return ""
}

// keep takes a failure as one.
func (a *account) keep(f *failure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range f.results {
		a.end(r, "fail")
	}
}

// mend takes a failure for a test that has passed.
func (a *account) mend(f *failure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counted.passed += len(f.results)
	a.flaky = append(a.flaky, f.results...)
}

// undecided takes a failure for one that says nothing.
func (a *account) undecided(f *failure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range f.results {
		r.why = f.why
		a.counted.skipped++
	}
	a.unclear = append(a.unclear, f.results...)
}

// broken takes a failure of a lane as a whole.
func (a *account) broken(lane, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.crash(&result{id: id{lane: lane, pkg: "the lane"}, output: []string{why + "\n"}})
}

// note queues a line to be printed.
func (a *account) note(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.words = append(a.words, line)
}
