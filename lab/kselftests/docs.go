// SPDX-License-Identifier: MIT

package kselftests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// doc writes a table of all tests in Markdown: how many cases pass on each kernel on record, and
// what does not pass, with the reason.
func doc() (string, error) {
	kernels := known()
	var on []expectation
	for _, k := range kernels {
		e, err := expectedOf(k + ".0")
		if err != nil {
			return "", err
		}
		on = append(on, e)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| test | pass on %s | does not pass, because |\n|---|%s---|\n",
		strings.Join(kernels, " | "), strings.Repeat("---|", len(kernels)))
	for _, t := range tests {
		fmt.Fprintf(&b, "| `%s` |", t.Name)
		for _, e := range on {
			if len(e[t.Name]) == 0 {
				fmt.Fprint(&b, " - |") // nothing is on record
				continue
			}
			fmt.Fprintf(&b, " %d of %d |", passes(e[t.Name]), len(e[t.Name]))
		}
		fmt.Fprintf(&b, " %s |\n", strings.Join(others(t.Name, kernels, on), "; "))
	}
	return b.String(), nil
}

func passes(cases map[string]Case) (n int) {
	for _, c := range cases {
		if c.Outcome == pass {
			n++
		}
	}
	return n
}

// cases counts the cases of a test on any kernel on record.
func cases(test string, on []expectation) int {
	all := map[string]bool{}
	for _, e := range on {
		for name := range e[test] {
			all[name] = true
		}
	}
	return len(all)
}

// others lists the cases of a test that do not pass, those with the same reason together.
func others(test string, kernels []string, on []expectation) (words []string) {
	type why struct {
		outcome Outcome
		reason  string
	}
	names := map[why]map[string][]string{} // the kernels on which it is so, by case
	var order []why
	for i, e := range on {
		for _, name := range slices.Sorted(maps.Keys(e[test])) {
			c := e[test][name]
			if c.Outcome == pass {
				continue
			}
			w := why{c.Outcome, c.Reason}
			if names[w] == nil {
				names[w] = map[string][]string{}
				order = append(order, w)
			}
			names[w][name] = append(names[w][name], kernels[i])
		}
	}
	for _, w := range order {
		which := caseNames(names[w], kernels, cases(test, on))
		words = append(words, fmt.Sprintf("%s %s: %s", w.outcome, which, strings.ReplaceAll(w.reason, "|", `\|`)))
	}
	return words
}

// caseNames lists cases: those of a kind, NAME.VARIANT, by what their names begin with, and
// all of a test by their number.
func caseNames(on map[string][]string, kernels []string, of int) string {
	if len(on) == of && of > 1 && !slices.ContainsFunc(slices.Collect(maps.Values(on)),
		func(k []string) bool { return len(k) < len(kernels) }) {
		return fmt.Sprintf("all %d", of)
	}
	type kind struct{ head, kernels string }
	var order []kind
	names := map[kind][]string{}
	for _, name := range slices.Sorted(maps.Keys(on)) {
		k := kind{head: name}
		if head, _, ok := strings.Cut(name, "."); ok {
			k.head = head + "."
		}
		if len(on[name]) < len(kernels) {
			k.kernels = " (" + strings.Join(on[name], ", ") + ")"
		}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k] = append(names[k], name)
	}
	var words []string
	for _, k := range order {
		if n := len(names[k]); n > 1 {
			words = append(words, fmt.Sprintf("%d `%s*`%s", n, begin(names[k]), k.kernels))
			continue
		}
		words = append(words, "`"+names[k][0]+"`"+k.kernels)
	}
	if len(words) <= namesListed {
		return strings.Join(words, ", ")
	}
	all := slices.Sorted(maps.Keys(on))
	if b := begin(all); b != "" {
		return fmt.Sprintf("%d `%s*`", len(all), b)
	}
	return fmt.Sprintf("%d such as `%s`", len(all), all[0])
}

// namesListed is how many names and kinds of cases are listed one by one.
const namesListed = 5

// begin returns the common prefix of sorted names, up to where a word ends.
func begin(sorted []string) string {
	first, last := sorted[0], sorted[len(sorted)-1]
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	return first[:strings.LastIndexAny(first[:n], "._")+1]
}
