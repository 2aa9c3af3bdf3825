// SPDX-License-Identifier: MIT

// Package gallery draws the page of what was measured on hardware: the files that others handed
// in, and figures that others published.
package gallery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report"
	"github.com/zcbench/zcbench/results/share"
)

// HandedIn is a file of results/hardware.
type HandedIn struct {
	Name string
	*share.File
}

// Published is a file of results/reference.
type Published struct {
	Name string
	Runs []results.Record
}

// Picture is a drawing of the page.
type Picture struct {
	Name string // of its file in docs/images
	SVG  []byte
}

// costUnit is what costs are in: ns per 1000 bytes are milliseconds per GB.
const costUnit = "CPU seconds per GB, receiver"

// Page makes the page and its pictures.
func Page(handed []HandedIn, published []Published) (page string, pictures []Picture) {
	handed = slices.Clone(handed)
	slices.SortStableFunc(handed, func(a, b HandedIn) int {
		return cmp.Or(cmp.Compare(nicOf(a), nicOf(b)), cmp.Compare(a.Host(ends.SUT, "kernel"),
			b.Host(ends.SUT, "kernel")),
			cmp.Compare(a.Name, b.Name))
	})
	var b strings.Builder
	b.WriteString(`# Measured on hardware

This page is drawn from results/hardware and results/reference by ` + "`make gallery`" + `: do not edit it.

## Runs that were handed in

`)
	if len(handed) == 0 {
		b.WriteString(nothing)
	} else {
		pictures = append(pictures, costPicture(handed))
		b.WriteString(head)
		for _, f := range handed {
			section(&b, f)
		}
	}
	b.WriteString(handIn)
	pictures = append(pictures, ratePicture(published))
	b.WriteString(others)
	for _, p := range published {
		p.section(&b)
	}
	return b.String(), pictures
}

const nothing = `**No run on hardware was handed in yet.** Neither have the authors measured on any: what zcbench
itself says of speed comes from virtual machines and network namespaces, and says nothing about a
NIC. All figures below are of other people and other programs.

`

const handIn = `### Hand in yours

    me$ zcbench firsthour --sut ssh:root@hosta --tg ssh:root@hostb --dev eth1      # first-hour.md
    me$ zcbench share out/decide                                                   # or of any results

zcbench share shows every line of its file and sends nothing. Put the file into results/hardware
by a pull request, or attach it to an issue: there is a form for it. A test reads each file there:
schema, names and units, that both hosts have a NIC, proof for each mode that claims zero copy,
rates against the link's speed, cores against CPUs, and costs against what they are made of.

`

const head = `Down and to the right is better: less CPU time per GB, at a higher rate. Figures are medians of the
runs that count, crosses their 95 % intervals; hollow points could do more, because something else
was the limit. Two files are of different hosts, so their figures show no difference by themselves.

![Cost against rate by NIC, kernel and mode](images/hardware-cost.svg)

`

const others = `## What others published

Single figures without their runs, so nothing can be tested, and no verdict stands beside them. They
were measured by other programs, on other hosts, for other questions.
` + "`zcbench compare FILE out/yours`" + ` puts yours beside them.

![Published rates](images/hardware-published.svg)

`

// nicOf names the NIC of the receiver's host, as far as it is known.
func nicOf(f HandedIn) string {
	name := f.Host(ends.SUT, "driver")
	if v, d := f.Host(ends.SUT, "nic/PCI vendor"), f.Host(ends.SUT, "nic/PCI device"); v != "" && d != "" {
		name += " " + strings.TrimPrefix(v, "0x") + ":" + strings.TrimPrefix(d, "0x")
	}
	if s := f.Host(ends.SUT, "nic/speed"); s != "" {
		name += ", " + strings.TrimSuffix(s, "000") + " Gbit/s"
	}
	return name
}

// section is what a file has: a row for each cell.
func section(b *strings.Builder, f HandedIn) {
	fmt.Fprintf(b, "### %s, Linux %s\n\n", md(nicOf(f)), md(f.Host(ends.SUT, "kernel")))
	fill(b, "", fmt.Sprintf("CPU %s; firmware %s; MTU %s; header split %s; %s; zcbench %s. File: results/hardware/%s",
		md(f.Host(ends.SUT, "cpu")), known(f.Host(ends.SUT, "firmware")), known(f.Host(ends.SUT, "nic/MTU")),
		known(f.Host(ends.SUT, "nic/header split")), md(f.Date), md(f.Tool), md(f.Name)))
	b.WriteByte('\n')
	b.WriteString("| receive | send | settings | Gbit/s | CPU s/GB | copied | runs |\n|---|---|---|---|---|---|---|\n")
	for i := range f.Cells {
		c := &f.Cells[i]
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", md(cmp.Or(c.Setting("rx"), "any")),
			md(cmp.Or(c.Setting("tx"), "any")), md(rest(c)), figure(c.SUT.Figure("throughput_gbps"), 1),
			figure(c.SUT.Figure("ns_per_kb"), 1000), copied(c),
			runs(c.Runs))
	}
	b.WriteByte('\n')
}

