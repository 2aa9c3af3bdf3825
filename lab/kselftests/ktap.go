// SPDX-License-Identifier: MIT

package kselftests

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/lazy"
)

// Outcome is how a case of a test ended.
type Outcome string

// The outcomes of KTAP (Documentation/dev-tools/ktap.rst). XFail is a failure that the
// test itself expects.
const (
	pass  Outcome = "pass"
	skip  Outcome = "skip"
	xFail Outcome = "xfail"
	fail  Outcome = "fail"
)

// flips is on record of a case that passes in one run and fails in the next, by what nobody
// here decides, such as how much the emulation of a timer's interrupt takes.
const flips Outcome = "pass/fail"

// Case is one case of a test, and what it said.
type Case struct {
	Name    string
	Outcome Outcome
	Reason  string // a line; empty for a pass
}

// Names of cases that no test has: what befell the test as a whole.
const (
	whole  = "(whole test)" // it said nothing that is KTAP, or not all of it
	kernel = "(kernel)"     // the guest's kernel complained
)

// End is how the run of a test ended.
type End struct {
	Exit   int           // exit status
	Limit  time.Duration // the time limit, if it was over
	Kernel string        // the kernel's complaint, or what else went wrong with the machine
}

// skipStatus is the exit status of a selftest that skips as a whole (ksft.h).
const skipStatus = 4

var (
	result = lazy.Regexp(`^(not )?ok ([0-9]+) (.*?)(?: # (SKIP|XFAIL)\b ?(.*))?$`)
	plan   = lazy.Regexp(`^1\.\.([0-9]+)`)
)

// Read reads what a test wrote, and how it ended. A test that did not get to its end
// has a case more that says so: its exit status alone would hide which.
func Read(test, output string, end End) []Case {
	r := reader{name: strings.TrimSuffix(test[strings.LastIndex(test, "/")+1:], ".py") + "."}
	for line := range strings.Lines(output) {
		r.line(strings.TrimRight(line, "\r\n"))
	}
	cases := r.cases
	if c, ok := r.short(end); ok {
		cases = append(cases, c)
	}
	if end.Kernel != "" {
		cases = append(cases, Case{kernel, fail, end.Kernel})
	}
	return cases
}

// reader goes through the lines of a test.
type reader struct {
	name    string // the test's, before that of each case
	planned int    // cases
	cases   []Case
	check   string // the first check that failed since the last result
	raised  string // the last line of the last exception since
	last    string // the last line of all
}

func (r *reader) line(s string) {
	if strings.TrimSpace(s) != "" {
		r.last = s
	}
	if m := plan().FindStringSubmatch(s); m != nil {
		r.planned, _ = strconv.Atoi(m[1])
		return
	}
	if m := result().FindStringSubmatch(s); m != nil {
		r.result(m)
		return
	}
	switch note, ok := strings.CutPrefix(s, "# "); {
	case !ok:
	case strings.HasPrefix(note, "Check failed") && r.check == "":
		r.check = note
	default:
		for _, p := range []string{"Exception| ", "Defer Exception| "} {
			if t, ok := strings.CutPrefix(note, p); ok && exceptionLine(t) {
				r.raised = strings.TrimSpace(t)
			}
		}
	}
}

// exceptionLine reports whether a line of a traceback says what was raised: those of the
// stack are indented, and what a command printed comes below.
func exceptionLine(s string) bool {
	return s != "" && s[0] != ' ' && !strings.HasPrefix(s, "Traceback") && raisedWord().MatchString(s)
}

var raisedWord = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_.]*(Error|Failure|Exception|Ex|Interrupt|Terminate|Expired)\b`)

func (r *reader) result(m []string) {
	c := Case{Name: strings.TrimPrefix(m[3], r.name), Outcome: pass}
	switch {
	case m[4] == "SKIP":
		c.Outcome, c.Reason = skip, m[5]
	case m[4] == "XFAIL":
		c.Outcome, c.Reason = xFail, m[5]
	case m[1] != "":
		c.Outcome, c.Reason = fail, r.check
		if c.Reason == "" {
			c.Reason = r.raised
		}
	}
	r.check, r.raised = "", ""
	r.cases = append(r.cases, c)
}

// short makes the case that stands for what a test did not get to.
func (r *reader) short(end End) (Case, bool) {
	reason := r.raised
	if reason == "" {
		reason = strings.TrimSpace(strings.TrimPrefix(r.last, "#"))
	}
	switch {
	case end.Limit > 0:
		return Case{whole, fail, fmt.Sprintf("not done after %v: %d of %d cases", end.Limit, len(r.cases), r.planned)},
			true
	case end.Exit == skipStatus && len(r.cases) == 0:
		return Case{whole, skip, reason}, true
	case r.planned == 0 || len(r.cases) < r.planned:
		return Case{whole, fail, fmt.Sprintf("exit status %d after %d of %d cases: %s", end.Exit, len(r.cases),
			r.planned, reason)}, true
	}
	return Case{}, false
}
