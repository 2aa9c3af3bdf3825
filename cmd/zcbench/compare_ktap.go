// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/ktap"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// ktap prints a subtest for each cell of A: whether B does it as well.
func (f *compareFlags) ktap(cmd *cobra.Command, sets []compare.Set, all []*compare.Result, limit float64) error {
	var out []ktap.Result
	for i, r := range all {
		out = append(out, f.regressions(&sets[0], &sets[i+1], r, limit)...)
	}
	if len(all) > 1 { // whose cell it is
		n := 0
		for i := range all {
			for range sets[0].Cells {
				out[n].Name = sets[i+1].Name + ":" + out[n].Name
				n++
			}
		}
	}
	t := ktap.New(cmd.OutOrStdout(), len(out))
	t.Note("A is " + sets[0].Name)
	for i := range all {
		t.Note("B is " + sets[i+1].Name)
	}
	for _, r := range out {
		t.Write(r)
	}
	status, err := t.End()
	switch {
	case err != nil || status == ktap.ExitPass && f.ifUnsure == 0:
		return err
	case status != ktap.ExitFail && f.ifUnsure != 0 && slices.ContainsFunc(out, unsure):
		status = f.ifUnsure
	case status == ktap.ExitPass:
		return nil
	}
	return cli.Quiet(status)
}

// cannotTell begins the reasons of subtests that might have failed.
const cannotTell = "cannot tell: "

func unsure(r ktap.Result) bool {
	return r.Status == ktap.Skip && strings.HasPrefix(r.Reason, cannotTell)
}

// regressions makes the subtests of two sources, in the order of A's cells.
func (f *compareFlags) regressions(a, b *compare.Set, r *compare.Result, limit float64) (out []ktap.Result) {
	taken := map[string]int{}
	for i := range a.Cells {
		ca := &a.Cells[i]
		res := f.regression(ca, b.Like(ca, a.Chosen), rowsAbout(r, ca), limit)
		if taken[res.Name]++; taken[res.Name] > 1 { // an id that a selector left twice
			res.Name += fmt.Sprintf("~%d", taken[res.Name])
		}
		out = append(out, res)
	}
	return out
}

// rowsAbout selects the comparisons of a cell of A.
func rowsAbout(r *compare.Result, c *compare.Cell) (rows []*compare.Row) {
	for i := range r.Rows {
		if r.Rows[i].A.Key() == c.Cell.Key() {
			rows = append(rows, &r.Rows[i])
		}
	}
	return rows
}

// regression judges one cell: first whether it runs in B as it did in A, then, where that was
// asked, whether it is worse.
func (f *compareFlags) regression(a, b *compare.Cell, rows []*compare.Row, limit float64) ktap.Result {
	out := ktap.Result{Name: strings.ReplaceAll(a.Cell.ID, " ", "_")}
	end := func(s ktap.Status, reason string) ktap.Result {
		out.Status, out.Reason = s, reason
		return out
	}
	switch {
	case b == nil:
		return end(ktap.Skip, "B has no such cell")
	case len(a.Runs) == 0 && len(b.Runs) > 0:
		return end(ktap.Pass, "")
	case len(a.Runs) == 0:
		return end(ktap.Skip, "A has no run that counts"+becauseOf(a))
	case len(b.Runs) == 0 && b.Refused == nil:
		return end(ktap.Skip, cannotTell+"B has no run of it")
	case len(b.Runs) == 0 && b.Refused.Spoilt():
		return end(ktap.Skip, cannotTell+"B has no run that counts"+becauseOf(b))
	case len(b.Runs) == 0:
		return end(ktap.Fail, "it ran in A, and not in B"+becauseOf(b))
	}
	if b.Other > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of its runs in B do not count%s", b.Other, becauseOf(b)))
	}
	return f.slower(out, rows, limit)
}

// slower judges a cell that runs in both.
func (f *compareFlags) slower(out ktap.Result, rows []*compare.Row, limit float64) ktap.Result {
	for _, row := range rows {
		lo, hi := row.Interval()
		text := fmt.Sprintf("%s: ratio %s (%s to %s), %s runs: %s", row.Metric, row.RatioText(), lo, hi, row.Runs(),
			row.VerdictText())
		out.Notes = append(out.Notes, text)
		if f.failSlower == "" || len(f.asked) == 0 && row.Metric != compare.DefaultMetrics[0] {
			continue
		}
		switch {
		case row.Worse(limit):
			out.Status, out.Reason = ktap.Fail, fmt.Sprintf("%s is worse by more than %s", row.Metric, f.failSlower)
		case row.Possible(limit) && out.Status == ktap.Pass:
			out.Status, out.Reason = ktap.Skip, fmt.Sprintf("%s%s may be worse by more than %s", cannotTell, row.Metric,
				f.failSlower)
		}
	}
	return out
}

// becauseOf explains why the last run of a cell does not count.
func becauseOf(c *compare.Cell) string {
	r := c.Refused
	if r == nil {
		return ""
	}
	why := ": " + string(r.Verdict)
	if r.Verdict == results.Unsupported && c.Unsupported != "" {
		return why + ": " + c.Unsupported
	}
	if r.Reason != "" {
		why += ": " + r.Reason
	}
	return why
}
