// SPDX-License-Identifier: MIT

package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// didYouMean adds to the error of a flag that is not there those that are spelled much the same.
func didYouMean(cmd *cobra.Command, err error) string {
	missing := (*pflag.NotExistError)(nil)
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	near := Near(missing.GetSpecifiedName(), names)
	if len(near) == 0 {
		return ""
	}
	return "\ndid you mean --" + strings.Join(near, ", --") + "?"
}

// nearCommands proposes subcommands of a command that was given another word. Of the root cobra
// does so itself.
func nearCommands(ran *cobra.Command) string {
	words := ran.Flags().Args()
	if !ran.HasParent() || !ran.HasAvailableSubCommands() || len(words) == 0 {
		return ""
	}
	var names []string
	for _, c := range ran.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	near := Near(words[0], names)
	if len(near) == 0 {
		return ""
	}
	return "\ndid you mean " + strings.Join(near, ", ") + "?"
}

// Near finds the names that are spelled much like a word, the nearest first: at most three.
func Near(word string, names []string) (out []string) {
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
