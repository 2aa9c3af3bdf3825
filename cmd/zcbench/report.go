// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/gate"
	"github.com/zcbench/zcbench/results/gobench"
	"github.com/zcbench/zcbench/results/report"
)

func reportCommand() *cobra.Command {
	var asJSON, idle bool
	var top int
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Print the table of a results folder, and rewrite its report.html and plots",
		Long: `report reads DIR/journal.jsonl, even if its run was killed: an incomplete last line is
skipped and reported. It rewrites report.html, plots/*.svg, runs.csv and flows.csv in
DIR; zcbench export --csv writes the other CSV files. With --idle it prints the idle
states of the CPUs instead and writes nothing.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if idle {
				return idleStates(cmd, args[0])
			}
			if cmd.Flags().Changed("top") && top < 1 {
				return cli.Usagef("--top %d: must be at least 1", top)
			}
			s, err := bench.Report(args[0])
			if s == nil {
				return journalError(args[0], err)
			}
			s.Top = top
			return errors.Join(printSummary(cmd, s, asJSON), noRoom(err, args[0]))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON")
	cmd.Flags().BoolVar(&idle, "idle", false, "print the idle states of each CPU instead")
	cmd.Flags().IntVar(&top, "top", 0, "number of functions to show of each profile, and probe results of all cells (default: 15, of up to 4 cells)")
	cmd.MarkFlagsMutuallyExclusive("json", "idle", "top")
	return cmd
}

func idleStates(cmd *cobra.Command, dir string) error {
	j, err := gate.Read(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return journalError(dir, err)
	}
	return report.Idle(cmd.OutOrStdout(), j)
}

func exportCommand() *cobra.Command {
	var csv, asJSON, bench bool
	cmd := &cobra.Command{
		Use:   "export --csv|--json|--benchfmt DIR",
		Short: "Convert a results folder to CSV, JSON or the Go benchmark format",
		Long: `export reads DIR/journal.jsonl, applies its gates, writes files to DIR and prints
their names:

  --csv       runs.csv, metrics.csv, samples.csv and flows.csv (docs/schema.md)
  --json      summary.json: what report --json prints
  --benchfmt  runs.bench: one line per ok run, for benchstat`,
		Example: "  zcbench export --benchfmt out/quick && \\\n      benchstat -col /rx out/quick/runs.bench",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !csv && !asJSON && !bench {
				return cli.Usagef("choose what to export: --csv, --json, --benchfmt")
			}
			return export(cmd, args[0], csv, asJSON, bench)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&csv, "csv", false, "write runs.csv, metrics.csv, samples.csv and flows.csv")
	f.BoolVar(&asJSON, "json", false, "write summary.json")
	f.BoolVar(&bench, "benchfmt", false, "write runs.bench in the Go benchmark format")
	return cmd
}

func export(cmd *cobra.Command, dir string, csv, asJSON, bench bool) error {
	read := gate.ReadFigures
	if csv {
		read = gate.Read
	}
	j, err := read(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return journalError(dir, err)
	}
	for _, p := range j.Skipped {
		fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: journal line %d (byte %d) not used: %s\n", p.Line, p.Offset, p.Why)
	}
	var names []string
	if csv {
		if err := results.WriteCSV(dir, j.Records); err != nil {
			return err
		}
		names = append(names, results.RunsFile, results.MetricsFile, results.SamplesFile, results.FlowsFile)
	}
	for _, x := range []struct {
		wanted bool
		name   string
		write  func(io.Writer) error
	}{
		{asJSON, results.SummaryFile, func(w io.Writer) error { return report.JSON(w, report.Summarize(j)) }},
		{bench, gobench.File, func(w io.Writer) error { return gobench.Write(w, j.Records) }},
	} {
		if !x.wanted {
			continue
		}
		if err := results.WriteFile(filepath.Join(dir, x.name), x.write); err != nil {
			return err
		}
		names = append(names, x.name)
	}
	for _, n := range names {
		fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, n))
	}
	return nil
}

func journalError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usagef("%s holds no results: %w", dir, err)
	}
	return cli.UsageError(err)
}
