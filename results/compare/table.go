// SPDX-License-Identifier: MIT

package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results/stat"
)

// Table writes a comparison for a terminal: a table per metric, then what is only
// in one of the two, warnings and the sources of published figures.
func (r *Result) Table(w io.Writer) error {
	fmt.Fprintf(w, "A = %s\nB = %s\n", plaintext.Line(r.NameA), plaintext.Line(r.NameB))
	for from := 0; from < len(r.Rows); {
		to := from
		for to < len(r.Rows) && r.Rows[to].Metric == r.Rows[from].Metric {
			to++
		}
		if err := metricTable(w, r.Rows[from:to]); err != nil {
			return err
		}
		from = to
	}
	for _, only := range []struct {
		name  string
		cells []Alone
	}{{"A", r.OnlyA}, {"B", r.OnlyB}} {
		if err := aloneTable(w, only.name, only.cells); err != nil {
			return err
		}
	}
	if err := r.Hosts.Table(w); err != nil {
		return err
	}
	for i, s := range r.sources() {
		fmt.Fprintf(w, "\n[%d] published: %s\n", i+1, plaintext.Line(s))
	}
	_, err := fmt.Fprintf(w, "\nB/A is of the medians; its 95 %% interval is by bootstrap. p is Mann-Whitney's U (exact up to 50 runs, 25 with ties), corrected over the table (Holm).\n"+
		"A verdict needs both, and 6 runs of each; \"cannot tell\" does not mean equal.\n")
	if err == nil && r.Exploratory() {
		_, err = fmt.Fprintln(w, "exploratory: the plan did not declare that it counts. Such comparisons are corrected among themselves; measure again what matters.")
	}
	return err
}

// Exploratory tells whether any comparison is.
func (r *Result) Exploratory() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Exploratory })
}

func aloneTable(w io.Writer, name string, cells []Alone) error {
	if len(cells) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nonly in %s (%s, %s)\n", name, cells[0].Metric, cells[0].Unit)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range cells {
		fmt.Fprintf(tw, "%s\t%s\n", plaintext.Line(c.Cell), medianText(c.Sum))
	}
	return tw.Flush()
}

// JSON writes a comparison as one object.
func (r *Result) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func metricTable(w io.Writer, rows []Row) error {
	higher := "lower is better"
	if rows[0].higherWins {
		higher = "higher is better"
	}
	fmt.Fprintf(w, "\n%s (%s, %s)\n", rows[0].Metric, rows[0].Unit, higher)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "cell\tA\tB\tn\tB/A\t95 % interval\tp\tverdict")
	for i := range rows {
		row := &rows[i]
		lo, hi := row.Interval()
		interval := "-"
		if lo != "-" {
			interval = lo + ".." + hi
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d+%d\t%s\t%s\t%s\t%s\n", plaintext.Line(row.Label()), median(row, 'A'), median(row, 'B'), row.Diff.NA, row.Diff.NB,
			row.RatioText(), interval, row.PText(), row.VerdictText())
	}
	return tw.Flush()
}

// Label names the row's cell, or both where they differ.
func (r *Row) Label() string {
	if r.A.ID == r.B.ID {
		return r.A.ID
	}
	return r.B.ID + " : " + r.A.ID
}

// RatioText, Interval, PText and VerdictText are the row's figures as people read
// them; "-" is not known.
func (r *Row) RatioText() string {
	if r.Diff.Ratio == nil {
		return "-"
	}
	return strconv.FormatFloat(r.Diff.Ratio.Value, 'f', 3, 64)
}

// Interval of the ratio.
func (r *Row) Interval() (lo, hi string) {
	if q := r.Diff.Ratio; q != nil && q.Lo != nil {
		return strconv.FormatFloat(*q.Lo, 'f', 3, 64), strconv.FormatFloat(*q.Hi, 'f', 3, 64)
	}
	return "-", "-"
}

// PText is the corrected p-value; "-" where there are too few runs for one that
// means anything.
func (r *Row) PText() string {
	switch {
	case len(r.Diff.Warnings) > 0, r.Other != "":
		return "-"
	case r.Diff.Adjusted < 0.001:
		return "<0.001"
	}
	return strconv.FormatFloat(r.Diff.Adjusted, 'f', 3, 64)
}

// VerdictText is the verdict with why there is none.
func (r *Row) VerdictText() string {
	v := string(r.Verdict)
	switch {
	case r.Other != "":
		return v + " (other instrument: " + plaintext.Line(r.Other) + ")"
	case r.OtherClock != "":
		return v + " (other CPU frequency: " + r.OtherClock + ")"
	case len(r.Published) > 0:
		return v + " (published figure)"
	case len(r.Diff.Warnings) > 0:
		return v + " (" + strings.Join(r.Diff.Warnings, "; ") + ")"
	case r.Verdict == Unsure && !r.Equal.Holds() && r.Reach != nil && !r.Reach.Attainable():
		return fmt.Sprintf("%s (p of %d runs in %d comparisons is %.2g at the least)", v, r.Reach.Runs, r.Reach.Tests, r.Reach.LeastP)
	}
	var more []string
	if r.Equal.Holds() {
		within := fmt.Sprintf("within %g %%", 100*r.Equal.Margin)
		if r.Verdict == Unsure {
			v = "equal " + within
		} else {
			more = append(more, within)
		}
	}
	if r.AtLimit != "" && r.Verdict == Unsure {
		v = "at " + r.AtLimit.Whose() + " limit"
	} else if r.AtLimit != "" {
		more = append(more, "at "+r.AtLimit.Whose()+" limit: by so much at the least")
	}
	if r.Exploratory {
		more = append(more, "exploratory")
	}
	if more != nil {
		v += " (" + strings.Join(more, "; ") + ")"
	}
	return v
}

func median(r *Row, side byte) string {
	s := r.SumA
	if side == 'B' {
		s = r.SumB
	}
	return medianText(s)
}

func medianText(s *stat.Summary) string {
	if s == nil {
		return "-"
	}
	return strconv.FormatFloat(s.Median, 'f', decimals(s.Median), 64)
}

func decimals(v float64) int {
	if v >= 1000 {
		return 1
	}
	return 2
}

func (r *Result) sources() []string {
	var out []string
	for _, row := range r.Rows {
		for _, s := range row.Published {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	for _, c := range slices.Concat(r.OnlyA, r.OnlyB) {
		if c.Published != "" && !slices.Contains(out, c.Published) {
			out = append(out, c.Published)
		}
	}
	return out
}
