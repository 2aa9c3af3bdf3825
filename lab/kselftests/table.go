// SPDX-License-Identifier: MIT

package kselftests

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
)

// AsExpected reports whether every case is as expected.
func AsExpected(all []Judged) bool {
	return !slices.ContainsFunc(all, func(j Judged) bool { return j.Wrong != "" })
}

// Sum counts how many cases ended how: "4 pass, 1 skip".
func Sum(all []Judged) string {
	n := map[Outcome]int{}
	wrong, unknown, flips := 0, 0, 0
	for _, j := range all {
		n[j.Outcome]++
		if j.Flips {
			flips++
		}
		if !j.Known && j.Wrong == "" {
			unknown++
		}
		if j.Wrong != "" {
			wrong++
		}
	}
	var words []string
	for _, o := range []Outcome{pass, skip, xFail, fail} {
		if n[o] > 0 {
			words = append(words, fmt.Sprintf("%d %s", n[o], o))
		}
	}
	if flips > 0 {
		words = append(words, fmt.Sprintf("%d of them may pass or fail", flips))
	}
	if unknown > 0 {
		words = append(words, fmt.Sprintf("%d not recorded, so without expectation", unknown))
	}
	if wrong > 0 {
		words = append(words, fmt.Sprintf("%d not as expected", wrong))
	}
	return strings.Join(words, ", ")
}

// Table prints a line for each case: test, case, outcome, what the test said, and why it
// is so; ! marks those that are otherwise than expected.
func Table(w io.Writer, all []Judged) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\ttest\tcase\tresult\treason")
	for _, j := range all {
		mark, reason := "", j.Because
		if j.Wrong != "" {
			mark, reason = "!", j.Wrong
		}
		if said := plain(j.Reason); said != "" && (j.Wrong != "" || !j.Known) {
			reason = strings.TrimPrefix(reason+"; it said: "+said, "; ")
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", mark, j.Test, plain(j.Name), j.Outcome, reason)
	}
	tw.Flush()
}

// reasonLength is how much of what a test says is shown.
const reasonLength = 200

// plain makes a test's text fit to print: without control characters, and not too long.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimSpace(s))
	if r := []rune(s); len(r) > reasonLength {
		return string(r[:reasonLength]) + "..."
	}
	return s
}
