// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/zcbench/zcbench/internal/kind"
)

// An account is what came of the tests of all lanes. The zero account is ready.
type account struct {
	mu      sync.Mutex
	running map[id]*result
	counted counts
	failed  []*result // tests and packages, in the order of their ends
	flaky   []*result // with the log of the first time
	unclear []*result // undecided
	skipped []*result
	words   []string // to be printed: packages that have ended
}

// counts are of tests with their subtests.
type counts struct{ passed, failed, skipped int }

// id is a test of a lane, or, without a name, a package.
type id struct{ lane, pkg, test string }

func (i id) String() string {
	s := fmt.Sprintf("%s [%s]", short(i.pkg), i.lane)
	if i.test != "" {
		s += ": " + i.test
	}
	return s
}

// A result is a test's, or a package's, while it runs and at its end.
type result struct {
	id
	elapsed float64 // seconds
	output  []string
	build   []string // of a package: what the compiler said
	bad     bool     // of a package: one of its tests has failed
	crashed bool     // it ended its whole program
	why     string   // it was skipped, or is undecided
}

// most is how many lines of a test are kept: the first half, and the last.
const most = 400

func (r *result) add(line string) {
	if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
		r.crashed = true
	}
	if _, why, ok := strings.Cut(line, kind.Undecided); ok {
		r.why = kind.Undecided + strings.TrimSpace(why)
	}
	if r.output = append(r.output, line); len(r.output) > most {
		mid := most / 2
		r.output[mid] = "    [...]\n"
		r.output = append(r.output[:mid+1], r.output[mid+2:]...)
	}
}

// of returns the function that takes a lane's events.
func (a *account) of(lane string) func(event) {
	return func(e event) { a.take(lane, e, a.end) }
}

// take takes an event; end is told of each test that has ended.
func (a *account) take(lane string, e event, end func(r *result, action string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running == nil {
		a.running = map[id]*result{}
	}
	pkg := e.Package
	if pkg == "" { // of a build: "PATH [PATH.test]"
		pkg, _, _ = strings.Cut(e.ImportPath, " ")
	}
	at := id{lane, pkg, e.Test}
	r := a.running[at]
	if r == nil {
		r = &result{id: at}
		a.running[at] = r
	}
	switch {
	case e.Action == "expect": // see lane.sh: a test that has to run
	case e.Action == "build-output":
		r.build = append(r.build, e.Output)
	case e.Action == "output":
		r.add(e.Output)
	case e.ends():
		r.elapsed = e.Elapsed
		delete(a.running, at)
		if e.Test == "" {
			a.unended(lane, pkg)
			a.endPackage(r, e)
			return
		}
		if e.Action == "fail" {
			a.failing(lane, pkg)
		}
		end(r, e.Action)
	}
}

// failing notes in a package that one of its tests has failed.
func (a *account) failing(lane, pkg string) {
	at := id{lane: lane, pkg: pkg}
	if a.running[at] == nil {
		a.running[at] = &result{id: at}
	}
	a.running[at].bad = true
}

// end takes the end of a test.
func (a *account) end(r *result, action string) {
	switch action {
	case "pass":
		a.counted.passed++
	case "skip":
		a.counted.skipped++
		r.why = reason(r.output)
		a.skipped = append(a.skipped, r)
	case "fail":
		a.counted.failed++
		a.failed = append(a.failed, r)
		a.words = append(a.words, r.log())
	}
}

// unended takes tests that began, or were expected, and did not end before their package did, or
// their lane where no package is named: the program died, or never ran them.
func (a *account) unended(lane, pkg string) (n int) {
	for at, r := range a.running {
		if at.lane != lane || pkg != "" && at.pkg != pkg || at.test == "" {
			continue
		}
		delete(a.running, at)
		a.failing(lane, at.pkg)
		r.output = append(r.output, "it did not end, or did not run\n")
		a.crash(r)
		n++
	}
	return n
}

// leave takes the end of a lane, and returns how many of its tests and packages did not end. A lane
// that was told to end has such, which are no failures.
func (a *account) leave(lane string, whole bool) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if whole {
		n = a.unended(lane, "")
	}
	for at, r := range a.running {
		if at.lane != lane {
			continue
		}
		delete(a.running, at)
		if whole && len(r.output) > 0 && r.build == nil {
			r.output = append(r.output, "the package did not end\n")
			a.crash(r)
			n++
		}
	}
	return n
}

// endPackage takes the end of a package. One that fails although none of its tests has, or says
// more than that, is a failure of its own: it did not build, or its program crashed.
func (a *account) endPackage(r *result, e event) {
	mark := map[string]string{"pass": "ok", "skip": "-", "fail": "FAILED"}[e.Action]
	own := e.Action == "fail" && (!r.bad || r.crashed || complains(r.output))
	if timedLane(r.lane) && e.Action == "fail" && !own {
		mark = "again" // or undecided: not known yet
	}
	if e.Action != "skip" && len(r.output) > 0 { // else it has no tests
		a.words = append(a.words, fmt.Sprintf("%-6s %s (%.1f s)\n", mark, r.id, e.Elapsed))
	}
	if !own {
		return
	}
	path, _, _ := strings.Cut(e.FailedBuild, " ")
	if b := a.running[id{lane: r.lane, pkg: path}]; path != "" && b != nil {
		r.build = append(r.build, b.build...)
		delete(a.running, b.id)
	}
	a.crash(r)
}

// complains reports whether a package that failed with a test said more than that: a kernel that
// complained of it in the lab, a check at the end of its program.
func complains(output []string) bool {
	return slices.ContainsFunc(output, func(line string) bool {
		line = strings.TrimSpace(line)
		return !noise(line) && line != "exit status 1" && !strings.HasPrefix(line, "FAIL\t") &&
			!strings.HasPrefix(line, "ok  \t") && !strings.HasPrefix(line, "-test.shuffle ")
	})
}

// crash takes a failure that is of no test.
func (a *account) crash(r *result) {
	a.counted.failed++
	a.failed = append(a.failed, r)
	a.words = append(a.words, r.log())
}

// log formats a failure for people.
func (r *result) log() string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s (%.2f s)\n", r.id, r.elapsed)
	for _, line := range append(r.build, r.output...) {
		if !noise(line) {
			b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	return b.String()
}

// events are lines that say what the events do.
var events = regexp.MustCompile(`^(PASS|FAIL|testing: warning: no tests to run|coverage: .*|=== (RUN|PAUSE|CONT|` +
	`NAME) .*|--- (PASS|FAIL|SKIP): .* \([\d.]+s\))$`)

// noise reports whether a line is one of them, or empty.
func noise(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || events.MatchString(line)
}

// place is where testing says that a message comes from.
var place = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// reason extracts what a test said of why it is skipped.
func reason(output []string) string {
	var why string
	for _, line := range output {
		if noise(line) {
			continue
		}
		if place.MatchString(line) || why == "" {
			why = ""
		} else {
			why += " "
		}
		why += strings.TrimSpace(place.ReplaceAllString(line, ""))
	}
	if why == "" {
		return "no reason given"
	}
	return why
}

// counts returns the counts up to now.
func (a *account) counts() counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counted
}

// print prints which packages have ended since, and what failed in them.
func (a *account) print(to *lines) {
	a.mu.Lock()
	words := a.words
	a.words = nil
	a.mu.Unlock()
	for _, w := range words {
		to.print([]byte(w))
	}
}
