// SPDX-License-Identifier: MIT

// Probed says what probes cost a flow: it reads the results of an experiment whose
// cells differ in their probes (experiments/probe-cost.yaml) and compares each cell
// with the one that has none, by runs of the same block, which lay next to each
// other.
//
//	go run ./tools/probed --overhead out/overhead.json --budget latency=2,syscalls=1 out/probe-cost
//
// With --budget it fails unless each probe keeps to its budget: the ns that its programs take
// each time, as zcbench probe --overhead --json measured, times how often they ran, over the
// run's CPU time. With --limit it fails unless the intervals say that a flow loses less of its
// throughput than so many percent. Exit status: 1 it fails, 2 wrong usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, stderr io.Writer) (status int) {
	limits, most, file := limits{}, limits{}, ""
	fs := flag.NewFlagSet("probed", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintln(stderr, "usage: probed [--overhead FILE [--budget PROBE=PERCENT,...]] [--limit "+
			"PROBES=PERCENT,...] DIR (results of experiments/probe-cost.yaml)")
		fs.PrintDefaults()
	}
	fs.Var(limits, "limit", "fail unless a flow with these `PROBES=PERCENT,...` loses less than this share of "+
		"its throughput")
	fs.Var(most, "budget", "fail if one of these `PROBE=PERCENT,...` takes more than this share of the CPU time")
	fs.StringVar(&file, "overhead", "", "what zcbench probe --overhead --json printed on this machine")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if fs.NArg() != 1 || len(most) > 0 && file == "" {
		fs.Usage()
		return 2
	}
	j, err := results.ReadFigures(filepath.Join(fs.Arg(0), results.JournalFile))
	if err == nil {
		var per prices
		if file != "" {
			per, err = readPrices(file)
		}
		all, taken := costs(j), budgets(j, per)
		err = errors.Join(err, printTable(out, all, limits, budgetRows(taken, most)), limits.check(all),
			most.within(taken))
	}
	if err != nil {
		fmt.Fprintln(stderr, "probed:", err)
		return 1
	}
	return 0
}

// limits are the most that probes may take of a flow's throughput, percent.
type limits map[string]float64

// String implements [flag.Value].
func (l limits) String() string { return "" }

// Set implements [flag.Value].
func (l limits) Set(s string) error {
	for _, one := range strings.Split(s, ",") {
		probes, percent, ok := strings.Cut(one, "=")
		v, err := strconv.ParseFloat(percent, 64)
		if !ok || err != nil || !(v > 0 && v < 100) {
			return fmt.Errorf("%q is not PROBES=PERCENT, such as latency=2", one)
		}
		names, err := plan.JoinProbes(strings.Split(probes, "+"))
		if err != nil {
			return fmt.Errorf("%q: %w", one, err)
		}
		l[names] = v
	}
	return nil
}

// verdict judges by a cost's interval whether its limit is kept; empty: it has none.
func (l limits) verdict(c cost) (text string, kept bool) {
	percent, ok := l[c.Probes]
	if !ok || c.Figure != throughput {
		return "", true
	}
	left := 1 - percent/100
	switch a := stat.AtLeast(left, left).Judge(c.Ratio); a {
	case stat.Met:
		return fmt.Sprintf("loses less than %g %%", percent), true
	case stat.NotMet:
		return fmt.Sprintf("loses more than %g %%", percent), false
	default:
		return string(a), false
	}
}

// check returns an error for each limit that is not shown to be kept.
func (l limits) check(all []cost) error {
	var errs []error
	seen := map[string]bool{}
	for _, c := range all {
		v, kept := l.verdict(c)
		seen[c.Probes] = seen[c.Probes] || v != ""
		if !kept {
			errs = append(errs, fmt.Errorf("%s: a loss of less than %g %% is not shown: %s", c.Cell, l[c.Probes], v))
		}
	}
	for probes := range l {
		if !seen[probes] {
			errs = append(errs, fmt.Errorf("no run with %s has a neighbour without it", probes))
		}
	}
	return errors.Join(errs...)
}

const throughput = "throughput"

// figures are what is compared.
var figures = []struct {
	name string
	of   func(*results.Record) *float64
}{
	{throughput, func(r *results.Record) *float64 { return r.SUT.ThroughputGbps }},
	{"CPU time per byte, SUT", func(r *results.Record) *float64 { return r.SUT.NsPerKB() }},
}

// cost is one figure of a cell with probes over that of the same cell without.
type cost struct {
	Cell, Probes, Figure string
	Ratio                stat.Paired
}

func costs(j results.Journal) (out []cost) {
	type run struct {
		cell plan.CellKey
		rep  int
	}
	made := map[run]*results.Record{}
	reps := 0
	var cells []plan.Cell
	for i := range j.Records {
		r := &j.Records[i]
		if r.Verdict != results.OK || r.Warmup {
			continue
		}
		k := run{r.Cell.Key(), r.Rep}
		if r.Cell.Probe != "" && !slices.ContainsFunc(cells, func(c plan.Cell) bool { return c.Key() == k.cell }) {
			cells = append(cells, r.Cell)
		}
		made[k], reps = r, max(reps, r.Rep+1)
	}
	for _, c := range cells {
		bare := c
		bare.Probe = ""
		for _, f := range figures {
			var with, without []float64
			for rep := range reps {
				a, b := made[run{c.Key(), rep}], made[run{bare.Key(), rep}]
				if a == nil || b == nil {
					continue
				}
				if x, y := f.of(a), f.of(b); x != nil && y != nil && *x > 0 && *y > 0 {
					with, without = append(with, *x), append(without, *y)
				}
			}
			if len(with) > 0 {
				out = append(out, cost{c.RX + " <- " + c.TX + ", " + c.Probe, c.Probe, f.name,
					stat.Pairs(with, without)})
			}
		}
	}
	return out
}

func printTable(w io.Writer, all []cost, l limits, budgets string) error {
	if len(all) == 0 {
		return errors.New("no run with probes has a neighbour without them")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "cell, probes\tfigure\tpairs\twith / without\tinterval\tconfidence\tlimit")
	for _, c := range all {
		interval, conf := "needs 6 pairs", ""
		if c.Ratio.HasInterval() {
			interval, conf = fmt.Sprintf("%.4f..%.4f", c.Ratio.Lo, c.Ratio.Hi),
				fmt.Sprintf("%.1f %%", 100*c.Ratio.Confidence)
		}
		verdict, _ := l.verdict(c)
		fmt.Fprintf(t, "%s\t%s\t%d\t%.4f\t%s\t%s\t%s\n", c.Cell, c.Figure, c.Ratio.N, c.Ratio.Estimate, interval, conf,
			verdict)
	}
	fmt.Fprint(t, budgets)
	return t.Flush()
}
