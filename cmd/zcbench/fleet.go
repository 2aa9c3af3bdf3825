// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/fleet"
)

type fleetFlags struct {
	metric, failOff string
	html, csv       string
	json, all       bool
}

func fleetCommand() *cobra.Command {
	var f fleetFlags
	cmd := &cobra.Command{
		Use:   "fleet DIR...",
		Short: "Sum up many pairs of hosts: which are off, and what they have in common",
		Long: `fleet reads the journals of many results folders, each of a pair of hosts that ran
the same cells, and says how far each pair is from the median of all others, with
95 % intervals, and which are significantly off. A DIR is a results folder, or a folder
that contains some.

It names hosts and ports that are off in all their pairs, facts (firmware, kernel,
BIOS, settings) that hosts which are off have in common, and for each pair the hosts
whose other pairs are fine. Failed pairs appear with their reason; journals that are
being written, or were cut off, are marked.

"Off" requires 6 runs of a cell, 7 pairs, a p below .05 after correction for all tests,
and an interval that excludes 0. "Cannot tell" does not mean equal.
See docs/fleet.md.

Exit status: 0 done, 1 a pair or a cell of one is significantly off, with its whole
interval beyond --fail-if-off, 2 wrong usage, or no DIR holds results.`,
		Example: "  zcbench fleet out/\n  zcbench fleet --html fleet.html --fail-if-off 3% out/rack1 out/rack2\n " +
			" zcbench fleet --metric ns_per_kb --json out/ | jq '.hosts'",
		Args: cobra.MinimumNArgs(1),
		RunE: cli.Reading(func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.metric, "metric", "throughput_gbps",
		"figure to compare, as a column of runs.csv; tg_ in front means the sender's")
	fs.StringVar(&f.failOff, "fail-if-off", "",
		"exit with 1 if a pair is significantly off, and by more than this, such as 3%")
	fs.StringVar(&f.html, "html", "", "write a page of pairs and cells to this file")
	fs.StringVar(&f.csv, "csv", "", "write a row for each cell of each pair to this file")
	fs.BoolVar(&f.json, "json", false, "print all of it as JSON")
	fs.BoolVar(&f.all, "all", false, "print a row for every pair, however many there are")
	cmd.MarkFlagsMutuallyExclusive("json", "all")
	_ = cmd.RegisterFlagCompletionFunc("metric", func(*cobra.Command, []string, string) ([]string,
		cobra.ShellCompDirective) {
		var names []string
		for _, m := range compare.Metrics {
			names = append(names, m.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (f *fleetFlags) run(cmd *cobra.Command, args []string) error {
	metrics, err := compare.Lookup([]string{f.metric})
	if err != nil {
		return cli.Usagef("--metric: %w", err)
	}
	limit, err := percent(f.failOff)
	if err != nil {
		return cli.Usagef("--fail-if-off: %w", err)
	}
	found, err := fleet.Find(args)
	if err != nil {
		return cli.UsageError(err)
	}
	all := fleet.Read(found, metrics[0], judge.Apply)
	if !all.Readable() {
		return cli.Usagef("%s holds no results: %s", all.Pairs[0].Dir, all.Pairs[0].Problem)
	}
	for _, x := range []struct {
		path  string
		write func(io.Writer) error
	}{{f.html, all.HTML}, {f.csv, all.CSV}} {
		if x.path == "" {
			continue
		}
		if err := results.WriteFile(x.path, x.write); err != nil {
			return err
		}
	}
	if f.json {
		err = all.JSON(cmd.OutOrStdout())
	} else {
		err = all.Table(cmd.OutOrStdout(), f.all)
	}
	if err != nil || f.failOff == "" {
		return err
	}
	if n := all.Beyond(limit); n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: %d pairs are significantly off, by more than %s\n", n, f.failOff)
		return cli.Quiet(cli.Failed)
	}
	return nil
}
