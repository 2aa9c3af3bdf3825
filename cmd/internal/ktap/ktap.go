// SPDX-License-Identifier: MIT

// Package ktap prints results as the kernel's test runners read them: KTAP
// (Documentation/dev-tools/ktap.rst of Linux), a line for each subtest.
package ktap

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// Status is how a subtest ended.
type Status int

// The statuses. XFail is a failure that nothing could have avoided where it was run.
const (
	Pass Status = iota
	Fail
	Skip
	XFail
)

// The exit statuses of a kernel selftest (tools/testing/selftests/kselftest.h). 2 is not among
// them: its runners take that for an expected failure.
const (
	ExitPass = 0
	ExitFail = 1
	ExitSkip = 4
)

// Result is a subtest that has ended.
type Result struct {
	Name   string
	Status Status
	Reason string   // why it did not pass; of a failure it stands in a line of its own
	Notes  []string // what else there is to say, a line each
}

// most bytes of text have a place in a line.
const most = 1000

// Writer prints the subtests of a test. The number of all of them is said before the first.
type Writer struct {
	w       io.Writer
	planned int
	n       [XFail + 1]int
	err     error
}

// New begins a test of so many subtests.
func New(w io.Writer, subtests int) *Writer {
	t := &Writer{w: w, planned: subtests}
	t.print("KTAP version 1\n1..%d\n", subtests)
	return t
}

func (t *Writer) print(format string, args ...any) {
	if _, err := fmt.Fprintf(t.w, format, args...); err != nil && t.err == nil {
		t.err = err
	}
}

// Note prints a line for people.
func (t *Writer) Note(text string) {
	text = line(text)
	for _, w := range []string{"Subtest:", "Totals:"} { // these are for parsers
		if strings.HasPrefix(text, w) {
			text = "- " + text
		}
	}
	t.print("# %s\n", text)
}

// Write prints a subtest, what there is to say of it first: runners add it to the one that follows.
func (t *Writer) Write(r Result) {
	name := nameOf(r.Name)
	if r.Reason != "" && r.Status == Fail {
		t.Note(name + ": " + r.Reason)
	}
	for _, n := range r.Notes {
		t.Note(name + ": " + n)
	}
	t.n[r.Status]++
	result, why := "ok", ""
	switch r.Status {
	case Fail:
		result = "not ok"
	case Skip:
		why = " # SKIP " + line(r.Reason)
	case XFail:
		why = " # XFAIL " + line(r.Reason)
	}
	t.print("%s %d %s%s\n", result, t.Written(), name, strings.TrimRight(why, " "))
}

// Written counts the subtests that were printed.
func (t *Writer) Written() (n int) {
	for _, k := range t.n {
		n += k
	}
	return n
}

// End prints the totals, and returns the exit status and whether all could be written.
func (t *Writer) End() (status int, err error) {
	t.print("# Totals: pass:%d fail:%d xfail:%d xpass:0 skip:%d error:0\n", t.n[Pass], t.n[Fail], t.n[XFail], t.n[Skip])
	switch {
	case t.n[Fail] > 0, t.Written() != t.planned, t.err != nil:
		return ExitFail, t.err
	case t.n[Skip] == t.planned:
		return ExitSkip, nil
	}
	return ExitPass, nil
}

// line makes a text stay on its line and mean nothing to a parser: a # behind a space would begin a
// directive.
func line(s string) string {
	s = strings.TrimLeft(strings.TrimSpace(plaintext.Line(s)), "# ")
	if len(s) > most {
		end := most
		for !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + " ..."
	}
	return strings.ReplaceAll(s, " # ", " #")
}

// nameOf strips a name of what would end a name.
func nameOf(s string) string { return strings.TrimSpace(strings.ReplaceAll(line(s), "#", "")) }
