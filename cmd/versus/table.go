// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printTable writes the outcome for people.
func printTable(out io.Writer, sums []summary) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "COMPARISON\tOURS\tTHEIRS\tGbit/s\tTHEIRS\tRATIO\tTARGET\tVERDICT\tRX CPU s/GB\tTHEIRS\tRATIO\tTARGET\tVERDICT")
	for _, s := range sums {
		if s.Unsupported != "" {
			fmt.Fprintf(w, "%s\t%s\t%s\tunsupported here: %s\n", s.Comparison, s.Ours, s.Theirs, s.Unsupported)
			continue
		}
		if s.Pairs == 0 {
			fmt.Fprintf(w, "%s\t%s\t%s\tno pair of runs\n", s.Comparison, s.Ours, s.Theirs)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%.1f\t%s\t%s\t%s\t%.3f\t%.3f\t%s\t%s\t%s\n", s.Comparison, s.Ours, s.Theirs,
			s.OursGbps, s.TheirsGbps, s.Throughput, s.ThroughputTarget, s.ThroughputVerdict, s.OursCPU, s.TheirsCPU, s.CPU, s.CPUTarget, s.CPUVerdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, footnotes(sums))
	return err
}

func footnotes(sums []summary) string {
	var b strings.Builder
	fmt.Fprintln(&b)
	fmt.Fprintln(&b, "Figures are medians. RATIO is ours / theirs over pairs of neighbouring runs: Hodges-Lehmann estimate")
	fmt.Fprintln(&b, "[exact interval of the Wilcoxon signed-rank distribution, at least 95 %; it needs 6 pairs].")
	fmt.Fprintln(&b, "RX CPU is user and system time of the receiver's whole process, start to end, per 1e9 bytes received.")
	fmt.Fprintln(&b, "A minimum is met when the interval reaches it and stays at or above 0.97; a maximum when the whole interval does.")
	seen := map[string]bool{}
	for _, s := range sums {
		if s.Note != "" && !seen[s.Note] {
			seen[s.Note] = true
			fmt.Fprintln(&b, "Note:", s.Note+".")
		}
	}
	fmt.Fprintln(&b, "NET_RX softirq ran on (ours | theirs):")
	for _, s := range sums {
		if s.Pairs > 0 {
			fmt.Fprintf(&b, "  %-16s %s | %s\n", s.Comparison, s.OursSoftirq, s.TheirsSoftirq)
		}
	}
	return b.String()
}
