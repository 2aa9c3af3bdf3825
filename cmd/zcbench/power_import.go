// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

func powerImportCommand() *cobra.Command {
	var logs []string
	var out string
	var lead, asJSON bool
	cmd := &cobra.Command{
		Use:   "import DIR --log csv=FILE[?OPTIONS] --out NEW",
		Short: "Add the log of a power meter to the runs of a results folder",
		Long: `import combines the runs of DIR with what a power meter logged during them, and
writes the runs with power, energy and return on investment to the folder NEW:
journal, CSV files and report. DIR is not changed.

A log without a prefix applies to both hosts, sut:csv=FILE and tg:csv=FILE to one.
The options are those of the power source csv (docs/power-sources.md): offset (the logger's
clock minus the controller's), uncertainty, zone, the columns time and watts, and
name. Runs made with --power include idle times in which the log shows idle power;
--power later adds these without any other source.

Exit status: 0 done, 1 the logs cover no run, 2 wrong usage or input.`,
		Example: "  zcbench run --sut netns:a --tg netns:b --power later --out out/run\n" +
			"  zcbench power import out/run --out out/run-watts \\\n      --log " +
			"'sut:csv=wt310.csv?offset=-1.5s&uncertainty=0.1%'",
		Args: cobra.ExactArgs(1),
		RunE: cli.Reading(func(cmd *cobra.Command, args []string) error {
			return importPower(cmd, args[0], out, logs, lead, asJSON)
		}),
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&logs, "log", nil, "log of a meter (repeatable): [sut:|tg:]csv=FILE[?OPTIONS]")
	fs.StringVar(&out, "out", "", "folder for the new results; must not contain any yet")
	fs.BoolVar(&lead, "lead", false, "let the first log fill power_w even where another source already has")
	fs.BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return cmd
}

func importPower(cmd *cobra.Command, dir, out string, logs []string, lead, asJSON bool) error {
	if len(logs) == 0 || out == "" {
		return cli.Usagef("--log and --out are needed")
	}
	specs, auto, err := power.ParseSpecs(logs)
	if err != nil {
		return cli.UsageError(err)
	}
	for _, s := range specs {
		auto = auto || s.Name != "csv"
	}
	if auto {
		return cli.Usagef("--log: only csv=FILE can be added afterwards")
	}
	done, err := bench.PowerImport{Logs: specs, Lead: lead}.Run(dir, out)
	switch {
	case errors.Is(err, bench.ErrApart):
		return err
	case errors.Is(err, results.ErrExists), errors.Is(err, results.ErrLocked):
		return outError(err)
	case err != nil:
		return journalError(dir, err)
	}
	for _, p := range done.Skipped {
		fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: journal line %d (byte %d) not used: %s\n", p.Line, p.Offset, p.Why)
	}
	_, summary, err := derive(done.In, nil)
	if err = errors.Join(noRoom(err, out), printSummary(cmd, summary, asJSON)); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "\n%d runs have power of the log; results: %s\n", done.Joined, out)
	return nil
}
