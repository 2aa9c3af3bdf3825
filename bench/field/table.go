package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/zcbench/zcbench/bench/paired"
)

// printTable compares, in each group, the first contender with the others.
func printTable(out io.Writer, all []contender, runs map[string][]measured) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "OURS\tTHEIRS\tMB/s\tTHEIRS\tRATIO\tRX CPU ns/kB\tTHEIRS\tRATIO\tPAIRS")
	first := map[string]contender{}
	for _, c := range all {
		o, ok := first[c.group]
		if !ok {
			first[c.group] = c
			continue
		}
		var mbps, cpu [2][]float64
		for i, m := range runs[c.name] {
			n := runs[o.name][i]
			if m.err != nil || n.err != nil {
				continue
			}
			for k, x := range []measured{n, m} {
				mbps[k], cpu[k] = append(mbps[k], x.mbps()), append(cpu[k], x.nsPerKB())
			}
		}
		if len(mbps[0]) == 0 {
			fmt.Fprintf(w, "%s\t%s\tno pair of runs\n", o.name, c.name)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%.1f\t%.1f\t%v\t%.1f\t%.1f\t%v\t%d\n", o.name, c.name, paired.Median(mbps[0]), paired.Median(mbps[1]), paired.Compare(mbps[0], mbps[1]),
			paired.Median(cpu[0]), paired.Median(cpu[1]), paired.Compare(cpu[0], cpu[1]), len(mbps[0]))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(out, `
Figures are medians. RATIO is ours / theirs over pairs of neighbouring runs: Hodges-Lehmann estimate
[exact interval of the Wilcoxon signed-rank distribution, at least 95 %; it needs 6 pairs].
RX CPU is the time of the receiving process and its children. With --count-time a nanosecond is an
instruction of the emulated processors; speeds mean nothing, ratios of neighbouring runs do.
`)
	return err
}
