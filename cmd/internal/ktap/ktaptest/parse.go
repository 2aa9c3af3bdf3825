// SPDX-License-Identifier: MIT

// Package ktaptest reads KTAP strictly, for tests of what prints it.
package ktaptest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Subtest is a subtest as a parser sees it.
type Subtest struct {
	Name   string
	OK     bool
	Word   string // SKIP or XFAIL
	Reason string
	Notes  []string // the lines for people since the one before
}

// Status returns "ok", "not ok", "SKIP" or "XFAIL".
func (s Subtest) Status() string {
	switch {
	case s.Word != "":
		return s.Word
	case s.OK:
		return "ok"
	}
	return "not ok"
}

var (
	planLine   = regexp.MustCompile(`^1\.\.(0|[1-9][0-9]*)$`)
	resultLine = regexp.MustCompile(`^(ok|not ok) ([1-9][0-9]*) ([^# ]+)(?: # (SKIP|XFAIL) (\S.*))?$`)
	totalsLine = regexp.MustCompile(`^# Totals: pass:(\d+) fail:(\d+) xfail:(\d+) xpass:0 skip:(\d+) error:0$`)
)

// Parse reads the output of a test: a version, a plan, as many subtests with rising numbers,
// totals that are right, and nothing else but lines for people.
func Parse(output string) (all []Subtest, err error) {
	lines := strings.Split(output, "\n")
	if n := len(lines); n < 4 || lines[n-1] != "" {
		return nil, fmt.Errorf("%d lines, the last one %q", n, lines[n-1])
	}
	lines = lines[:len(lines)-1]
	plan := planLine.FindStringSubmatch(lines[1])
	if lines[0] != "KTAP version 1" || plan == nil {
		return nil, fmt.Errorf("it begins with %q, %q", lines[0], lines[1])
	}
	var notes []string
	names, n := map[string]bool{}, map[string]int{}
	for i, l := range lines[2 : len(lines)-1] {
		if strings.HasPrefix(l, "# ") && len(l) > 2 && !totalsLine.MatchString(l) {
			notes = append(notes, l[2:])
			continue
		}
		m := resultLine.FindStringSubmatch(l)
		if m == nil {
			return all, fmt.Errorf("line %d is %q", i+3, l)
		}
		s := Subtest{Name: m[3], OK: m[1] == "ok", Word: m[4], Reason: m[5], Notes: notes}
		if m[2] != strconv.Itoa(len(all)+1) || names[s.Name] || !s.OK && s.Word != "" {
			return all, fmt.Errorf("line %d: %q, behind %d subtests", i+3, l, len(all))
		}
		all, notes, names[s.Name] = append(all, s), nil, true
		n[s.Status()]++
	}
	if plan[1] != strconv.Itoa(len(all)) {
		return all, fmt.Errorf("%s subtests were planned, there are %d", plan[1], len(all))
	}
	t := totalsLine.FindStringSubmatch(lines[len(lines)-1])
	if t == nil {
		return all, fmt.Errorf("it ends with %q", lines[len(lines)-1])
	}
	for i, status := range []string{"ok", "not ok", "XFAIL", "SKIP"} {
		if t[i+1] != strconv.Itoa(n[status]) {
			return all, fmt.Errorf("%d are %s: %s", n[status], status, t[0])
		}
	}
	return all, nil
}
