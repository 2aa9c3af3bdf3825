// SPDX-License-Identifier: MIT

// Package near says which name was meant by a word that is none.
package near

import "strings"

// mostListed is how many names an error lists: more of them nobody reads.
const mostListed = 40

// Instead ends the error of a word that is none of these names: with those that are spelled much
// like it, or else with all of them, which are WHAT ("rx modes"). More than 40 are left to the page
// that lists what an experiment file may have.
func Instead(word, what string, names []string) string {
	switch near := Names(word, names); {
	case len(near) > 0:
		return "; did you mean " + strings.Join(near, ", ") + "?"
	case len(names) > mostListed:
		return "; docs/matrix.md and docs/options.md list the " + what
	}
	return "; the " + what + " are " + strings.Join(names, ", ")
}

// Names finds the names that are spelled much like a word, the nearest first: at most three.
func Names(word string, names []string) (out []string) {
	word = strings.ToLower(strings.ReplaceAll(word, "_", "-"))
	const longest = 64 // nobody meant more by a slip
	if word == "" || len(word) > longest {
		return nil
	}
	farthest := max(1, len(word)/4)
	for far := 0; far <= farthest; far++ {
		for _, n := range names {
			if len(out) < 3 && distance(word, strings.ToLower(strings.ReplaceAll(n, "_", "-"))) == far {
				out = append(out, n)
			}
		}
	}
	for _, n := range names { // --chan for --channels
		if len(out) == 0 && len(word) > 2 && strings.HasPrefix(n, word) {
			out = append(out, n)
		}
	}
	return out
}

// distance counts the letters to insert, delete, change, or exchange with the next.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
