// SPDX-License-Identifier: MIT

package kselftests

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed testdata/expected-*.txt
var expectedFiles embed.FS

// expectation is what a case is expected to say, in a file that holds for a series of
// kernels:
//
//	# a comment
//	hw/tso.py
//	  pass ipv4
//	  skip vxlan4_ipv4 | the soft NIC offers no tunnel offloads
//	  pass/fail in_order | emulated, the timer may come too late
//
// The reason is ours: why the soft NIC, or the lab, makes it so.
type expectation map[string]map[string]Case // by test and case

// series cuts the kernel release 7.3.4+deb13-amd64 down to "7.3".
func series(release string) string {
	f := strings.SplitN(release, ".", 3)
	if len(f) < 3 {
		return release
	}
	return f[0] + "." + f[1]
}

// expectedOf reads what is expected of a kernel; nothing where nobody has looked yet.
func expectedOf(release string) (expectation, error) {
	name := "testdata/expected-" + series(release) + ".txt"
	b, err := expectedFiles.ReadFile(name)
	if err != nil {
		return expectation{}, nil
	}
	return parseExpected(name, string(b))
}

// known lists the series of kernels whose results are on record.
func known() []string {
	names, _ := fs.Glob(expectedFiles, "testdata/expected-*.txt")
	for i, n := range names {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(n, "testdata/expected-"), ".txt")
	}
	return names
}

func parseExpected(name, text string) (expectation, error) {
	e := expectation{}
	var test string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n ")
		bad := func(why string) error { return fmt.Errorf("%s:%d: %s: %q", name, n, why, line) }
		switch {
		case line == "" || line[0] == '#':
		case line[0] != ' ':
			if test = line; e[test] != nil {
				return nil, bad("duplicate test")
			}
			e[test] = map[string]Case{}
		case test == "":
			return nil, bad("a case before the first test")
		default:
			c, why := parseCase(line)
			if _, twice := e[test][c.Name]; why == "" && twice {
				why = "duplicate case"
			}
			if why != "" {
				return nil, bad(why)
			}
			e[test][c.Name] = c
		}
	}
	return e, nil
}

// parseCase reads the line of a case, or says what is wrong with it.
func parseCase(line string) (c Case, wrong string) {
	said, reason, because := strings.Cut(strings.TrimSpace(line), " | ")
	outcome, name, ok := strings.Cut(said, " ")
	c = Case{Name: strings.TrimSpace(name), Outcome: Outcome(outcome), Reason: strings.TrimSpace(reason)}
	switch {
	case !ok || !slices.Contains([]Outcome{pass, skip, xFail, fail, flips}, c.Outcome):
		return c, "want pass, skip, xfail, fail or pass/fail, and the name of a case"
	case because && c.Outcome == pass:
		return c, "a pass needs no reason"
	case c.Outcome != pass && c.Reason == "":
		return c, "a reason is missing: NAME | REASON"
	}
	return c, ""
}
