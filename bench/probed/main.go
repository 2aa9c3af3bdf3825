// Probed says what probes cost a flow: it reads the results of an experiment whose
// cells differ in their probes (experiments/probe-cost.yaml) and compares each cell
// with the one that has none, by runs of the same block, which lay next to each
// other.
//
//	go run ./bench/probed out/probe-cost
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/zcbench/zcbench/bench/paired"
	"github.com/zcbench/zcbench/results"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: probed DIR (results of experiments/probe-cost.yaml)")
		os.Exit(2)
	}
	j, err := results.ReadFigures(filepath.Join(os.Args[1], results.JournalFile))
	if err == nil {
		err = printTable(os.Stdout, costs(j))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "probed:", err)
		os.Exit(1)
	}
}

// figures are what is compared.
var figures = []struct {
	name string
	of   func(*results.Record) *float64
}{
	{"throughput", func(r *results.Record) *float64 { return r.SUT.ThroughputGbps }},
	{"CPU time per byte, SUT", func(r *results.Record) *float64 { return r.SUT.NsPerKB() }},
}

// cost is one figure of a cell with probes over that of the same cell without.
type cost struct {
	Cell, Figure string
	Ratio        paired.Ratio
}

func costs(j results.Journal) (out []cost) {
	type run struct {
		cell results.CellKey
		rep  int
	}
	made := map[run]*results.Record{}
	reps := 0
	var cells []results.Cell
	for i := range j.Records {
		r := &j.Records[i]
		if r.Verdict != results.OK || r.Warmup {
			continue
		}
		k := run{r.Cell.Key(), r.Rep}
		if r.Cell.Probe != "" && !slices.ContainsFunc(cells, func(c results.Cell) bool { return c.Key() == k.cell }) {
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
				out = append(out, cost{c.RX + " <- " + c.TX + ", " + c.Probe, f.name, paired.Compare(with, without)})
			}
		}
	}
	return out
}

func printTable(w io.Writer, all []cost) error {
	if len(all) == 0 {
		return errors.New("no run with probes has a neighbour without them")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "cell, probes\tfigure\tpairs\twith / without\tinterval\tconfidence")
	for _, c := range all {
		interval, conf := "needs 6 pairs", ""
		if c.Ratio.HasInterval() {
			interval, conf = fmt.Sprintf("%.4f..%.4f", c.Ratio.Lo, c.Ratio.Hi), fmt.Sprintf("%.1f %%", 100*c.Ratio.Confidence)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%.4f\t%s\t%s\n", c.Cell, c.Figure, c.Ratio.N, c.Ratio.Estimate, interval, conf)
	}
	return t.Flush()
}
