// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/results/compare"
)

type compareFlags struct {
	metrics    []string
	failSlower string
	equivalent string
	ifUnsure   int
	base       string
	about      []string
	json       bool
	asKTAP     bool
	why        whyFlags

	asked []string // the metrics that were asked for by name
}

func compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare A [B...]",
		Short: "Compare results: what is faster, slower, or cannot be told apart",
		Long: `compare matches the cells of B (and C ...) with the cells of A that have the same
factors, and reports ratios with confidence intervals, and which of them are
significant: p below 0.05 in rank tests that are permuted within blocks and corrected
for all comparisons. Two folders from different boots need six boots each, or a spread
between boots that the experiment file declares. See docs/statistics.md.

A source is a results folder, a runs.csv (published figures, too:
results/reference/*.csv), or either with a selector: out/x@rx=tcp picks cells by
their factors, and factors in a selector are ignored when cells are matched. With a
single source, cells that differ in exactly one factor are compared; --about names
the factor, and the reference is the experiment's baseline or --base.

--equivalent 2% tests whether two cells differ by less than 2 %, with two one-sided
tests. "cannot tell" alone does not mean equal.

--why explains the difference in CPU time per kB between cells whose runs were
profiled (--probe profile): it names the classes of work, functions and counters that
differ significantly, and the part that none of them explains. --flame draws it. See
docs/why.md.

--fail-if-slower 2% exits with 1 if a cell is significantly worse, and by more than
2 %, in throughput or in any --metric that you name; otherwise with 0. With
--if-unsure STATUS it exits with STATUS if no cell is worse but the runs do not
exclude it: a cell's interval reaches beyond 2 %, or it has fewer than 6 runs. For a
kernel bisect:

  git bisect run sh -c 'build && boot || exit 125; new=$(mktemp -d)/new
    zcbench matrix x.yaml --out $new || [ $? = 1 ] || exit 125
    zcbench compare good $new --fail-if-slower 2% --if-unsure 125'

(matrix exits with 1 if runs are invalid, and compare ignores those). Each build is
another boot: x.yaml must declare how much boots differ (between_boots).

--ktap prints a subtest for each cell of A, as the kernel's test runners read it: not
ok if the cell ran in A and does not in B, or is worse as --fail-if-slower says;
skipped if the runs cannot tell (docs/bisect.md). It exits with 1 if a subtest is not
ok, 4 if all were skipped, and else 0. With --if-unsure STATUS it exits with STATUS if
no subtest is not ok, but the runs cannot tell for one.

Exit status: 0 done, 1 slower (with --fail-if-slower), 2 wrong usage or input, or A
and B have no cell in common; with --ktap as above.`,
		Example: "  zcbench compare out/before out/after\n  zcbench compare out/x@rx=tcp out/x@rx=zcrx\n  " +
			"zcbench compare --why --flame why.html out/x@rx=tcp out/x@rx=zcrx\n  zcbench compare " +
			"results/reference/battle-of-the-zcs.csv out/battle",
		Args: cobra.MinimumNArgs(1),
		RunE: cli.Reading(func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }),
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.metrics, "metric", compare.DefaultMetrics,
		"figures to compare, as columns of runs.csv; the prefix tg_ means the sender's")
	fs.StringVar(&f.failSlower, "fail-if-slower", "", "exit with 1 if a cell is worse by more than this, such as 2%")
	fs.StringVar(&f.equivalent, "equivalent", "",
		"test whether cells differ by less than this, such as 2% (\"cannot tell\" alone does not mean equal)")
	fs.IntVar(&f.ifUnsure, "if-unsure", 0,
		"with --fail-if-slower: exit status if the data cannot tell (125 makes git bisect run skip)")
	fs.StringVar(&f.base, "base", "", "with one source: id of the reference cell")
	fs.StringSliceVar(&f.about, "about", nil, "with one source: factors to compare by, such as rx (default: "+
		"those in the experiment file, else all that vary)")
	fs.BoolVar(&f.json, "json", false, "print the comparisons as JSON, one object each")
	fs.BoolVar(&f.asKTAP, "ktap", false,
		"print KTAP, a subtest for each cell of A: does B run it, and is it worse (--fail-if-slower)?")
	f.why.add(fs)
	cmd.MarkFlagsMutuallyExclusive("ktap", "json")
	cmd.MarkFlagsMutuallyExclusive("ktap", "why")
	return cmd
}