func known(s string) string { return cmp.Or(md(s), "not known") }

// pageWidth is what prose keeps to.
const pageWidth = 100

// fill writes a text in lines, each but the first after an indent.
func fill(b *strings.Builder, indent, text string) {
	n := 0
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case n+1+utf8.RuneCountInString(w) > pageWidth:
			b.WriteString("\n" + indent)
			n, w = len(indent), within(w)
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(w)
		n += utf8.RuneCountInString(w)
	}
	b.WriteByte('\n')
}

// md is a text that anybody may have written, as Markdown that shows it as it is: nothing in it is
// a link, a tag, emphasis or the end of a cell.
func md(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '&':
			b.WriteString("&amp;")
		case c == '<':
			b.WriteString("&lt;")
		case c == '>':
			b.WriteString("&gt;")
		case c == '_' && i > 0 && i+1 < len(s) && wordly(s[i-1]) && wordly(s[i+1]): // it is within a word
			b.WriteByte(c)
		case strings.IndexByte("[]*_`|\\~", c) >= 0, c == ':' && strings.HasPrefix(s[i:], "://"),
			c == '.' && i >= 3 && strings.EqualFold(s[i-3:i], "www"):
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func wordly(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// within is a word at the beginning of a line that begins no heading or list.
func within(w string) string {
	digits := strings.TrimLeft(w, "0123456789")
	if strings.IndexByte("-+=#", w[0]) >= 0 || len(digits) < len(w) && (digits == "." || digits == ")") {
		return w[:len(w)-len(digits)] + "\\" + digits
	}
	return w
}

// rest lists what else was chosen of a cell.
func rest(c *share.Cell) string {
	var out []string
	for _, x := range c.Settings {
		if x.Name != "rx" && x.Name != "tx" {
			out = append(out, x.Name+"="+x.Value)
		}
	}
	for _, name := range c.NotTold {
		out = append(out, name+" not told")
	}
	return strings.Join(out, " ")
}

func figure(f *share.Figure, per float64) string {
	if f == nil {
		return "-"
	}
	text := digits(float64(f.Median) / per)
	if f.Lo != nil {
		text += " [" + digits(float64(*f.Lo)/per) + ".." + digits(float64(*f.Hi)/per) + "]"
	}
	return text
}

func digits(v float64) string { return fmt.Sprintf("%.3g", v) }

// copied is the proof of the receiver's end.
func copied(c *share.Cell) string {
	if c.SUT.Proof == nil {
		return "-"
	}
	return digits(100*c.SUT.Proof.CopiedShare()) + " %"
}

func runs(r share.Runs) string {
	var out []string
	for _, x := range []struct {
		n    int
		what string
	}{{r.OK, "ok"}, {r.Invalid, "invalid"}, {r.Failed, "failed"}, {r.Unsupported, "unsupported"}} {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return cmp.Or(strings.Join(out, ", "), "none")
}

// costPicture draws cost against rate: a curve for each NIC, kernel and mode with one flow.
func costPicture(handed []HandedIn) Picture {
	s := report.Scatter{Title: "Cost against rate by NIC, kernel and mode", XText: "delivered, Gbit/s", YText: costUnit,
		Caption: "Medians and their 95 % intervals of runs that others handed in."}
	at := map[string]int{}
	for _, f := range handed {
		for i := range f.Cells {
			c := &f.Cells[i]
			rate, cost := c.SUT.Figure("throughput_gbps"), c.SUT.Figure("ns_per_kb")
			if rate == nil || cost == nil {
				continue
			}
			name := c.Setting("rx") + " ← " + c.Setting("tx") + flows(c) + ", " + nicOf(f) + ", Linux " +
				f.Host(ends.SUT, "kernel")
			if _, ok := at[name]; !ok {
				at[name] = len(s.Series)
				s.Series = append(s.Series, report.Series{Name: name, Line: true})
			}
			of := &s.Series[at[name]]
			of.Points = append(of.Points, report.Spot{X: float64(rate.Median), Y: float64(cost.Median) / 1000,
				XI: interval(rate, 1), YI: interval(cost, 1000), Hollow: c.HeldBy != "",
				Note: figure(rate, 1) + " Gbit/s, " + figure(cost, 1000) + " CPU s/GB"})
		}
	}
	for i := range s.Series {
		slices.SortStableFunc(s.Series[i].Points, func(a, b report.Spot) int { return cmp.Compare(a.X, b.X) })
	}
	if n := len(s.Series) - report.MostSeries; n > 0 {
		s.Caption += fmt.Sprintf(" %d more curves are left out: the tables have all.", n)
	}
	return Picture{"hardware-cost.svg", s.Draw()}
}

func flows(c *share.Cell) string {
	if n := c.Setting("flows"); n != "" && n != "1" {
		return ", " + n + " flows"
	}
	return ""
}

func interval(f *share.Figure, per float64) *[2]float64 {
	if f.Lo == nil {
		return nil
	}
	return &[2]float64{float64(*f.Lo) / per, float64(*f.Hi) / per}
}

// section is what others published in one place: a row for each figure.
func (p Published) section(b *strings.Builder) {
	fmt.Fprintf(b, "### results/reference/%s\n\n", md(p.Name))
	var rates []*results.Record
	for i := range p.Runs {
		if r := &p.Runs[i]; r.SUT.PacketsPerS == nil && r.SUT.ThroughputGbps != nil {
			rates = append(rates, r)
		}
	}
	if rates == nil {
		fill(b, "", fmt.Sprintf("%d rates of packets: %s. [packets.md](packets.md) measures the same.", len(p.Runs),
			md(sources(p.Runs))))
		b.WriteByte('\n')
		return
	}
	b.WriteString("| receive | cell | kernel | driver | CPU | Gbit/s | source |\n|---|---|---|---|---|---|---|\n")
	all := list{}
	for _, r := range rates {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | [%d] |\n", md(r.Cell.RX), md(chosen(r)),
			blank(r.SUT.Env.Kernel),
			blank(r.SUT.Env.Driver), blank(r.SUT.Env.CPUModel), digits6(*r.SUT.ThroughputGbps), all.number(r.Source))
	}
	b.WriteByte('\n')
	for i, s := range all.of {
		fill(b, "   ", fmt.Sprintf("%d. %s", i+1, md(s)))
	}
	b.WriteByte('\n')
}

func blank(s string) string { return cmp.Or(md(s), "-") }

func digits6(v float64) string { return fmt.Sprintf("%.6g", v) }

// chosen is what the name of a published cell says besides the mode.
func chosen(r *results.Record) string {
	return cmp.Or(strings.TrimSpace(strings.TrimPrefix(r.Cell.ID, r.Cell.RX)), "-")
}

// list numbers texts, each once.
type list struct{ of []string }

func (l *list) number(s string) int {
	i := slices.Index(l.of, s)
	if i < 0 {
		l.of = append(l.of, s)
		i = len(l.of) - 1
	}
	return i + 1
}

// sources names where runs were published, up to the first colon or comma.
func sources(runs []results.Record) string {
	var out []string
	for i := range runs {
		name, _, _ := strings.Cut(runs[i].Source, ": ")
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, "; ")
}

// ratePicture draws the rates of flows that were published: a series for each mode, a row for
// each file.
func ratePicture(published []Published) Picture {
	s := report.Scatter{Title: "Published rates, by receive mode and source", XText: "Gbit/s",
		YText:   "source, numbered from below",
		Caption: "Figures of other people, programs and hosts: a row is a source, and rows cannot be compared."}
	at, row := map[string]int{}, 0.0
	var rows []string
	for _, p := range published {
		counted := false
		for i := range p.Runs {
			r := &p.Runs[i]
			if r.SUT.ThroughputGbps == nil || r.SUT.PacketsPerS != nil || !ofFlows(r) {
				continue
			}
			if !counted {
				counted, row = true, row+1
				rows = append(rows, fmt.Sprintf("%.0f: %s", row, p.Name))
			}
			if _, ok := at[r.Cell.RX]; !ok {
				at[r.Cell.RX] = len(s.Series)
				s.Series = append(s.Series, report.Series{Name: r.Cell.RX})
			}
			of := &s.Series[at[r.Cell.RX]]
			of.Points = append(of.Points, report.Spot{X: *r.SUT.ThroughputGbps, Y: row,
				Note: digits6(*r.SUT.ThroughputGbps) + " Gbit/s, " + r.Cell.ID})
		}
	}
	s.YText = "source (" + strings.Join(rows, ", ") + ")"
	return Picture{"hardware-published.svg", s.Draw()}
}

// ofFlows reports whether a run received TCP.
func ofFlows(r *results.Record) bool {
	m, err := modes.Find(stream.RX, r.Cell.RX)
	return err == nil && m.Kind == stream.Stream
}
