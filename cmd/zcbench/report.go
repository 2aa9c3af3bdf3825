// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/gobench"
	"github.com/zcbench/zcbench/results/promtext"
	"github.com/zcbench/zcbench/results/report"
)

func reportCommand() *cobra.Command {
	var asJSON, idle bool
	var top int
	var roi report.Exponents
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Print the table of a results folder, and rewrite its report.html and plots",
		Long: `report reads DIR/journal.jsonl, even if its run was killed: an incomplete last line is
skipped and reported. It rewrites report.html, plots/*.svg, runs.csv, metrics.csv,
samples.csv and flows.csv in DIR, and says so. A CSV file that has runs which the
journal lacks stays as it is. With --idle it prints the idle states of the CPUs
instead and writes nothing.`,
		Args: cobra.ExactArgs(1),
		RunE: cli.Reading(func(cmd *cobra.Command, args []string) error {
			if idle {
				return idleStates(cmd, args[0])
			}
			if cmd.Flags().Changed("top") && top < 1 {
				return cli.Usagef("--top %d: must be at least 1", top)
			}
			if err := roi.Check(); err != nil {
				return cli.Usagef("--roi-n, --roi-m: %v", err)
			}
			s, err := bench.ReportWith(cmd.Context(), args[0], roi)
			if s == nil {
				return journalError(args[0], err)
			}
			s.Top = top
			if err = errors.Join(printSummary(cmd, s, asJSON), noRoom(err, args[0])); err != nil {
				return err
			}
			files, err := bench.RewriteCSV(cmd.Context(), args[0])
			sayRewritten(cmd.ErrOrStderr(), args[0], files)
			return noRoom(err, args[0])
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON")
	cmd.Flags().BoolVar(&idle, "idle", false, "print the idle states of each CPU instead")
	cmd.Flags().IntVar(&top, "top", 0, "number of functions to show of each profile, and probe results of all "+
		"cells (default: 15, of up to 4 cells)")
	cmd.Flags().Float64Var(&roi.N, "roi-n", 2, "exponent n of the charts of returns, T^n / sum C and T^n / P^m")
	cmd.Flags().Float64Var(&roi.M, "roi-m", 1, "exponent m of these")
	cmd.MarkFlagsMutuallyExclusive("json", "idle", "top")
	return cmd
}

// sayRewritten names the files that a report has written, and those that it left.
func sayRewritten(w io.Writer, dir string, files []results.Rewritten) {
	names := []string{results.ReportFile, results.PlotsDir + "/*.svg"}
	var left []string
	for _, f := range files {
		if f.Left != "" {
			left = append(left, f.Name+" is left as it is: "+f.Left)
			continue
		}
		names = append(names, f.Name)
	}
	fmt.Fprintln(w)
	for _, text := range append([]string{"rewritten in " + dir + ": " + strings.Join(names, ", ")}, left...) {
		screen.Text(w, "", "  ", plaintext.Line(text))
	}
}

func idleStates(cmd *cobra.Command, dir string) error {
	in, err := results.OpenFolder(dir)
	if err != nil {
		return journalError(dir, err)
	}
	defer in.Close()
	j, err := judge.Read(in)
	if err != nil {
		return journalError(dir, err)
	}
	return report.Idle(cmd.OutOrStdout(), j)
}

func exportCommand() *cobra.Command {
	var x exportFlags
	cmd := &cobra.Command{
		Use:   "export --csv|--json|--benchfmt|--prometheus DIR",
		Short: "Convert a results folder to CSV, JSON, benchmark lines or Prometheus's text",
		Long: `export reads DIR/journal.jsonl, applies its gates, writes files to DIR and prints
their names:

  --csv         runs.csv, metrics.csv, samples.csv, flows.csv (docs/schema.md)
  --json        summary.json: what report --json prints
  --benchfmt    runs.bench: one line per ok run, for benchstat
  --prometheus  runs.prom: gauges of each cell for node_exporter's textfile
                collector (docs/fleet.md); --to writes elsewhere`,
		Example: "  zcbench export --benchfmt out/quick && \\\n      benchstat -col /rx out/quick/runs.bench\n  " +
			"zcbench export --prometheus out/quick \\\n      --to /var/lib/node_exporter/textfile/zcbench.prom",
		Args: cobra.ExactArgs(1),
		RunE: cli.Reading(func(cmd *cobra.Command, args []string) error {
			if !x.csv && !x.json && !x.bench && !x.prometheus {
				return cli.Usagef("choose what to export: --csv, --json, --benchfmt, --prometheus")
			}
			if x.to != "" && !x.prometheus {
				return cli.Usagef("--to is for --prometheus; the other files are written to DIR")
			}
			return x.run(cmd, args[0])
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&x.csv, "csv", false, "write runs.csv, metrics.csv, samples.csv and flows.csv")
	f.BoolVar(&x.json, "json", false, "write summary.json")
	f.BoolVar(&x.bench, "benchfmt", false, "write runs.bench in the Go benchmark format")
	f.BoolVar(&x.prometheus, "prometheus", false, "write runs.prom in Prometheus's text format")
	f.StringVar(&x.to, "to", "", "with --prometheus: the file to write instead, such as one of the collector's folder")
	return cmd
}

type exportFlags struct {
	csv, json, bench, prometheus bool

	to string // where Prometheus's text goes; empty: into the folder
}

func (x *exportFlags) run(cmd *cobra.Command, dir string) error {
	read := judge.ReadFigures
	if x.csv {
		read = judge.Read
	}
	in, err := results.OpenFolder(dir)
	if err != nil {
		return journalError(dir, err)
	}
	defer in.Close()
	j, err := read(in)
	if err != nil {
		return journalError(dir, err)
	}
	for _, p := range j.Skipped {
		fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: journal line %d (byte %d) not used: %s\n", p.Line, p.Offset, p.Why)
	}
	var paths []string
	if x.csv {
		if err := in.WriteCSV(j.Records); err != nil {
			return err
		}
		for _, name := range []string{results.RunsFile, results.MetricsFile, results.SamplesFile, results.FlowsFile} {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	for _, file := range []struct {
		wanted bool
		to     string // a file that the user named
		name   string // else this one of the folder
		write  func(io.Writer) error
	}{
		{x.json, "", results.SummaryFile, func(w io.Writer) error { return report.JSON(w, report.Summarize(j)) }},
		{x.bench, "", gobench.File, func(w io.Writer) error { return gobench.Write(w, j.Records) }},
		{x.prometheus, x.to, promtext.File, func(w io.Writer) error { return promtext.Write(w, folderName(dir), j) }},
	} {
		if !file.wanted {
			continue
		}
		write := in.Write
		if file.to != "" {
			write = results.WriteFile
		}
		if err := write(cmp.Or(file.to, file.name), file.write); err != nil {
			return err
		}
		paths = append(paths, cmp.Or(file.to, filepath.Join(dir, file.name)))
	}
	for _, path := range paths {
		fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	return nil
}

// folderName returns the name of a folder, also of "." and the like.
func folderName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

func journalError(dir string, err error) error {
	if st, serr := os.Stat(dir); serr == nil && !st.IsDir() {
		return cli.Usagef("%s is a file: name the results folder, %s", dir, filepath.Dir(dir))
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, serr := os.Stat(dir); serr != nil {
			return cli.Usagef("%s holds no results: there is no such folder (%w)", dir, errors.Unwrap(serr))
		}
		below, _ := filepath.Glob(filepath.Join(dir, "*", results.JournalFile))
		if len(below) == 0 {
			return cli.Usagef("%s holds no results: %w", dir, err)
		}
		for i := range below {
			below[i] = filepath.Dir(below[i])
		}
		more := ""
		if n := len(below) - 5; n > 0 {
			below, more = below[:5], fmt.Sprintf(" and %d more", n)
		}
		return cli.Usagef("%s holds no results itself, but folders with results: name one of %s%s", dir,
			strings.Join(below, ", "), more)
	}
	return cli.UsageError(err)
}
