// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// summary prints what came of all tests: failures with their logs, flaky tests, undecided ones,
// what was skipped, by reason, the lanes, and one line of counts. It reports whether nothing has
// failed.
func (r *runner) summary() bool {
	r.brokenLanes()
	r.account.print(r.stdout)
	a := &r.account
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	section(&b, "failed", a.failed, func(f *result) string { return f.log() })
	section(&b, "flaky: failed, and passed when they were run once more, alone; the first log", a.flaky,
		func(f *result) string { return "flaky: " + f.test + "\n" + f.log() })
	section(&b, "undecided: failed while others had the CPUs, which says nothing", a.unclear,
		func(f *result) string { return f.id.String() + ": " + f.why + "\n" + f.log() })
	b.WriteString(skips(a.skipped))
	fmt.Fprintf(&b, "\n%s\n", r.times())
	b.WriteString(names(a.failed))
	fmt.Fprintf(&b, "%d passed, %d failed, %d skipped\n", a.counted.passed, a.counted.failed, a.counted.skipped)
	r.stdout.print([]byte(b.String()))
	return a.counted.failed == 0
}

// section prints a list, if it is not empty.
func section(b *strings.Builder, title string, all []*result, one func(*result) string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n=== %d %s\n", len(all), title)
	for _, r := range all {
		b.WriteString(one(r))
	}
}

// names lists what has failed once more, without logs: who sees the last lines only, as some
// services show them, learns which tests to run.
func names(failed []*result) string {
	var b strings.Builder
	for _, r := range failed {
		fmt.Fprintf(&b, "FAILED %s\n", r.id)
	}
	return b.String()
}

// skips lists the reasons, those of most tests first, each with its tests by their packages.
func skips(all []*result) string {
	if len(all) == 0 {
		return ""
	}
	by := map[string]map[string][]string{} // tests by reason and package
	many := map[string]int{}
	for _, r := range all {
		if by[r.why] == nil {
			by[r.why] = map[string][]string{}
		}
		pkg := id{lane: r.lane, pkg: r.pkg}.String()
		by[r.why][pkg] = append(by[r.why][pkg], r.test)
		many[r.why]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n=== %d skipped, by reason\n", len(all))
	reasons := slices.SortedFunc(maps.Keys(by), func(x, y string) int {
		return cmp.Or(cmp.Compare(many[y], many[x]), cmp.Compare(x, y))
	})
	for _, why := range reasons {
		fmt.Fprintf(&b, "%d: %s\n", many[why], why)
		for _, pkg := range slices.Sorted(maps.Keys(by[why])) {
			tests := by[why][pkg]
			slices.Sort(tests)
			b.WriteString(wrap("    "+pkg+":", tests))
		}
	}
	return b.String()
}

// columns is how wide a list of tests is.
const columns = 100

// wrap writes a list behind a head, on as many lines as it takes.
func wrap(head string, words []string) string {
	var b strings.Builder
	line := head
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if len(line)+1+len(w) > columns && line != head {
			b.WriteString(line + "\n")
			line = "       "
		}
		line += " " + w
	}
	b.WriteString(line + "\n")
	return b.String()
}

// brokenLanes takes lanes that ended with a failure in which no test of theirs did, or in another
// way than lanes do whose tests have.
func (r *runner) brokenLanes() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lanes {
		var exit *exec.ExitError
		usual := errors.As(l.err, &exit) && exit.ExitCode() == 1
		if l.err == nil || usual && r.account.explains(l.name) {
			continue
		}
		why := fmt.Sprintf("ended with a failure (%v); it said last:\n", l.err)
		for _, line := range l.said {
			why += "    " + string(line)
		}
		r.account.broken(l.name, why)
	}
}

// explains reports whether a test of a lane is why it ended with a failure.
func (a *account) explains(lane string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := func(r *result) bool { return r.lane == lane }
	return slices.ContainsFunc(a.failed, of) || slices.ContainsFunc(a.flaky, of) || slices.ContainsFunc(a.unclear, of)
}

// times formats the times of the whole and of each lane, for who wants to know where they went.
func (r *runner) times() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lanes []string
	for _, l := range r.lanes {
		lanes = append(lanes, fmt.Sprintf("%s %.0f/%.0f", l.name, l.took.Seconds(), l.cpu.Seconds()))
	}
	s := fmt.Sprintf("%v in all; lanes, s / s of CPU time: %s", r.took().Round(time.Second), strings.Join(lanes, ", "))
	if r.load != nil {
		s += fmt.Sprintf("\ntimed tests: %v", *r.load)
	}
	return s
}
