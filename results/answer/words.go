// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// heads are what sentences call the figures; others go by their name in runs.csv.
var heads = map[string]string{
	"throughput_gbps":        "Throughput",
	"roi_cpu_total":          "Per core (throughput^2 / busy cores of both hosts)",
	"roi_cpu":                "Per core (throughput^2 / busy cores of the receiver)",
	"roi_power_total":        "Per watt (throughput^2 / watts of both hosts)",
	"roi_power":              "Per watt (throughput^2 / watts of the receiver)",
	"packets_per_s":          "Packet rate",
	"transactions_per_s":     "Round trips per second",
	"ns_per_kb":              "CPU time per kB, receiver",
	"tg_ns_per_kb":           "CPU time per kB, sender",
	"dram_bytes_per_byte":    "Bytes of DRAM per byte of payload, receiver's machine",
	"mbm_bytes_per_byte":     "Bytes between caches and memory per byte of payload, receiver",
	"joule_per_gb":           "Energy per GB, receiver",
	"joule_per_gb_total":     "Energy per GB, both hosts",
	"joule_per_gb_net_total": "Energy per GB beyond idle, both hosts",
}

// brief returns just the name of a figure that an earlier sentence has explained.
func brief(metric string) string {
	name, _, _ := strings.Cut(head(metric), " (")
	return name
}

func head(metric string) string {
	if h, ok := heads[metric]; ok {
		return h
	}
	return metric
}

// best formats the median of the first of a ranking. It was chosen for it, so that its interval is
// wider than in the tables.
func best(c *compare.Ranking) string {
	s := *c.Sum
	if s.Lo != nil && len(c.Rivals) > 0 {
		s.Lo, s.Hi = c.Figure()
	}
	if s.Lo == nil && c.Sum.Lo != nil {
		return strings.TrimSuffix(figure(&s, c.Metric), fmt.Sprintf(" (%d runs, no interval)", s.N))
	}
	return figure(&s, c.Metric)
}

// figure formats a median with its interval.
func figure(s *stat.Summary, m compare.Metric) string {
	number := numberOf
	if strings.HasSuffix(m.Name, "packets_per_s") { // as the tables and the progress have it
		number, m.Unit = func(v float64) string { return numberOf(v / 1e3) }, "kpps"
	}
	text := number(s.Median)
	if !strings.HasPrefix(m.Name, "roi_") && m.Unit != "1/s" { // whose heading says what it is
		text += " " + m.Unit
	}
	switch {
	case s.Lo != nil:
		return text + " [" + number(*s.Lo) + ".." + number(*s.Hi) + "]"
	case s.N == 1:
		return text + " (1 run)"
	}
	return fmt.Sprintf("%s (%d runs, no interval)", text, s.N)
}

// number shows about three digits, and never an exponent.
func numberOf(v float64) string {
	decimals := 2
	switch {
	case v >= 999.5:
		decimals = 0
	case v >= 99.95:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// invert turns a ratio the other way round.
func invert(q *stat.Ratio) *stat.Ratio {
	if q == nil || !(q.Value > 0) {
		return nil
	}
	out := &stat.Ratio{Value: 1 / q.Value}
	if q.Lo != nil && *q.Lo > 0 {
		lo, hi := 1 / *q.Hi, 1 / *q.Lo
		out.Lo, out.Hi = &lo, &hi
	}
	return out
}

// byHowMuch formats a ratio to something as a difference: "18.2 % more than x [15.1..21.0 %]",
// "2.04 times x [1.98..2.11]". Its interval leaves out 1.
func byHowMuch(q *stat.Ratio, than string) string {
	switch {
	case q == nil:
		return "by an unknown margin over " + than
	case q.Value >= 2 || q.Value <= .5:
		text := fmt.Sprintf("%.2f times %s", q.Value, than)
		if q.Lo != nil {
			text += fmt.Sprintf(" [%.2f..%.2f]", *q.Lo, *q.Hi)
		}
		return text
	}
	word, of := "more", func(x float64) float64 { return 100 * (x - 1) }
	if q.Value < 1 {
		word, of = "less", func(x float64) float64 { return 100 * (1 - x) }
	}
	text := percent(of(q.Value)) + " % " + word + " than " + than
	if q.Lo != nil {
		ends := []float64{of(*q.Lo), of(*q.Hi)}
		slices.Sort(ends)
		text += " [" + percent(ends[0]) + ".." + percent(ends[1]) + " %]"
	}
	return text
}

// percent formats a percentage, with one more digit if it is below 1.
func percent(v float64) string {
	if v > -1 && v < 1 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// ofIt formats a ratio that may be on either side of 1.
func ofIt(q *stat.Ratio) string {
	switch {
	case q == nil:
		return ""
	case q.Lo == nil:
		return fmt.Sprintf(" (%.3f of it)", q.Value)
	}
	return fmt.Sprintf(" (%.3f of it [%.3f..%.3f])", q.Value, *q.Lo, *q.Hi)
}

// most is how many things a sentence names.
const most = 3

// few names some things and how many more there are.
func few(names []string) string {
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return names[0]
	case n > most+1:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}

// inBrackets puts words behind a statement, in brackets; "" if there are none.
func inBrackets(words []string) string {
	var out []string
	for _, x := range words {
		if x != "" && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	if out == nil {
		return ""
	}
	return " (" + strings.Join(out, "; ") + ")"
}
