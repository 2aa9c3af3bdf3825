// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/explain"
	"github.com/zcbench/zcbench/docs"
	"github.com/zcbench/zcbench/internal/near"
)

func explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [KIND:]WORD",
		Short: "Explain a mode, flag, metric, column, gate, mark or errno",
		Long: `explain prints what zcbench's own lists and its documentation say about a
word: a mode, a flag, a metric, a column of runs.csv, a gate, another rule that
runs are judged by, a mark (a flag of a run), what limited a run, a verdict, an
error number, or another word that the documentation defines.

Where a word has several meanings all are shown; KIND:WORD picks one. The kinds are
` + strings.Join(explain.Kinds, ", ") + `. Without a word it lists what can be
explained.

Exit status: 0 done, 2 the word is unknown.`,
		Example: "  zcbench explain zcrx\n  zcbench explain tx:uring\n  zcbench explain EOPNOTSUPP\n  zcbench " +
			"explain --rx-buf-len",
		Args: cobra.ArbitraryArgs,
		// --rx-buf-len is a word here, and no flag.
		DisableFlagParsing: true,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, a := range args {
			if a == "--help" || a == "-h" {
				return cmd.Help()
			}
		}
		book, err := bookOf(cmd.Root())
		switch {
		case err != nil:
			return err
		case len(args) == 0:
			listWords(cmd.OutOrStdout(), book)
			return nil
		}
		return explainWord(cmd.OutOrStdout(), book, strings.TrimPrefix(strings.Join(args, " "), "-- "))
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		book, err := bookOf(cmd.Root())
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return book.Words(), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// bookOf makes a book of the docs and the flags of a tree of commands.
func bookOf(root *cobra.Command) (*explain.Book, error) {
	var flags []explain.Flag
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				flags = append(flags, explain.Flag{Name: f.Name, Command: c.CommandPath(), Usage: f.Usage})
			}
		})
		for _, sub := range c.Commands() {
			if !sub.Hidden && sub.Name() != "completion" && sub.Name() != "help" {
				walk(sub)
			}
		}
	}
	walk(root)
	return explain.New(docs.Pages, flags)
}

func explainWord(w io.Writer, book *explain.Book, word string) error {
	answers := book.Lookup(word)
	if len(answers) == 0 {
		hint := "zcbench explain lists the words"
		if all := near.Names(strings.TrimLeft(word, "-"), book.Words()); len(all) > 0 {
			hint = "did you mean " + strings.Join(all, ", ") + "?"
		}
		return cli.Usagef("nothing is known about %.60q\n%s", word, hint)
	}
	for i, a := range answers {
		if i > 0 {
			fmt.Fprintln(w)
		}
		printAnswer(w, a)
	}
	if len(answers) > 1 {
		var titles []string
		for _, a := range answers {
			titles = append(titles, a.Title())
		}
		fmt.Fprintf(w, "\njust one of them: zcbench explain %s\n", strings.Join(titles, " | "))
	}
	return nil
}

func printAnswer(w io.Writer, a explain.Answer) {
	if a.Kind == "" {
		fmt.Fprintln(w, a.Name)
	} else {
		fmt.Fprintln(w, a.Title())
	}
	for _, l := range a.Lines {
		fmt.Fprint(w, cli.Indented("  ", "    ", l))
	}
	for _, p := range a.Passages {
		fmt.Fprintf(w, "\n  %s\n", p)
		fmt.Fprint(w, cli.Indented("    ", "    ", p.Text))
	}
	if a.More > 0 {
		fmt.Fprintf(w, "\n  ... and %d more places in docs\n", a.More)
	}
}

// listWords lists what can be explained, but for metrics, columns and error numbers, which are
// many.
func listWords(w io.Writer, book *explain.Book) {
	for _, kind := range explain.Kinds {
		names := book.Named(kind)
		text := strings.Join(names, ", ")
		switch kind {
		case "metric":
			text = fmt.Sprintf("%d names: docs/metrics.md", len(names))
		case "column":
			text = fmt.Sprintf("%d names: docs/columns.md", len(names))
		case "errno":
			text = "EINVAL, EOPNOTSUPP, EBUSY and all others"
		}
		fmt.Fprint(w, cli.Indented(fmt.Sprintf("%-8s ", kind), "         ", text))
	}
}
