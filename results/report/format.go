// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// none stands for a figure that was not measured.
const none = "-"

func median(s *stat.Summary, format func(float64) string) string {
	if s == nil {
		return none
	}
	return format(s.Median)
}

// interval formats the interval of the median, or why there is none.
func interval(s *stat.Summary, format func(float64) string) string {
	switch {
	case s == nil:
		return none
	case s.Lo == nil:
		return "n=" + strconv.Itoa(s.N) + " < 6"
	}
	return format(*s.Lo) + ".." + format(*s.Hi)
}

func fixed1(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func fixed2(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// digits3 shows about three digits, and never an exponent.
func digits3(v float64) string {
	decimals := 2
	switch {
	case v >= 99.95:
		decimals = 0
	case v >= 9.995:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// copied shows a share so that a little is never rounded to nothing, nor
// almost all to all.
func copied(p *Proof) string {
	if p == nil {
		return none
	}
	switch v := p.CopiedPercent(); {
	case v == 0:
		return "0"
	case v == 100:
		return "100"
	case v < 0.1:
		return "<0.1"
	case v > 99.9:
		return ">99.9"
	default:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
}

// Said formats the verdict of a stop; where nothing but its fix is lacking, "as things stand".
func (s stop) Said() string {
	if s.Blocked {
		return string(s.Verdict) + " as things stand"
	}
	return string(s.Verdict)
}

// verdict counts a cell's runs: "6 ok"; "5 of 6 ok, 1 invalid"; "6 ok, 2 replaced".
func verdict(c *Cell) string {
	var parts []string
	add := func(n int, v results.Verdict) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	add(c.OK, results.OK)
	if c.OK > 0 && c.OK < c.Made {
		parts[0] = fmt.Sprintf("%d of %d ok", c.OK, c.Made)
	}
	add(c.Invalid-c.Replaced, results.Invalid)
	add(c.Replaced, "replaced")
	add(c.Failed, results.Failed)
	add(c.Unsupported, results.Unsupported)
	switch {
	case len(parts) == 0:
		return "not run"
	case c.Unsupported > 0 && len(parts) == 1:
		return strings.TrimLeft(parts[0], "0123456789 ") // how often it was tried says nothing
	}
	if off := c.Pace.offPace(); off != "" {
		parts = append(parts, off)
	}
	return strings.Join(parts, ", ")
}

// flagged names the gates whose limits a cell's runs are beyond, and count all the same.
func flagged(c *Cell) string {
	if len(c.Flagged) == 0 {
		return ""
	}
	return "flagged: " + strings.Join(c.Flagged, " ")
}

// remarks joins what stands below a cell's row: what held it up, what changes the meaning of its
// figures, and its flags.
func remarks(c *Cell) string {
	var words []string
	if c.HeldBy != "" {
		words = append(words, compare.AtLimit(c.HeldBy))
	}
	words = append(words, c.Means...)
	if text := flagged(c); text != "" {
		words = append(words, text)
	}
	return strings.Join(words, "; ")
}

// settings names the factors in which the cells of a summary differ, for each
// cell, besides the modes and those that are named: "gro=on mtu=9000".
func settings(cells []Cell, but ...string) []string {
	out := make([][]string, len(cells))
	for _, f := range plan.Factors {
		if slices.Contains(but, f.Name) {
			continue
		}
		values := make([]string, len(cells))
		for i := range cells {
			values[i] = f.Value(&cells[i].Cell)
		}
		if !slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
			continue
		}
		for i, v := range values {
			out[i] = append(out[i], f.Name+"="+v)
		}
	}
	joined := make([]string, len(cells))
	for i := range out {
		joined[i] = strings.Join(out[i], " ")
	}
	return joined
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}
