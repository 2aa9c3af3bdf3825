package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/report"
	"github.com/zcbench/zcbench/results"
)

func reportCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Print the table of a results folder and make its report.html and CSV files anew",
		Long: `report reads DIR/journal.jsonl, also one whose run was killed: a torn last line is
skipped and said. It rewrites report.html and the CSV files beside it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := bench.Derive(args[0])
			if err != nil {
				return journalError(args[0], err)
			}
			return printSummary(cmd, report.Summarize(j), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return cmd
}

func exportCommand() *cobra.Command {
	var csv bool
	cmd := &cobra.Command{
		Use:   "export --csv DIR",
		Short: "Make the CSV files of a results folder anew from its journal",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !csv {
				return cli.Usagef("say what to export: --csv")
			}
			j, err := results.Read(filepath.Join(args[0], results.JournalFile))
			if err != nil {
				return journalError(args[0], err)
			}
			for _, p := range j.Skipped {
				fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: journal line %d (byte %d) not used: %s\n", p.Line, p.Offset, p.Why)
			}
			if err := results.WriteCSV(args[0], j.Records); err != nil {
				return err
			}
			for _, f := range []string{results.RunsFile, results.MetricsFile, results.SamplesFile} {
				fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(args[0], f))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&csv, "csv", false, "write runs.csv, metrics.csv and samples.csv into DIR")
	return cmd
}

func journalError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usagef("%s holds no results: %w", dir, err)
	}
	return cli.UsageError(err)
}
