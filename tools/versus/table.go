// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printTable writes the outcome for people: a line for each figure of a comparison. inTurns says
// that all were under way at once.
func printTable(out io.Writer, sums []summary, inTurns bool) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "COMPARISON\tFIGURE\tOURS\tTHEIRS\tRATIO\tTARGET\tVERDICT")
	for i := range sums {
		s := &sums[i]
		fmt.Fprintf(w, "%s\t\t%s\t%s\t%s\t\t\n", s.Comparison, s.Ours, s.Theirs, s.state())
		if s.Pairs == 0 {
			continue
		}
		for n, f := range s.figures() {
			fmt.Fprintf(w, "\t%s\t%.*f\t%.*f\t%s\t%s\t%s\n", figureNames[n].name, figureNames[n].digits, f.Ours,
				figureNames[n].digits, f.Theirs, f.Ratio, f.Target, f.Verdict)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, footnotes(sums, inTurns))
	return err
}

// figureNames are those of [summary.figures].
var figureNames = []struct {
	name   string
	digits int
}{{"Gbit/s", 1}, {"CPU s/GB", 3}, {"receiver s/GB", 3}, {"sender s/GB", 3}}

// state explains why there are no figures, or what a reader must know about the pairs.
func (s *summary) state() string {
	switch {
	case s.Unsupported != "":
		return "unsupported here: " + s.Unsupported
	case s.Pairs == 0:
		return "no pair of runs"
	case s.Disturbed > 0:
		return fmt.Sprintf("%d of %d pairs disturbed", s.Disturbed, s.Pairs)
	}
	return ""
}

func footnotes(sums []summary, inTurns bool) string {
	var b strings.Builder
	fmt.Fprintln(&b)
	fmt.Fprintln(
		&b, "Figures are medians. RATIO is ours / theirs over pairs of neighbouring runs: Hodges-Lehmann estimate")
	fmt.Fprintln(&b, "[exact interval of the Wilcoxon signed-rank distribution, at least 95 %; it needs 6 pairs].")
	when := "start to end"
	if inTurns {
		when = "in their turns"
	}
	fmt.Fprintf(&b, "CPU is the time of both processes, %s, and of the softirqs outside of them, per 1e9 bytes of\n",
		when)
	fmt.Fprintln(&b, "payload received by the receiver's interface; receiver and sender are one process each.")
	fmt.Fprintln(&b, "A minimum is met when the interval reaches it and stays at or above its floor (0.97; 0.95 "+
		"of several")
	fmt.Fprintln(&b, "flows); a maximum when the whole interval does.")
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
			fmt.Fprintf(&b, "  %-24s %s | %s\n", s.Comparison, s.OursSoftirq, s.TheirsSoftirq)
		}
	}
	return b.String()
}
