// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/zcbench/zcbench/results/stat"
)

// printTable compares, in each group, the first contender with the others.
func printTable(out io.Writer, all []contender, runs map[string][]measured) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "OURS\tTHEIRS\tMB/s\tTHEIRS\tRATIO\tPROCESS ns/kB\tTHEIRS\tRATIO\tRX CPU "+
		"ns/kB\tTHEIRS\tRATIO\tALL CPU ns/kB\tTHEIRS\tRATIO\tPAIRS")
	first := map[string]contender{}
	for _, c := range all {
		o, ok := first[c.group]
		if !ok {
			first[c.group] = c
			continue
		}
		var figures [4][2][]float64 // of each, ours and theirs
		for i, theirs := range runs[c.name] {
			ours := runs[o.name][i]
			if theirs.err != nil || ours.err != nil {
				continue
			}
			for k, f := range []func(measured) float64{measured.mbps, measured.appPerKB, measured.rxPerKB,
				measured.allPerKB} {
				figures[k][0], figures[k][1] = append(figures[k][0], f(ours)), append(figures[k][1], f(theirs))
			}
		}
		fmt.Fprintf(w, "%s\t%s", o.name, c.name)
		n := len(figures[0][0])
		if n == 0 {
			fmt.Fprintln(w, "\tno pair of runs")
			continue
		}
		for _, f := range figures {
			fmt.Fprintf(w, "\t%.1f\t%.1f\t%v", stat.Median(f[0]), stat.Median(f[1]), stat.Pairs(f[0], f[1]))
		}
		fmt.Fprintf(w, "\t%d of %d\n", n, len(runs[c.name]))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(out, `
Figures are medians. RATIO is ours / theirs over pairs of neighbouring runs: Hodges-Lehmann estimate
[exact interval of the Wilcoxon signed-rank distribution, at least 95 %; it needs 6 pairs].
PROCESS is the time of the receiving process and its children, RX CPU that and of the thread that
polls its queue (softirq), ALL CPU that of the whole machine, sender and NIC included. With
--count-time and one CPU a nanosecond is an instruction of the emulated processor; speeds mean
nothing, ratios of neighbouring runs do.
`)
	return err
}
