// SPDX-License-Identifier: MIT

package kselftests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Doc is a table of all tests in Markdown: how many cases pass on each kernel on record,
// and what does not pass, with the reason.
func Doc() (string, error) {
	kernels := Known()
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
	for _, t := range Tests {
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
		if c.Outcome == Pass {
			n++
		}
	}
	return n
}

// others are the cases of a test that do not pass, together where the reason is one.
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
			if c.Outcome == Pass {
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
		words = append(words, fmt.Sprintf("%s %s: %s", w.outcome, caseNames(names[w], kernels), strings.ReplaceAll(w.reason, "|", `\|`)))
	}
	return words
}

// caseNames lists cases; many of a kind by what comes before the first dot.
func caseNames(on map[string][]string, kernels []string) string {
	var words []string
	count := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(on)) {
		head, _, variant := strings.Cut(name, ".")
		key := "`" + head
		if variant {
			key += ".*"
		}
		key += "`"
		if len(on[name]) < len(kernels) {
			key += " (" + strings.Join(on[name], ", ") + ")"
		}
		if count[key]++; count[key] == 1 {
			words = append(words, key)
		}
	}
	for i, w := range words {
		if count[w] > 1 {
			words[i] = fmt.Sprintf("%d %s", count[w], w)
		}
	}
	return strings.Join(words, ", ")
}
