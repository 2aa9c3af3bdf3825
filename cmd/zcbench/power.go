// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// powerFlags are the flags of `zcbench power`.
type powerFlags struct {
	sources            []string
	interval, duration time.Duration
	every              time.Duration
	csv                string
	resolves           string // a difference in watts
}

func powerCommand() *cobra.Command {
	var f powerFlags
	cmd := &cobra.Command{
		Use:   "power [--source list | --source NAME...]",
		Short: "List power sources, and show what they read now",
		Long: `power reads the power sources of this host and shows their readings, until Ctrl-C or
for --duration. --source list shows which sources work here, and why others do not.
Without --source it reads all that work and need no address. RAPL needs root
(CAP_DAC_READ_SEARCH).

Passwords and SNMP communities come from the environment, such as
ZCBENCH_REDFISH_USER and ZCBENCH_REDFISH_PASSWORD, or from a file that only its
owner can read (option secrets=FILE). See docs/power.md.

--can-resolve 20W reads for as long as a run's window, and says whether the meter can
tell two cells that differ by 20 W, by its step and by how much its readings scatter:
let the host do what it will do, or rest. What cells vary by themselves is on top.

Exit status: 0 done, 1 a source had no reading at all, or none resolves the difference,
2 wrong usage or no such source.`,
		Example: "  zcbench power --source list\n  zcbench power --source rapl --source " +
			"'snmp=apc@pdu.example?outlet=3' \\\n      --csv watts.csv",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.AddCommand(powerImportCommand())
	fs := cmd.Flags()
	fs.StringSliceVar(&f.sources, "source", nil, "power source (repeatable), or list")
	fs.DurationVar(&f.interval, "interval", power.DefaultInterval,
		"time between readings, if the source is fast enough")
	fs.DurationVar(&f.every, "every", time.Second, "time between two tables, at least 100ms")
	fs.DurationVar(&f.duration, "duration", 0, "how long to read (default: until Ctrl-C)")
	fs.StringVar(&f.csv, "csv", "",
		"write every reading to this file (-: standard output), as t_ns,source,channel,watts")
	fs.StringVar(&f.resolves, "can-resolve", "",
		"say whether the sources tell a difference of so many watts in a window of --duration (default 10s)")
	return cmd
}

func (f *powerFlags) run(cmd *cobra.Command) error {
	if len(f.sources) == 1 && f.sources[0] == "list" {
		listSources(cmd.OutOrStdout())
		return nil
	}
	if err := f.check(cmd); err != nil {
		return err
	}
	specs, auto, err := power.ParseSpecs(f.sources)
	if err != nil {
		return cli.UsageError(err)
	}
	sources, err := power.OpenAll(specs, auto || len(specs) == 0)
	if err != nil {
		return cli.UsageError(err)
	}
	if len(sources) == 0 {
		return cli.Usagef("no power source found: zcbench power --source list says why")
	}
	if f.resolves != "" {
		return f.resolve(cmd, sources)
	}
	return f.watch(cmd, sources)
}

// check finds times and names that are none.
func (f *powerFlags) check(cmd *cobra.Command) error {
	if err := cmp.Or(cli.CheckInterval("interval", f.interval, power.LeastInterval),
		cli.CheckInterval("every", f.every, 100*time.Millisecond), cli.CheckWatched(f.duration)); err != nil {
		return cli.UsageError(err)
	}
	if _, err := parseWatts(f.resolves); err != nil && cmd.Flags().Changed("can-resolve") {
		return err
	}
	if f.resolves != "" && f.csv != "" {
		return cli.Usagef("--can-resolve prints an answer, and --csv readings: give one of them")
	}
	return cli.CheckGiven(cmd, "source", "csv")
}

func listSources(w io.Writer) {
	for _, s := range power.Survey() {
		state := "ok"
		switch {
		case s.Target:
			state = "ask"
		case s.Why != "":
			state = "lacking"
		case s.Doubt != "":
			state = "doubt"
		}
		below := strings.Repeat(" ", 19)
		line := func(text string) { screen.Line(w, below, below+"  ", text) }
		screen.Line(w, fmt.Sprintf("%-8s %-9s ", state, s.Name), below+"  ", s.Summary)
		switch {
		case s.Here != "":
			line(s.Here)
		case s.Why != "":
			line(s.Why)
		}
		if s.Doubt != "" {
			line("in doubt: " + s.Doubt)
		}
		if s.Fix != "" {
			line("fix: " + s.Fix)
		}
		line("--source " + s.Example)
	}
}

func (f *powerFlags) watch(cmd *cobra.Command, sources []power.Source) (err error) {
	ctx := cmd.Context()
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	table, rows, err := f.outputs(cmd)
	if err != nil {
		return err
	}
	for _, s := range sources {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s (%s): %s\n", s.Info().Name, s.Info().Scope, s.Info().Says())
	}
	w := watched{started: counter.Monotonic(), sources: make([]power.Running, len(sources))}
	w.sampler = power.Start(sources, f.interval)
	defer w.sampler.Close()
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	lines := 0
	for {
		done := false
		select {
		case <-tick.C:
		case <-ctx.Done():
			done = true
		}
		now := counter.Monotonic()
		traces, err := w.take(now, rows)
		if err != nil {
			return err
		}
		if table != nil {
			lines = powerTable(table, traces, w.sources, w.sampler.Cost(), now, f.every, lines)
		}
		if done {
			return w.anyReading(traces)
		}
	}
}

// watched is what is read for as long as the user likes: what was shown and
// written is forgotten.
type watched struct {
	sampler *power.Sampler
	started int64
	sources []power.Running
}

// take adds what was read since the last time, and writes it.
func (w *watched) take(now int64, rows *csv.Writer) ([]power.Trace, error) {
	traces := w.sampler.Traces(w.started, now)
	for i, t := range traces {
		for _, r := range w.sources[i].Take(t) {
			if rows == nil {
				break
			}
			if err := rows.Write([]string{strconv.FormatInt(r.AtNs-w.started, 10), results.CSVText(t.Info.Name),
				results.CSVText(t.Info.Channels[r.Channel].Name), strconv.FormatFloat(r.Watts, 'f', -1,
					64)}); err != nil {
				return nil, err
			}
		}
	}
	w.sampler.Forget(now)
	if rows == nil {
		return traces, nil
	}
	rows.Flush()
	return traces, rows.Error()
}

// outputs opens where the table and the CSV go; nil where they are not wanted.
func (f *powerFlags) outputs(cmd *cobra.Command) (table io.Writer, rows *csv.Writer, err error) {
	switch f.csv {
	case "":
		return cmd.OutOrStdout(), nil, nil
	case "-":
		rows = csv.NewWriter(cmd.OutOrStdout())
	default:
		file, err := os.OpenFile(f.csv, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, nil, cli.UsageError(err)
		}
		table, rows = cmd.OutOrStdout(), csv.NewWriter(file)
	}
	err = rows.Write([]string{"t_ns", "source", "channel", "watts"})
	return table, rows, err
}

// powerTable prints a line per channel; on a terminal it takes the place of the
// table before. It returns its number of lines.
func powerTable(w io.Writer, traces []power.Trace, all []power.Running, cost []power.Cost, now int64,
	every time.Duration, before int) int {
	if t := cli.Terminal(w); t != nil && before > 0 && os.Getenv("TERM") != "dumb" {
		fmt.Fprintf(t, "\x1b[%dA\x1b[J", before)
	}
	table := screen.Formatted("%-32.32s %-18.18s %10s %10s %10s %7s %7s")
	table.Head("source", "channel", "W now", "W mean", "W max", "failed", "cores")
	for i, t := range traces {
		for c, ch := range t.Info.Channels {
			current, mean, most := "-", "-", "-"
			if m, x, ok := all[i].Mean(c); ok {
				mean, most = fmt.Sprintf("%.2f", m), fmt.Sprintf("%.2f", x)
			}
			// An old reading is not what it draws now.
			if x, at, ok := all[i].Newest(c); ok && now-at < int64(2*max(every, t.Interval)) {
				current = fmt.Sprintf("%.2f", x)
			}
			name := ch.Name
			if ch.Part {
				name += " (part)"
			}
			table.Row(t.Info.Name, name, current, mean, most, fmt.Sprint(t.Failed), fmt.Sprintf("%.4f", cost[i].Cores))
		}
		if f := all[i].Failure; f != nil {
			table.Line("    ", "      ", fmt.Sprintf("last failure %.1f s ago: %.90s",
				float64(now-max(f.AtNs, f.UntilNs))/1e9, f.Why))
		}
	}
	var text strings.Builder
	table.Write(screen.Columned(&text, screen.Columns(w)))
	io.WriteString(w, text.String())
	return strings.Count(text.String(), "\n")
}

func (w *watched) anyReading(traces []power.Trace) error {
	for i, t := range traces {
		if w.sources[i].Readings == 0 {
			return fmt.Errorf("power source %s had no reading", t.Info.Name)
		}
	}
	return nil
}