func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	metrics, err := compare.Lookup(f.metrics)
	if err != nil {
		return cli.Usagef("--metric: %w", err)
	}
	limit, err := percent(f.failSlower)
	if err != nil {
		return cli.Usagef("--fail-if-slower: %w", err)
	}
	margin, err := percent(f.equivalent)
	if err != nil || f.equivalent != "" && margin == 0 {
		return cli.Usagef("--equivalent: %q is not a percentage above 0, such as 2%%", f.equivalent)
	}
	if f.ifUnsure < 0 || f.ifUnsure > 255 {
		return cli.Usagef("--if-unsure %d: must be 0..255", f.ifUnsure)
	}
	if err := f.why.check(); err != nil {
		return cli.UsageError(err)
	}
	if f.asKTAP && len(args) < 2 {
		return cli.Usagef("--ktap: want two sources, A from before and B from after")
	}
	if cmd.Flags().Changed("metric") {
		f.asked = f.metrics
	}
	var sets []compare.Set
	for _, a := range args {
		s, err := f.why.load(a)
		if err != nil {
			return cli.UsageError(err)
		}
		for _, p := range s.Skipped {
			fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: %s: journal line %d (byte %d) not used: %s\n", a, p.Line, p.Offset,
				p.Why)
		}
		sets = append(sets, s)
	}
	if f.asked == nil {
		if metrics, err = compare.Lookup(compare.Priced(f.metrics, pointersTo(sets)...)); err != nil {
			return err
		}
	}
	all, err := f.compare(sets, metrics)
	if err != nil {
		return cli.UsageError(err)
	}
	if len(all) > 1 {
		compare.Jointly(all)
	}
	if margin > 0 {
		compare.WithinAll(all, margin)
	}
	if f.asKTAP {
		return f.ktap(cmd, sets, all, limit)
	}
	explained, err := f.why.explain(cmd, all)
	if err != nil {
		return cli.UsageError(err)
	}
	for i, r := range all {
		if i > 0 && !f.json {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		var one *compare.Set
		if len(sets) == 1 {
			one = &sets[0]
		}
		c := newComparison(r, one)
		if f.why.asked {
			c.explain(explained[i])
		}
		if err := c.write(cmd.OutOrStdout(), f.json); err != nil {
			return err
		}
	}
	if err := f.why.draw(cmd, explained); err != nil {
		return err
	}
	if f.failSlower == "" {
		return nil
	}
	return f.judge(cmd, all, limit, cmd.Flags().Changed("metric"))
}

func pointersTo(sets []compare.Set) (out []*compare.Set) {
	for i := range sets {
		out = append(out, &sets[i])
	}
	return out
}

func (f *compareFlags) compare(sets []compare.Set, metrics []compare.Metric) ([]*compare.Result, error) {
	a := &sets[0]
	if len(sets) == 1 {
		base := a.Cells[0].Cell
		if a.Base != nil {
			base = *a.Base
		}
		for _, c := range a.Cells {
			if c.Cell.ID == f.base {
				base = c.Cell
			}
		}
		if f.base != "" && base.ID != f.base {
			return nil, fmt.Errorf("--base: no cell %q in %s", f.base, a.Name)
		}
		if len(f.about) > 0 {
			if err := a.AskAbout(f.about); err != nil {
				return nil, fmt.Errorf("--about: %w", err)
			}
		}
		r, err := compare.Within(a, base, metrics)
		return []*compare.Result{r}, err
	}
	if f.base != "" || len(f.about) > 0 {
		return nil, errors.New("--base and --about take a single source")
	}
	var all []*compare.Result
	for i := range sets[1:] {
		r, err := compare.Compare(a, &sets[1+i], metrics)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// judge ends with the status that --fail-if-slower asks for.
func (f *compareFlags) judge(cmd *cobra.Command, all []*compare.Result, limit float64, anyMetric bool) error {
	worse, possible := 0, 0
	for _, r := range all {
		for i := range r.Rows {
			switch row := &r.Rows[i]; {
			case !anyMetric && row.Metric != compare.DefaultMetrics[0]:
			case row.Worse(limit):
				worse++
			case row.Possible(limit):
				possible++
			}
		}
	}
	out := cmd.ErrOrStderr()
	switch {
	case worse > 0:
		fmt.Fprintf(out, "zcbench: %d figures are worse by more than %s\n", worse, f.failSlower)
		return cli.Quiet(cli.Failed)
	case possible > 0:
		fmt.Fprintf(out, "zcbench: no figure is certainly worse by more than %s, but %d may be\n", f.failSlower,
			possible)
		if f.ifUnsure != 0 {
			return cli.Quiet(f.ifUnsure)
		}
	}
	return nil
}

// percent reads 2% or 0.02; "" is 0.
func percent(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	number, isPercent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if isPercent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v < 1) {
		return 0, fmt.Errorf("%q is not a percentage such as 2%%", s)
	}
	return v, nil
}
